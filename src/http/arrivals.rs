//! Bodies on their way in. Until a body is whole nobody knows who sends it, so what such bodies may take
//! is bounded: their number, their bytes, and the time of each. When there is no room the one that has
//! been on its way longest has to go: whoever sends his in one piece is never in anybody's way.

use super::turned_away::TurnedAway;
use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How many bodies may be on their way at once.
const MOST: usize = 256;

/// How many bytes of them may be here, if they are not larger one by one.
const MOST_BYTES: usize = 32 << 20;

/// How much of a body that is not wanted is read for the sake of its sender, bytes.
const MOST_DISCARDED: usize = 64 << 20;

/// How long that may take.
const LONGEST_DISCARDING: Duration = Duration::from_secs(2);

/// The bodies that are on their way.
#[derive(Debug)]
pub(super) struct Arrivals {
    under_way: Mutex<UnderWay>,
    most: usize,
    most_bytes: usize,
    /// Where what is not wanted is read to its end.
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct UnderWay {
    next: u64,
    bytes: usize,
    bodies: BTreeMap<u64, Part>,
}

/// What of a body is here.
#[derive(Debug)]
struct Part {
    bytes: usize,
    go: CancellationToken,
}

/// The place of one body. Given up when it is dropped.
struct Seat<'a> {
    arrivals: &'a Arrivals,
    number: u64,
    go: CancellationToken,
}

impl Arrivals {
    /// Room for bodies of up to `largest` bytes.
    pub(super) fn new(largest: usize, tasks: TaskTracker) -> Self {
        Self { tasks, ..Self::holding(MOST, MOST_BYTES.max(largest.saturating_mul(2))) }
    }

    fn holding(most: usize, most_bytes: usize) -> Self {
        Self { under_way: Mutex::default(), most, most_bytes, tasks: TaskTracker::new() }
    }

    /// Reads a whole body of at most `limit` bytes until `deadline`. Of one that is too large the rest is
    /// read in the background and thrown away.
    pub(super) async fn read(
        &self,
        mut body: Body,
        limit: usize,
        deadline: Instant,
    ) -> Result<Bytes, TurnedAway> {
        let seat = self.sit_down();
        let collected = timeout_at(deadline, collect(&mut body, limit, &seat));
        let whole = seat.go.run_until_cancelled(collected).await.ok_or(TurnedAway::Crowd)?;
        let whole = whole.map_err(|_| TurnedAway::Slow)?;
        if let Err(TurnedAway::TooLarge { .. }) = whole {
            self.discard(body);
        }
        whole
    }

    /// Reads on for a while, in the background, and keeps nothing: a connection that is closed on somebody
    /// who is still sending is reset, and the answer is lost.
    pub(super) fn discard(&self, mut body: Body) {
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

    fn sit_down(&self) -> Seat<'_> {
        let go = CancellationToken::new();
        let mut under_way = self.under_way.lock();
        let number = under_way.next;
        under_way.next = number.saturating_add(1);
        under_way.bodies.insert(number, Part { bytes: 0, go: go.clone() });
        while under_way.bodies.len() > self.most && under_way.send_off_the_oldest() {}
        drop(under_way);
        Seat { arrivals: self, number, go }
    }
}

impl UnderWay {
    fn send_off_the_oldest(&mut self) -> bool {
        let Some((_, oldest)) = self.bodies.pop_first() else { return false };
        self.bytes = self.bytes.saturating_sub(oldest.bytes);
        oldest.go.cancel();
        true
    }
}

impl Seat<'_> {
    /// So much of it is in memory now.
    fn holds(&self, bytes: usize) {
        let mut under_way = self.arrivals.under_way.lock();
        let Some(part) = under_way.bodies.get_mut(&self.number) else { return };
        let more = bytes.saturating_sub(part.bytes);
        part.bytes = bytes;
        under_way.bytes = under_way.bytes.saturating_add(more);
        while under_way.bytes > self.arrivals.most_bytes && under_way.send_off_the_oldest() {}
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut under_way = self.arrivals.under_way.lock();
        if let Some(part) = under_way.bodies.remove(&self.number) {
            under_way.bytes = under_way.bytes.saturating_sub(part.bytes);
        }
    }
}

async fn collect(body: &mut Body, limit: usize, seat: &Seat<'_>) -> Result<Bytes, TurnedAway> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| TurnedAway::Unreadable)?.into_data() else { continue };
        if whole.len().saturating_add(data.len()) > limit {
            return Err(TurnedAway::TooLarge { limit });
        }
        whole.extend_from_slice(&data);
        seat.holds(whole.capacity());
    }
    Ok(whole.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use futures_util::stream;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A body that sends so many bytes and then nothing more.
    fn unfinished(bytes: usize) -> Body {
        let first = stream::iter([Ok::<_, Infallible>(vec![b' '; bytes])]);
        Body::from_stream(futures_util::StreamExt::chain(first, stream::pending()))
    }

    fn soon() -> Instant {
        Instant::now().checked_add(Duration::from_mins(1)).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_sends_in_one_piece_is_let_in_between_those_that_never_end() {
        let arrivals = Arrivals::holding(2, 1000);
        let stuck = |bytes| arrivals.read(unfinished(bytes), 5000, soon());
        let whole = async {
            tokio::task::yield_now().await;
            arrivals.read(Body::from("{}"), 10, soon()).await
        };
        let (first, second, whole) = tokio::join!(stuck(1), stuck(1), whole);
        assert_eq!(whole.unwrap(), "{}");
        assert!(matches!(first, Err(TurnedAway::Crowd)), "the oldest had to go: {first:?}");
        assert!(matches!(second, Err(TurnedAway::Slow)), "nobody was in its way: {second:?}");
        assert!(arrivals.under_way.lock().bodies.is_empty());
        assert_eq!(arrivals.under_way.lock().bytes, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_bytes_of_unfinished_bodies_are_bounded() {
        let arrivals = Arrivals::holding(9, 1000);
        let stuck = |bytes| arrivals.read(unfinished(bytes), 5000, soon());
        let (first, second) = tokio::join!(stuck(600), stuck(600));
        assert!(matches!(first, Err(TurnedAway::Crowd)), "{first:?}");
        assert!(matches!(second, Err(TurnedAway::Slow)), "{second:?}");
        let large = arrivals.read(unfinished(600), 599, soon()).await;
        assert!(matches!(large, Err(TurnedAway::TooLarge { limit: 599 })), "{large:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_room_for_so_many_bodies_and_bytes_and_no_more() {
        for (many, bytes) in [(257, 1), (17, 2 << 20)] {
            let arrivals = Arrivals::new(1 << 20, TaskTracker::new());
            let stuck = (0..many).map(|_| arrivals.read(unfinished(bytes), 4 << 20, soon()));
            let ends = join_all(stuck).await;
            let sent_off = ends.iter().filter(|end| matches!(end, Err(TurnedAway::Crowd)));
            assert_eq!(sent_off.count(), 1, "{many} of {bytes}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_what_is_thrown_away_so_much_is_read_and_no_more() {
        let arrivals = Arrivals::new(1 << 20, TaskTracker::new());
        let read = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&read);
        let pieces = (0..100).map(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(vec![0; 1 << 20])
        });
        arrivals.discard(Body::from_stream(stream::iter(pieces)));
        arrivals.tasks.close();
        arrivals.tasks.wait().await;
        assert_eq!(read.load(Ordering::Relaxed), 64);
    }
}
