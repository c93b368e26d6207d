//! Room for one more transaction that waits for a block.

use super::lane::Lane;
use super::signing_queue::SigningTicket;
use super::verdict::NoVerdict;
use billing::{Full, Gate, InBlocks, LaneLoad};
use chain::HeadView;
use journal::AcceptError;
use std::time::Duration;

/// Waits until one more transaction may wait for a block.
pub(super) async fn room(lane: &Lane) -> Result<HeadView, NoVerdict> {
    lane.looks.wake(lane.chain.facts().poll_interval, lane.journal.now_ms()).await;
    if lane.is_seen().is_err() {
        // The process may have been stopped for a while.
        lane.looks.next_look().await;
        lane.is_seen()?;
    }
    let mut heads = lane.chain.heads();
    loop {
        let looked = lane.looked.notified();
        match lane.gate() {
            Gate::Open => {}
            Gate::Opening => return Err(NoVerdict::LaneOpening(lane.unopened())),
            Gate::Closed(why) => return Err(NoVerdict::LaneClosed(why)),
        }
        let head = *heads.borrow_and_update();
        if let Some(head) = head
            && full(lane, head).is_none()
        {
            return Ok(head);
        }
        tokio::select! {
            changed = heads.changed() => changed.map_err(|_| NoVerdict::ShuttingDown)?,
            () = looked => {}
        }
    }
}

/// Returns the limit that is reached, if there is no room for one more batch.
fn full(lane: &Lane, head: HeadView) -> Option<Full> {
    let signing = lane.queue.length();
    let load = match in_blocks(lane, head) {
        InBlocks::Below(mined) => {
            // Positions that were never signed here are the gate's matter.
            let next = lane.queue.next().max(mined);
            LaneLoad::counted(next.saturating_add(count(signing)), mined)?
        }
        InBlocks::Seen(seen) => LaneLoad::seen(undecided_with(lane, signing), seen),
    };
    load.full(lane.chain.max_in_flight())
}

/// Checks that one more batch may wait for a block, beside those that are being signed: nobody is asked for a
/// signature in vain.
pub(super) fn has_room(
    lane: &Lane,
    ticket: &SigningTicket<'_>,
    in_blocks: InBlocks,
) -> Result<(), AcceptError> {
    let load = match in_blocks {
        InBlocks::Below(mined) => {
            LaneLoad::counted(ticket.position, mined).ok_or(AcceptError::Behind)?
        }
        InBlocks::Seen(seen) => LaneLoad::seen(undecided_with(lane, ticket.ahead), seen),
    };
    load.full(lane.chain.max_in_flight()).map_or(Ok(()), |_| Err(AcceptError::LaneFull))
}

/// Returns the lane's batches that blocks hold, as far as is known.
pub(super) fn in_blocks(lane: &Lane, head: HeadView) -> InBlocks {
    match head.nonces {
        Some(nonces) => InBlocks::Below(nonces.mined),
        None => InBlocks::Seen(lane.batches.in_blocks()),
    }
}

/// Returns the reason that a request came to nothing before its deadline.
pub(super) fn late(lane: &Lane) -> NoVerdict {
    let Some(full) = lane.head().and_then(|head| full(lane, head)) else {
        return NoVerdict::Deadline;
    };
    let again = lane.chain.facts().poll_interval.as_millis().div_ceil(1000);
    let again = Duration::from_secs(u64::try_from(again).unwrap_or(1).max(1));
    NoVerdict::LaneFull { account: lane.account().to_owned(), full, again }
}

/// Returns the number of batches that the chain has not decided, plus those that are being signed.
fn undecided_with(lane: &Lane, signing: usize) -> u64 {
    count(lane.batches.count().saturating_add(signing))
}

fn count(many: usize) -> u64 {
    u64::try_from(many).unwrap_or(u64::MAX)
}
