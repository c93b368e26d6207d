//! The check that the journal knows everything that an account did, carried out: `billing::doubt` judges, and here the
//! chain and the journal are asked. Only this check notices a copy that was put back with its mark.

use super::lane::Lane;
use super::lane_error::LaneError;
use alloy::primitives::B256;
use billing::{
    BlocksSeen, CallsThatCount, Closed, Doubt, JournalPast, LastUseSeen, OwnWaiting, PastRuling,
    PastView, UnconfirmedIn, UnconfirmedSeen, doubt, new_lane_is_in_doubt,
};
use chain::{AccountHistory, BlockScan, ChainError, RevocableCalls, ScanRange};
use tracing::{debug, warn};

/// The blocks of a chain that counts an account's transactions: they are not needed.
const NOTHING: BlocksSeen = BlocksSeen::Read { unknown: false, complete: true };

/// The outcome of the check in one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reconciled {
    /// The journal knows of everything that the account did, or the lane is in doubt.
    Settled,
    /// That cannot be told yet.
    NotYet,
}

/// Checks that the journal knows of everything that the account did. If it does not, the lane is in doubt from here on.
pub(super) async fn reconcile(lane: &Lane) -> Result<Reconciled, LaneError> {
    reconcile_from(lane, view(lane)).await
}

/// Returns true if the journal knows everything that the account did, irrevocable or not, as every node tells it now.
/// Asked before bytes of an open batch leave where no nonce protects the batch.
pub(super) async fn knows_all_now(lane: &Lane) -> Result<bool, LaneError> {
    let view = PastView { waiting: OwnWaiting::Leaving, ..view(lane) };
    let asked_ms = view.now_ms;
    reconcile_from(lane, view).await?;
    let known_ms = lane.past.checks().unconfirmed_ms;
    Ok(lane.account.doubt().is_none() && known_ms.is_some_and(|known_ms| known_ms >= asked_ms))
}

async fn reconcile_from(lane: &Lane, mut view: PastView) -> Result<Reconciled, LaneError> {
    let mut unread = None;
    loop {
        view.now_ms = lane.journal.now_ms();
        if view.unconfirmed == UnconfirmedSeen::NotAsked {
            // A batch that is committed after the pools were asked explains nothing that waits in them.
            view.undecided = lane.batches.count();
            if view.waiting != OwnWaiting::Leaving {
                view.waiting = waiting(lane);
            }
        }
        let PastRuling { checks, next } = doubt(&view);
        if let Doubt::Begin { since_ms } = next {
            begin_doubt(lane, since_ms, view.last_use).await?;
            view.in_doubt = true;
        }
        view.checks = checks;
        lane.past.keep(checks);
        match next {
            Doubt::ReadInFlight => view.in_flight = read_in_flight(lane).await?,
            Doubt::AskLastUse => view.last_use = ask_last_use(lane).await?,
            Doubt::ReadBlocks { from_ms, until_ms } => {
                view.since_known = read_uses(lane, from_ms, until_ms).await?;
            }
            Doubt::AskUnconfirmed(places, calls) => {
                (view.unconfirmed, unread) = ask_unconfirmed(lane, places, calls).await?;
            }
            Doubt::Begin { .. } => {}
            Doubt::Settled => {
                if lane.account.doubt().is_none() && lane.past.is_to_be_noted() {
                    lane.journal.lane(lane.id()).reconciled().await?;
                    lane.past.note();
                }
                if let Some(error) = unread {
                    debug!(%error, "new blocks could not be read of enough nodes; that is tried again");
                }
                return Ok(Reconciled::Settled);
            }
            Doubt::Wait => return Ok(Reconciled::NotYet),
            Doubt::Unread => return unread.map_or(Ok(Reconciled::NotYet), |why| Err(why.into())),
        }
    }
}

/// The account before a look.
fn view(lane: &Lane) -> PastView {
    let journal = &lane.journal;
    let (now_ms, left) = (journal.now_ms(), lane.past.left());
    PastView {
        journal: JournalPast {
            left_ms: left.left_ms,
            was_closed: left.was_closed,
            known_at_start_ms: left.known_ms,
            clocks_ms: now_ms.saturating_sub(journal.found().by_blocks(now_ms)),
        },
        only_follows: !lane.settings.role.signs(),
        in_doubt: lane.account.doubt().is_some(),
        undecided: lane.batches.count(),
        waiting: waiting(lane),
        now_ms,
        checks: lane.past.checks(),
        in_flight: BlocksSeen::NotRead,
        last_use: LastUseSeen::NotAsked,
        since_known: BlocksSeen::NotRead,
        unconfirmed: UnconfirmedSeen::NotAsked,
    }
}

fn waiting(lane: &Lane) -> OwnWaiting {
    if lane.batches.any_waits() { OwnWaiting::Some } else { OwnWaiting::Nothing }
}

/// Reads the blocks that became irrevocable since this process began. Transactions that a copy has forgotten may have
/// been on their way at that time, or in a block that was not irrevocable yet.
async fn read_in_flight(lane: &Lane) -> Result<BlocksSeen, LaneError> {
    let AccountHistory::Blocks(blocks) = lane.chain.history() else { return Ok(NOTHING) };
    match blocks.scan_blocks(ScanRange::Arrivals).await {
        Ok(read) => compare(lane, read).await,
        Err(error) => {
            debug!(%error, "blocks could not be read on; that is tried again");
            Ok(BlocksSeen::Failed)
        }
    }
}

/// Reads the blocks in which the account's use between these times may be, for calls that the journal does not know.
async fn read_uses(lane: &Lane, since_ms: i64, used_ms: i64) -> Result<BlocksSeen, LaneError> {
    let AccountHistory::Blocks(blocks) = lane.chain.history() else { return Ok(NOTHING) };
    compare(lane, blocks.scan_blocks(ScanRange::Uses { since_ms, used_ms }).await?).await
}

/// Compares the calls in blocks with the journal.
async fn compare(lane: &Lane, read: BlockScan) -> Result<BlocksSeen, LaneError> {
    let used = read.found.iter().map(|found| found.landed().hash).collect();
    let unknown = !lane.journal.unknown(used).await?.is_empty();
    Ok(BlocksSeen::Read { unknown, complete: read.complete })
}

async fn ask_last_use(lane: &Lane) -> Result<LastUseSeen, LaneError> {
    let Some(used_ms) = last_used_ms(lane).await? else { return Ok(LastUseSeen::Never) };
    let known_ms = lane.journal.lane(lane.id()).known_until().await?.unwrap_or_default();
    Ok(LastUseSeen::At { used_ms, known_ms })
}

/// Asks for calls that are not irrevocable, and compares them with the journal. Also returns the reason
/// why too few nodes told.
async fn ask_unconfirmed(
    lane: &Lane,
    places: UnconfirmedIn,
    calls: CallsThatCount,
) -> Result<(UnconfirmedSeen, Option<ChainError>), LaneError> {
    let ours = match places {
        UnconfirmedIn::Blocks => None,
        UnconfirmedIn::BlocksAndPools => Some(lane.batches.hashes()),
    };
    let told = match lane.chain.history() {
        AccountHistory::Blocks(blocks) => blocks.revocable_calls(ours.as_ref()).await,
        AccountHistory::Nonces(_) => Ok(RevocableCalls::default()),
    };
    let unread = |error| RevocableCalls { unread: Some(error), ..RevocableCalls::default() };
    let told = told.unwrap_or_else(unread);
    let counts = || {
        let all = told.calls.iter();
        all.filter(|call| call.bills || calls == CallsThatCount::All)
    };
    let unknown: Vec<B256> = lane.journal.unknown(counts().map(|call| call.hash).collect()).await?;
    let rivals = counts().filter(|call| unknown.contains(&call.hash));
    let seen = UnconfirmedSeen::Told {
        unknown: !unknown.is_empty(),
        untold: told.untold,
        unread: told.unread.is_some(),
        rival_until_ms: rivals.filter_map(|call| call.rival_until_ms).max(),
    };
    Ok((seen, told.unread))
}

/// Puts a lane that the journal does not know in doubt if the journal may be a copy from before the lane.
pub(super) async fn reconcile_new_lane(lane: &Lane) -> Result<(), LaneError> {
    let Some(left_ms) = lane.past.left().left_ms else { return Ok(()) };
    let used_ms = last_used_ms(lane).await?;
    if lane.account.doubt().is_none() && new_lane_is_in_doubt(left_ms, used_ms) {
        let known_ms = left_ms;
        let used =
            used_ms.map_or(LastUseSeen::Never, |used_ms| LastUseSeen::At { used_ms, known_ms });
        begin_doubt(lane, known_ms, used).await?;
    }
    Ok(())
}

async fn last_used_ms(lane: &Lane) -> Result<Option<i64>, LaneError> {
    let AccountHistory::Blocks(blocks) = lane.chain.history() else { return Ok(None) };
    let used_ms = blocks.last_used().await?;
    Ok(used_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)))
}

/// The lane is in doubt from here on. The doubt is kept in memory before anything that may fail: the calls that gave
/// rise to it may have left the blocks that are asked for by the next look.
async fn begin_doubt(lane: &Lane, known_ms: i64, last_use: LastUseSeen) -> Result<(), LaneError> {
    lane.account.close_meanwhile(Closed::UsedLater);
    lane.account.set_doubt(Some(known_ms));
    let used_ms = match last_use {
        LastUseSeen::At { used_ms, .. } => Some(used_ms),
        LastUseSeen::Never | LastUseSeen::NotAsked => None,
    };
    let chain = &lane.chain.facts().name;
    warn!(
        chain,
        used_ms,
        known_ms,
        "the account was used without this journal: it is new or an old copy, or the key is used elsewhere. What it did since is learnt from the chain's blocks"
    );
    Ok(lane.journal.lane(lane.id()).begin_doubt(known_ms, lane.journal.now_ms()).await?)
}
