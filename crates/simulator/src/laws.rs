//! What must hold, whatever went wrong: asked of the contracts on both chains, of the disk, and of every
//! answer that was given.

use crate::callers::{Callers, Heard, Refusal, Request};
use crate::disk::attempts;
use crate::world::{ChargeName, Kind, Side, World};
use alloy::primitives::B256;
use rusqlite::Connection;
use std::collections::BTreeMap;

type Law = Result<(), String>;
type Charges = BTreeMap<ChargeName, Vec<u64>>;

/// Asked at once, of every answer: what is called sent is on disk, can charge, and speaks of every entry.
pub(crate) fn of_an_answer(request: &Request, heard: &Heard, world: &World) -> Law {
    let Heard::Sent { hash, subscriptions, failed } = heard else { return Ok(()) };
    let number = request.number;
    match world.durable.get(hash) {
        None => {
            return Err(format!("I4: request {number} was told of {hash}, which is not on disk"));
        }
        Some(Kind::Cancel) => {
            return Err(format!(
                "I7: request {number} was told of {hash}, which can charge nobody"
            ));
        }
        Some(Kind::Bill) => {}
    }
    let told = |id: &u64| {
        subscriptions.contains(id) || failed.iter().any(|refusal| refusal.customer == *id)
    };
    // A repeat of a part of a batch is told of all that the batch charges.
    if request.lines.iter().all(|line| told(&line.customer)) {
        return Ok(());
    }
    let lines: Vec<u64> = request.lines.iter().map(|line| line.customer).collect();
    Err(format!("I4: request {number} named {lines:?} and heard {heard:?}"))
}

/// Asked at the end, when the world is well again.
pub(crate) fn at_the_end(world: &World, disk: &Connection, callers: &Callers) -> Law {
    let charges = world.charges();
    nobody_twice(&charges)?;
    answers_are_true(callers, &charges)?;
    nothing_is_open(disk)?;
    nothing_is_lost(world, disk)?;
    ends_are_true(world, disk)
}

/// I1, asked of the chains alone.
fn nobody_twice(charges: &Charges) -> Law {
    match charges.iter().find(|(_, times)| times.len() > 1) {
        None => Ok(()),
        Some(((side, customer, period), by)) => Err(format!(
            "I1: on {} customer {customer} paid period {period} twice, for requests {by:?}",
            side.name()
        )),
    }
}

/// I4 and I6: who was told that nothing was done is not charged by that request, and who was told to treat a
/// period as paid has it paid.
fn answers_are_true(callers: &Callers, charges: &Charges) -> Law {
    let mut landed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for ((_, customer, _), tags) in charges {
        for tag in tags {
            landed.entry(*tag).or_default().push(*customer);
        }
    }
    for request in &callers.requests {
        let Some(heard) = &request.heard else { continue };
        let (number, nobody) = (request.number, vec![]);
        let charged = landed.get(&number).unwrap_or(&nobody);
        if matches!(heard, Heard::NothingDone(_) | Heard::Refused(_)) && !charged.is_empty() {
            return Err(format!(
                "I6: request {number} was told {heard:?}, and charged {charged:?}"
            ));
        }
        for refusal in refusals(heard) {
            let id = refusal.customer;
            if charged.contains(&id) {
                return Err(format!(
                    "I6: request {number} was told that {id} is left out, and charged it"
                ));
            }
            let paid = charges.contains_key(&(request.side, id, request.period_of(id)));
            let treat_as_paid = refusal.code == "ALREADY_CHARGED" || refusal.retry == "DONE";
            if treat_as_paid && !paid {
                return Err(format!(
                    "I8: request {number} was told to treat {id} as paid, which is not so"
                ));
            }
        }
    }
    Ok(())
}

fn refusals(heard: &Heard) -> &[Refusal] {
    match heard {
        Heard::Sent { failed, .. } => failed,
        Heard::Refused(list) => list,
        Heard::NothingDone(_) => &[],
    }
}

/// I3: whatever was open has been followed to its end.
fn nothing_is_open(disk: &Connection) -> Law {
    let sql = "SELECT count(*), min(id) FROM batch WHERE state = 'open'";
    let (open, first): (i64, Option<i64>) =
        disk.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("the schema has it");
    match first {
        None => Ok(()),
        Some(first) => Err(format!("I3: {open} batches are still open, the first is {first}")),
    }
}

/// I2: what has left the process is on disk, still.
fn nothing_is_lost(world: &World, disk: &Connection) -> Law {
    let kept: Vec<B256> = attempts(disk, 0).into_iter().map(|(hash, _)| hash).collect();
    let lost = |hash: &&B256| !world.forgotten.contains(*hash) && !kept.contains(hash);
    match world.sent.iter().find(lost) {
        None => Ok(()),
        Some(hash) => Err(format!("I2: {hash} was sent, and is not on disk")),
    }
}

/// I4: what the journal says of each end is what the chain says.
fn ends_are_true(world: &World, disk: &Connection) -> Law {
    let sql = "SELECT id, chain, state, winner FROM batch WHERE state IN ('charged', 'reverted')";
    let mut select = disk.prepare(sql).expect("the schema has it");
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get(0)?, row.get::<_, u32>(1)?, row.get::<_, String>(2)?, row.get(3)?))
    };
    let rows = select.query_map([], row).expect("it is read");
    let rows: Vec<(i64, u32, String, Option<Vec<u8>>)> =
        rows.map(|row| row.expect("a row")).collect();
    let charges = world.charges();
    for (batch, chain, state, winner) in rows {
        let side = if chain == Side::Evm.platform_id() { Side::Evm } else { Side::Tron };
        let fate = winner.and_then(|hash| world.fate(side, B256::from_slice(&hash)));
        if fate != Some(state == "charged") {
            return Err(format!("I4: batch {batch} is {state}, and on the chain it is {fate:?}"));
        }
        if state == "charged" {
            outcomes_are_true(&charges, disk, (batch, side))?;
        }
    }
    Ok(())
}

fn outcomes_are_true(charges: &Charges, disk: &Connection, (batch, side): (i64, Side)) -> Law {
    let sql = "SELECT subscribe_id, period FROM claim WHERE batch = ?1 AND outcome = 'charged'";
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let rows = select.query_map([batch], row).expect("it is read");
    for row in rows {
        let (customer, period) = row.expect("a row");
        let customer = u64::try_from(customer).unwrap_or(0);
        let period = period.parse().unwrap_or(0);
        if !charges.contains_key(&(side, customer, period)) {
            return Err(format!(
                "I4: batch {batch} says that {customer} was charged, which is not so"
            ));
        }
    }
    Ok(())
}

/// What became of the batches of a seed, for the report.
pub(crate) fn edges(disk: &Connection) -> Vec<(&'static str, &'static str)> {
    const WORDS: [&str; 7] =
        ["open", "charged", "reverted", "cancelled", "usurped", "expired", "void"];
    let sql =
        "SELECT chain, state, (SELECT count(*) FROM attempt WHERE batch = batch.id) FROM batch";
    let mut select = disk.prepare(sql).expect("the schema has it");
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
    };
    let rows = select.query_map([], row).expect("it is read");
    let mut edges = vec![];
    for row in rows {
        let (chain, state, attempts) = row.expect("a row");
        let at = if chain == Side::Evm.platform_id() { "EVM" } else { "TRON" };
        edges.push((at, WORDS.into_iter().find(|word| *word == state).unwrap_or("another end")));
        edges.extend((attempts > 1).then_some((at, "signed again")));
    }
    edges
}
