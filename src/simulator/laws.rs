//! What must hold, whatever went wrong: the invariants of the design, asked of the simulated contract,
//! of the disk and of every answer that was given.

use super::adapter::{CHAIN, SIGNER};
use super::chain::name;
use super::clients::{Clients, Heard, Request};
use super::disk::Disk;
use super::nodes::World;
use crate::billing::{AttemptKind, BatchState, FailCode, ItemOutcome};
use crate::journal::{Billing, LaneId, LineOutcome, Recorded, seam};
use alloy::primitives::{B256, U256};
use std::collections::BTreeMap;

type Law = Result<(), String>;
type Charges = BTreeMap<(i64, U256), Vec<u64>>;

/// Asked at once, of every answer: what is called sent is on disk.
pub(super) fn of_an_answer(request: &Request, disk: &Disk) -> Law {
    let Some(Heard::Sent { hash, subscriptions, .. }) = &request.heard else { return Ok(()) };
    if !disk.holds(*hash) {
        return Err(format!(
            "I4: request {} was told of {hash}, which is not on disk",
            request.number
        ));
    }
    let named = |id: &i64| request.lines.iter().any(|line| u64::try_from(*id) == Ok(line.customer));
    let all = request.lines.iter().all(|line| {
        let id = i64::try_from(line.customer).unwrap();
        let Some(Heard::Sent { failed, .. }) = &request.heard else { return false };
        subscriptions.contains(&id) || failed.iter().any(|(other, _)| *other == id)
    });
    if all || !subscriptions.iter().all(named) {
        return Ok(());
    }
    Err(format!("I4: request {} was not told of all of its entries", request.number))
}

/// Asked at the end, when the world is well again.
pub(super) fn at_the_end(world: &World, disk: &Disk, clients: &Clients) -> Law {
    let charges = world.chain.charges(&world.txs);
    nobody_twice(&charges)?;
    answers_are_true(world, clients, &charges)?;
    everything_is_decided(world, disk)?;
    nothing_is_lost(world, disk)?;
    let batches = all_batches(disk);
    for billing in &batches {
        agrees(world, billing)?;
    }
    let audit = seam::audit(&disk.conn);
    audit.faults.first().map_or(Ok(()), |fault| Err(format!("I2: the history says: {fault}")))
}

/// I1, asked of the chain alone.
fn nobody_twice(charges: &Charges) -> Law {
    match charges.iter().find(|(_, times)| times.len() > 1) {
        None => Ok(()),
        Some(((customer, period), by)) => {
            Err(format!("I1: customer {customer} paid period {period} twice, for requests {by:?}"))
        }
    }
}

/// I4 and I6: who was told that nothing was done is not charged by that request, and who was told that
/// a period is paid has paid it.
fn answers_are_true(world: &World, clients: &Clients, charges: &Charges) -> Law {
    let landed = landed(world);
    for request in &clients.requests {
        let Some(heard) = &request.heard else { continue };
        let charged = landed.get(&request.number).map_or(&[][..], Vec::as_slice);
        match heard {
            Heard::NothingDone | Heard::Refused(_) if !charged.is_empty() => {
                return Err(format!(
                    "I6: request {} was told {heard:?}, and charged {charged:?}",
                    request.number
                ));
            }
            Heard::Sent { failed, .. } => {
                if let Some((id, _)) = failed.iter().find(|(id, _)| charged.contains(id)) {
                    return Err(format!(
                        "I6: request {} was told that {id} is left out, and charged it",
                        request.number
                    ));
                }
            }
            Heard::NothingDone | Heard::Refused(_) => {}
        }
        for (id, code) in refusals(heard) {
            let paid = charges.contains_key(&(*id, request.period_of(*id)));
            if *code == FailCode::AlreadyCharged && !paid {
                return Err(format!(
                    "I4: request {} was told that {id} has paid, which is not so",
                    request.number
                ));
            }
        }
    }
    Ok(())
}

fn refusals(heard: &Heard) -> &[(i64, FailCode)] {
    match heard {
        Heard::Sent { failed, .. } => failed,
        Heard::Refused(codes) => codes,
        Heard::NothingDone => &[],
    }
}

/// Whom each request charged.
fn landed(world: &World) -> BTreeMap<u64, Vec<i64>> {
    let mut landed: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    for (_, done) in world.chain.all() {
        let Some(tx) = world.txs.get(&done.hash).filter(|tx| tx.ours) else { continue };
        for (item, charged) in tx.items.iter().zip(&done.charged) {
            if *charged {
                landed.entry(tx.request).or_default().push(name(item).0);
            }
        }
    }
    landed
}

/// I3: nothing is open, and the lane stands where the account stands.
fn everything_is_decided(world: &World, disk: &Disk) -> Law {
    let open = seam::open_slots(&disk.conn, LaneId { chain: CHAIN, signer: SIGNER });
    if let Some(slot) = open.first() {
        return Err(format!(
            "I3: {} batches are still open, the first at position {}, while the chain is at {}",
            open.len(),
            slot.position,
            world.chain.nonce()
        ));
    }
    stands_where_the_account_stands(world, disk)
}

/// Nonces without a gap, and none that the journal does not know.
pub(super) fn stands_where_the_account_stands(world: &World, disk: &Disk) -> Law {
    let sql = "SELECT next_position FROM lane";
    let next: Option<i64> =
        disk.conn.prepare_cached(sql).unwrap().query_row([], |row| row.get(0)).ok();
    let next = next.map_or(0, |next| u64::try_from(next).unwrap());
    if next == world.chain.nonce() {
        return Ok(());
    }
    Err(format!("I3: the lane is at {next}, and the account at {}", world.chain.nonce()))
}

/// I2: what has left the process is on disk, still.
fn nothing_is_lost(world: &World, disk: &Disk) -> Law {
    let lost = |hash: &&B256| !world.forgotten.contains(*hash) && !disk.holds(**hash);
    match world.sent.iter().find(lost) {
        None => Ok(()),
        Some(hash) => Err(format!("I2: {hash} was sent, and is not on disk")),
    }
}

fn all_batches(disk: &Disk) -> Vec<Billing> {
    let sql = "SELECT coalesce(max(id), 0) FROM batch";
    let last: i64 = disk.conn.query_row(sql, [], |row| row.get(0)).unwrap();
    (1..=last).filter_map(|id| seam::billing(&disk.conn, id)).collect()
}

/// The end of a batch, against the chain.
fn agrees(world: &World, billing: &Billing) -> Law {
    let wrong = |what: &str| {
        let (batch, state) = (billing.batch.0, billing.state.word());
        Err(format!("I4: batch {batch} is {state}, but {what}"))
    };
    let view = world.chain.view(0, false);
    let found = billing.winner.and_then(|winner| world.chain.find(view, winner));
    let Some((_, done)) = found else { return wrong("its winner is not on the chain") };
    let won = billing.attempts.iter().find(|attempt| attempt.hash() == done.hash);
    let won = won.map(Recorded::kind);
    let expected = match (won, done.succeeded) {
        (None, _) => BatchState::Usurped,
        (Some(AttemptKind::Cancel), _) => BatchState::Cancelled,
        (Some(AttemptKind::Bill), false) => BatchState::Reverted,
        (Some(AttemptKind::Bill), true) => BatchState::Charged,
    };
    if billing.state != expected {
        return wrong(expected.word());
    }
    if expected == BatchState::Charged {
        let told = billing
            .items
            .iter()
            .map(|line| line.outcome == Some(LineOutcome::Told(ItemOutcome::Charged)));
        if !told.eq(done.charged.iter().copied()) {
            return wrong("its items did not fare as it says");
        }
    }
    Ok(())
}

/// What became of the batches of a seed, for the report.
pub(super) fn edges(disk: &Disk) -> Vec<&'static str> {
    let mut edges = vec![];
    for billing in all_batches(disk) {
        edges.push(match billing.state {
            BatchState::Open => "batch open",
            BatchState::Charged => "batch charged",
            BatchState::Reverted => "batch reverted",
            BatchState::Cancelled => "batch cancelled",
            BatchState::Usurped => "batch usurped",
            BatchState::Expired => "batch expired",
        });
        let kinds = billing.attempts.iter().map(Recorded::kind);
        let bills = kinds.filter(|kind| *kind == AttemptKind::Bill).count();
        edges.extend((bills > 1).then_some("replaced"));
        edges.extend((billing.attempts.count() > bills).then_some("cancelled"));
        let charged = billing.state == BatchState::Charged;
        edges.extend((charged && billing.items.iter().any(|i| !i.live)).then_some("item failed"));
    }
    let count = |sql: &str| disk.conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let adopted = count("SELECT count(*) FROM history WHERE event = 'adopted'");
    edges.extend((0..adopted).map(|_| "adopted"));
    let again = "SELECT count(*) FROM (SELECT 1 FROM claim GROUP BY subscribe_id, period
                 HAVING count(*) > 1)";
    edges.extend((count(again) > 0).then_some("claimed again after it was free"));
    edges
}
