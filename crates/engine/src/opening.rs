//! The gate of a lane, carried out: the journal and the chain are asked about the account until `billing::rule` rules
//! that the lane is open or closed. Acts that the journal has forgotten, or never knew, are learnt on the way.

use super::lane::Lane;
use super::lane_error::LaneError;
use super::reconcile::{Reconciled, reconcile, reconcile_new_lane};
use alloy::primitives::B256;
use billing::{
    AccountView, BlocksRead, Closed, Foreign, ForeignTx, Gate, LaneView, NonceView, OnlyFollows,
    PlaceTakers, PoolView, PoolsAsked, Ruling, first_position, rule, spell_address,
};
use chain::{AccountHistory, BlockScan, HeadView, MostSent, ReadFrom, ScanRange};
use journal::LearntUpTo;
use tracing::warn;

/// After how many blocks it is written down how far they are read.
const WRITTEN_EVERY: u64 = 100;

/// The findings about transactions that the journal did not know.
struct Learnt {
    /// The first position that is still not known.
    next: u64,
    /// The hash of the transaction that has that position, if it is a call whose charges cannot be told.
    opaque: Option<B256>,
}

/// Brings the gate to where it belongs after a look at the chain.
pub(super) async fn open(lane: &Lane, head: HeadView) -> Result<(), LaneError> {
    let (nonces, told_ms) = (head.nonces, told_until_ms(lane, head));
    let known = match lane.journal.lane(lane.id()).next_position().await? {
        Some(next) => next,
        // Nothing is billed on the chain, so nothing can be billed twice.
        None if lane.settings.role.only_follows() == Some(OnlyFollows::RetiredChain) => {
            return open_gate(lane, told_ms).await;
        }
        None => match begin(lane, nonces, told_ms).await? {
            Some(first) => first,
            None => return Ok(()),
        },
    };
    if reconcile(lane).await? == Reconciled::NotYet {
        lane.account.close_meanwhile(Closed::UsedLater);
        return Ok(());
    }
    let mut view = LaneView {
        signer: lane.chain.facts().signer,
        gate: gate_to_rule(lane),
        next: lane.queue.advance_to(known),
        in_doubt: lane.account.doubt().is_some(),
        undecided: lane.batches.count(),
        account: nonces.map_or(AccountView::Blocks(None), AccountView::Nonces),
        pools: PoolView::NotAsked,
        learnt: false,
        opaque: None,
        unnamed_taker: lane.unnamed_taker(nonces),
        used_up: lane.journal.lane(lane.id()).used_up().await?,
    };
    let (mut in_blocks, mut read) = (Vec::new(), None);
    loop {
        match rule(&view) {
            Ruling::Open => return open_gate(lane, told_ms).await,
            Ruling::Closed(why) => {
                lane.account.set_gate(Gate::Closed(why));
                return Ok(());
            }
            Ruling::LearnPositions { from, to, meanwhile } => {
                lane.account.close_meanwhile(meanwhile);
                let PlaceTakers { found, then_used_up } = place_takers(lane, from, to).await?;
                take_in(lane, &mut view, found).await?;
                view.used_up = view.used_up.or(then_used_up.then_some(view.next));
            }
            Ruling::ReadBlocks { meanwhile } => {
                lane.account.close_meanwhile(meanwhile);
                let scan = read_on(lane).await?;
                view.account = AccountView::Blocks(Some(blocks_read(lane, scan.as_ref())));
                (in_blocks, read) =
                    scan.map_or_else(Default::default, |scan| (scan.found, Some(scan.read)));
            }
            Ruling::LearnFound => {
                let found = unknown(lane, view.next, std::mem::take(&mut in_blocks)).await?;
                take_in(lane, &mut view, found).await?;
                has_read(lane, read.filter(|_| view.opaque.is_none())).await?;
            }
            Ruling::AskPools(whose) => view.pools = ask_pools(lane, whose).await?,
        }
        // A request that was past the gate may have committed meanwhile.
        (view.gate, view.undecided) = (gate_to_rule(lane), lane.batches.count());
    }
}

/// Until when this look has told everything, Unix ms. A later start compares that with the times of blocks, so a
/// clock of this machine that is ahead of the chain's does not count.
fn told_until_ms(lane: &Lane, head: HeadView) -> i64 {
    let head_ms = i64::try_from(head.head_time.saturating_mul(1000)).unwrap_or(i64::MAX);
    lane.journal.now_ms().min(head_ms)
}

async fn place_takers(lane: &Lane, from: u64, to: u64) -> Result<PlaceTakers, LaneError> {
    match lane.chain.history() {
        AccountHistory::Nonces(nonces) => Ok(nonces.foreign_transactions(from, to).await?),
        AccountHistory::Blocks(_) => Ok(PlaceTakers::default()),
    }
}

/// Reads on in the blocks; none on a chain that counts transactions.
async fn read_on(lane: &Lane) -> Result<Option<BlockScan>, LaneError> {
    let AccountHistory::Blocks(blocks) = lane.chain.history() else { return Ok(None) };
    let since_ms = lane.account.doubt().unwrap_or_default();
    let read = lane.journal.lane(lane.id()).read_until().await?;
    let rival_until_ms = lane.past.checks().rival_until_ms;
    let from = ReadFrom { since_ms, read, rival_until_ms };
    Ok(Some(blocks.scan_blocks(ScanRange::Forgotten(from)).await?))
}

fn blocks_read(lane: &Lane, scan: Option<&BlockScan>) -> BlocksRead {
    let nothing = (100, true, false);
    let (percent, complete, rival) =
        scan.map_or(nothing, |scan| (scan.percent, scan.complete, scan.rival));
    let checks = lane.past.checks();
    let rival = rival || checks.rival_until_ms.is_some();
    BlocksRead { percent, complete, rival, young: checks.unknown }
}

/// Everything up to this block is learnt: that is written down now and then, so that a start that comes soon
/// goes on there.
async fn has_read(lane: &Lane, read: Option<LearntUpTo>) -> Result<(), LaneError> {
    let Some(read) = read else { return Ok(()) };
    let before = lane.journal.lane(lane.id()).read_until().await?;
    let from = before.map_or(0, |before| before.number);
    if read.number >= from.saturating_add(WRITTEN_EVERY) {
        lane.journal.lane(lane.id()).has_read(read, lane.journal.now_ms()).await?;
    }
    Ok(())
}

async fn ask_pools(lane: &Lane, whose: PoolsAsked) -> Result<PoolView, LaneError> {
    let MostSent { count, told_by } = match (lane.chain.history(), whose) {
        (AccountHistory::Nonces(nonces), PoolsAsked::Undenied) => nonces.undenied_sent().await?,
        (AccountHistory::Nonces(nonces), PoolsAsked::Any) => nonces.most_sent().await?,
        (AccountHistory::Blocks(_), _) => MostSent::default(),
    };
    Ok(PoolView::Count(count, told_by))
}

async fn take_in(lane: &Lane, view: &mut LaneView, found: Vec<Foreign>) -> Result<(), LaneError> {
    let learnt = learn(lane, view.next, found).await?;
    view.next = lane.queue.advance_to(learnt.next);
    (view.learnt, view.opaque) = (true, learnt.opaque);
    Ok(())
}

/// Opens a lane that the journal does not know; none when it has to wait. The journal may be a copy
/// from before the lane, which has forgotten all that the account has done since the journal was
/// left. So the lane begins where the account stood then: what came later is learnt.
async fn begin(
    lane: &Lane,
    nonces: Option<NonceView>,
    told_ms: i64,
) -> Result<Option<u64>, LaneError> {
    reconcile_new_lane(lane).await?;
    let by_blocks = |at_ms| lane.journal.found().by_blocks(at_ms);
    let left_ms = lane.account.doubt().map(by_blocks).or_else(|| lane.past.left().left_ms);
    let (left, sent) = match (lane.chain.history(), left_ms) {
        // Positions are ours alone: no chain knows them.
        (AccountHistory::Blocks(_), _) => (None, 0),
        (AccountHistory::Nonces(nonces), None) => (None, nonces.undenied_sent().await?.count),
        (AccountHistory::Nonces(nonces), Some(left_ms)) => {
            let left = nonces.sent_before(left_ms).await?;
            (Some(left), left)
        }
    };
    let first = match first_position(lane.id().signer, left, sent, nonces) {
        Ok(first) => first,
        Err(why) => {
            lane.account.set_gate(Gate::Closed(why));
            return Ok(None);
        }
    };
    if first > 0 {
        let (chain, account) = (&lane.chain.facts().name, lane.id().signer);
        warn!(
            chain,
            %account,
            "{first} transactions of the account were sent before this journal knew it, and it does \
             not know whom they charged: if it has billed before, put its journal back or import its \
             claims"
        );
    }
    Ok(Some(lane.journal.lane(lane.id()).open(first, told_ms).await?))
}

/// Those that the journal does not know, in the places from `next` on.
async fn unknown(lane: &Lane, next: u64, found: Vec<Foreign>) -> Result<Vec<Foreign>, LaneError> {
    let hashes = found.iter().map(|one| one.landed().hash).collect();
    let unknown = lane.journal.unknown(hashes).await?;
    let foreign = found.into_iter().filter(|one| unknown.contains(&one.landed().hash));
    let placed = |(position, one): (u64, Foreign)| match one {
        Foreign::Readable(tx) => Foreign::Readable(ForeignTx { position, ..tx }),
        Foreign::Opaque(landed) => Foreign::Opaque(landed),
    };
    Ok((next..).zip(foreign).map(placed).collect())
}

/// Takes new work from now on: nothing that the lane did is unknown.
async fn open_gate(lane: &Lane, told_ms: i64) -> Result<(), LaneError> {
    if lane.account.doubt().is_some() {
        lane.journal.lane(lane.id()).end_doubt(told_ms).await?;
        lane.account.set_doubt(None);
        if let AccountHistory::Blocks(blocks) = lane.chain.history() {
            blocks.end_scan().await;
        }
    }
    lane.past.forget_rival();
    let mut gate = Gate::Open;
    if let Some(why) = lane.settings.role.only_follows() {
        gate = Gate::Closed(Closed::OnlyFollows { account: lane.account().to_owned(), why });
    } else if let Some(other) = lane.account.unreconciled_other() {
        let other = spell_address(lane.chain.facts().family, other);
        gate = Gate::Closed(Closed::OtherAccountUnreconciled { other });
    } else if let Some(other) = lane.account.unseen_other(lane.too_old()) {
        let other = spell_address(lane.chain.facts().family, other);
        gate = Gate::Closed(Closed::OtherAccountUnseen { other });
    }
    if let (Gate::Open, Some(why)) = (&gate, lane.chain.halt()) {
        gate = Gate::Closed(Closed::Halted(why));
    }
    lane.account.set_gate(gate);
    Ok(())
}

/// Returns the gate as far as the account is concerned: a lane that begins nothing new is not shut because
/// something is wrong.
fn gate_to_rule(lane: &Lane) -> Gate {
    let gate = lane.gate();
    let following = matches!(gate, Gate::Closed(Closed::OnlyFollows { .. }));
    if following { Gate::Open } else { gate }
}

/// Takes the claims of transactions that the journal does not know, up to the first that does not
/// tell whom it charged.
async fn learn(lane: &Lane, next: u64, found: Vec<Foreign>) -> Result<Learnt, LaneError> {
    let mut readable = Vec::with_capacity(found.len());
    let mut opaque = None;
    for one in found {
        match one {
            Foreign::Readable(tx) => readable.push(tx),
            Foreign::Opaque(landed) => {
                opaque = Some(landed.hash);
                break;
            }
        }
    }
    let count = u64::try_from(readable.len()).unwrap_or(0);
    if count > 0 {
        warn!(chain = lane.chain.facts().name, count, "learnt transactions of the account");
        let (guard, now) = (lane.settings.guard.as_secs(), lane.journal.now_ms());
        lane.journal.adopt(lane.origin(), readable, guard, now).await?;
    }
    Ok(Learnt { next: next.saturating_add(count), opaque })
}
