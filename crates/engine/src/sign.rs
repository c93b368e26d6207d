//! Signature and commit: the one step after which a batch is public.
//!
//! It is signed for the position that the lane is expected to be at, outside of the journal, however long
//! that takes. The commit compares everything again, and what it does not take is dropped unsent.

use super::charge_spans::SPAN_TARGET;
use super::lane::Lane;
use super::ready_batch::ReadyBatch;
use super::repeat::Asked;
use super::room::{has_room, in_blocks, late};
use super::signing_queue::SigningTicket;
use super::verdict::NoVerdict;
use alloy::primitives::Address;
use billing::{Attempt, AttemptKind, Charge, Gate, Slot};
use journal::{AcceptError, Durable, JournalError, Proposal, Sealed};
use policy::Intent;
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, info_span, instrument};

/// Why nothing was committed.
pub(super) enum NotCommitted {
    /// Another's claim, or the last free place in line, was committed in between.
    BuildAgain,
    /// There will be no verdict.
    NoVerdict(NoVerdict),
}

impl<E: Into<NoVerdict>> From<E> for NotCommitted {
    fn from(error: E) -> Self {
        Self::NoVerdict(error.into())
    }
}

/// Signs and commits a batch, and follows it from then on. Until `deadline` it is signed again as often as
/// others take the position that it was signed for.
pub(super) async fn commit(
    lane: &Lane,
    asked: &Asked,
    ready: &ReadyBatch,
    deadline: Instant,
) -> Result<Arc<Slot<Durable<Attempt>>>, NotCommitted> {
    loop {
        let ticket = lane.queue.join();
        let tried = try_once(lane, asked, ready, ticket, deadline).await;
        let why = match tried {
            Ok(slot) => return Ok(slot),
            Err(why) => why,
        };
        // Its place in the line is free again.
        lane.looked.notify_waiters();
        match why {
            TryError::Accept(AcceptError::Moved) if Instant::now() < deadline => {
                read_position(lane).await?;
            }
            TryError::Accept(AcceptError::Moved) => return Err(late(lane).into()),
            TryError::Accept(AcceptError::Claimed | AcceptError::LaneFull) => {
                return Err(NotCommitted::BuildAgain);
            }
            TryError::Accept(other) => return Err(other.into()),
            TryError::NoVerdict(why) => return Err(NotCommitted::NoVerdict(why)),
        }
    }
}

/// Reads the position at which the journal has the lane: the expected one was wrong.
async fn read_position(lane: &Lane) -> Result<(), JournalError> {
    if let Some(next) = lane.journal.lane(lane.id()).next_position().await? {
        lane.queue.advance_to(next);
    }
    Ok(())
}

/// The reason that one try came to nothing.
enum TryError {
    Accept(AcceptError),
    NoVerdict(NoVerdict),
}

impl From<AcceptError> for TryError {
    fn from(error: AcceptError) -> Self {
        Self::Accept(error)
    }
}

async fn try_once(
    lane: &Lane,
    asked: &Asked,
    ready: &ReadyBatch,
    ticket: SigningTicket<'_>,
    deadline: Instant,
) -> Result<Arc<Slot<Durable<Attempt>>>, TryError> {
    let in_blocks = in_blocks(lane, lane.head().unwrap_or(ready.head));
    has_room(lane, &ticket, in_blocks)?;
    let signed = timeout_at(deadline, sign(lane, ready, ticket.position));
    let sealed = signed.await.map_err(|_| TryError::NoVerdict(late(lane)))?;
    let sealed = sealed.map_err(TryError::NoVerdict)?;
    let in_turn = timeout_at(deadline, ticket.turn()).await;
    in_turn.map_err(|_| TryError::NoVerdict(late(lane)))?;
    // The signature may have taken a while.
    lane.is_seen().map_err(TryError::NoVerdict)?;
    if let Gate::Closed(why) = lane.gate() {
        return Err(TryError::NoVerdict(NoVerdict::LaneClosed(why)));
    }
    let proposal = Proposal {
        origin: lane.origin(),
        profile: Arc::clone(lane.chain.profile().written()),
        request: asked.request.clone(),
        earlier: ready.rest.earlier.iter().map(|satisfied| satisfied.by.batch).collect(),
        caller: asked.caller.clone(),
        in_blocks,
        window: lane.chain.max_in_flight(),
        counts: ready.counts.clone(),
        chain_time: ready.head.final_time,
        at_ms: lane.journal.now_ms(),
        sealed,
    };
    let committed = async {
        let accepted = lane.journal.hand_in(proposal).await?;
        ticket.handed_in();
        accepted.await
    };
    let slot = committed.instrument(info_span!(target: SPAN_TARGET, "commit")).await?;
    ready.draft.committed(slot.position, slot.attempts.newest());
    let slot = lane.follow(slot);
    ticket.committed();
    Ok(slot)
}

#[instrument(target = SPAN_TARGET, skip_all)]
async fn sign(lane: &Lane, ready: &ReadyBatch, position: u64) -> Result<Sealed, NoVerdict> {
    let items: Vec<_> = ready.good.iter().map(Charge::item).collect();
    let tokens: Vec<Address> = ready.good.iter().map(|charge| charge.token).collect();
    let intent = Intent {
        kind: AttemptKind::Bill,
        contract: lane.chain.facts().contract,
        function: lane.chain.profile().selector(),
        items: &items,
        tokens: Some(&tokens),
        earlier: None,
        cost: ready.draft.cost(),
    };
    Ok(ready.draft.seal(position, &intent).await?)
}
