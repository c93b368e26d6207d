//! Bodies on their way in. Until a body is whole nobody knows who sends it, so what such bodies may take is
//! bounded: their number, their bytes, and the time of each. When there is no room, one of the owner with most is
//! ended (`eviction`): whoever sends a body as others do is in nobody's way, however many strangers come.

use crate::connections::Connection;
use crate::eviction::{EvictionPool, Owner, PoolEntry};
use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The most bodies that may be on their way at once.
const MOST: usize = 256;

/// The most bytes of bodies held at once, unless a single body may be larger.
const MOST_BYTES: usize = 32 << 20;

/// The most bytes of an unwanted body that are read for the sake of its sender.
const MOST_DISCARDED: usize = 64 << 20;

/// The longest time that reading an unwanted body may take.
const LONGEST_DISCARDING: Duration = Duration::from_secs(2);

/// Why a body is not here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// It is longer than it may be.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The longest that may be.
        limit: usize,
    },
    /// It broke off.
    #[error("the body could not be read to its end")]
    Unreadable,
    /// Its time was over.
    #[error("the body did not arrive in time")]
    Slow,
    /// There was no room for all, and it was one of whoever had most.
    #[error("too many bodies are on their way, and most of them are of {0}: send it in one piece")]
    Evicted(Owner),
}

/// The bodies that are on their way.
#[derive(Debug)]
pub struct PendingBodies {
    pending: Mutex<Pending>,
    most: usize,
    most_bytes: usize,
    /// The tasks that read unwanted bodies to their end.
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct Pending {
    bytes: usize,
    bodies: EvictionPool,
}

/// The room of one body; given up when it is dropped.
struct Reservation<'a> {
    of: &'a PendingBodies,
    number: u64,
    evicted: CancellationToken,
}

impl PendingBodies {
    /// Room for bodies of up to `largest` bytes.
    pub fn new(largest: usize, tasks: TaskTracker) -> Self {
        Self { tasks, ..Self::holding(MOST, MOST_BYTES.max(largest.saturating_mul(2))) }
    }

    fn holding(most: usize, most_bytes: usize) -> Self {
        Self { pending: Mutex::default(), most, most_bytes, tasks: TaskTracker::new() }
    }

    /// Reads a whole body of at most `limit` bytes until `deadline`. Of one that is too large the rest is
    /// read in the background and thrown away.
    pub async fn read(
        &self,
        body: Body,
        limit: usize,
        deadline: Instant,
        connection: Option<&Connection>,
    ) -> Result<Bytes, NotRead> {
        // Without a connection there is no address, and all of those are one.
        let nowhere = Owner::Unproven(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.read_of(connection.map_or(nowhere, Connection::owner), body, limit, deadline).await
    }

    async fn read_of(
        &self,
        owner: Owner,
        mut body: Body,
        limit: usize,
        deadline: Instant,
    ) -> Result<Bytes, NotRead> {
        if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
            self.discard(body);
            return Err(NotRead::TooLarge { limit });
        }
        let reservation = self.register(owner.clone());
        let collected = timeout_at(deadline, collect(&mut body, limit, &reservation));
        let whole = reservation
            .evicted
            .run_until_cancelled(collected)
            .await
            .ok_or(NotRead::Evicted(owner))?;
        let whole = whole.map_err(|_| NotRead::Slow)?;
        if let Err(NotRead::TooLarge { .. }) = whole {
            self.discard(body);
        }
        whole
    }

    /// Reads on for a while, in the background, and keeps nothing: a connection that is closed on somebody
    /// who is still sending is reset, and the answer is lost.
    pub fn discard(&self, mut body: Body) {
        if body.is_end_stream() {
            return;
        }
        let rest = async move {
            let mut left = MOST_DISCARDED;
            while let Some(Ok(frame)) = body.frame().await {
                left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
                if left == 0 {
                    return;
                }
            }
        };
        // However it ends, the answer is the same.
        self.tasks.spawn(timeout(LONGEST_DISCARDING, rest));
    }

    fn register(&self, owner: Owner) -> Reservation<'_> {
        let mut pending = self.pending.lock();
        let (number, evicted) = pending.bodies.insert(owner);
        while pending.bodies.len() > self.most && pending.evict(|_| 1) {}
        drop(pending);
        Reservation { of: self, number, evicted }
    }
}

impl Pending {
    fn evict(&mut self, measure: impl Fn(&PoolEntry) -> usize) -> bool {
        let gone = self.bodies.evict(|_| true, measure);
        self.without(gone.as_ref().map(|(_, part)| part));
        gone.is_some()
    }

    /// Subtracts what an entry held.
    fn without(&mut self, part: Option<&PoolEntry>) {
        self.bytes = self.bytes.saturating_sub(part.map_or(0, |part| part.weight));
    }
}

impl Reservation<'_> {
    /// So much of it is in memory now.
    fn holds(&self, bytes: usize) {
        let mut pending = self.of.pending.lock();
        let Pending { bytes: all, bodies } = &mut *pending;
        let Some(part) = bodies.entry(self.number) else { return };
        *all = all.saturating_add(bytes.saturating_sub(part.weight));
        part.weight = bytes;
        while pending.bytes > self.of.most_bytes && pending.evict(|part| part.weight) {}
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut pending = self.of.pending.lock();
        let part = pending.bodies.remove(self.number);
        pending.without(part.as_ref());
    }
}

async fn collect(
    body: &mut Body,
    limit: usize,
    reservation: &Reservation<'_>,
) -> Result<Bytes, NotRead> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| NotRead::Unreadable)?.into_data() else { continue };
        if whole.len().saturating_add(data.len()) > limit {
            return Err(NotRead::TooLarge { limit });
        }
        whole.extend_from_slice(&data);
        reservation.holds(whole.capacity());
    }
    Ok(whole.into())
}

#[cfg(test)]
mod tests;
