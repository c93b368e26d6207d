//! The laws that must hold, whatever went wrong: asked of the contracts on both chains, of the disk, and of every
//! answer that was given.

use crate::attempts::{NewestAttempts, attempts};
use crate::callers::{Callers, Heard, Named, Refusal, Request};
use crate::decision_laws::{a_copy_is_noticed, nothing_done_is_unknown};
use crate::genesis::biller;
use crate::seed_settings::{GUARD, Shape};
use crate::world::{Charge, ChargeName, Charges, Kind, Side, World};
use alloy::primitives::B256;
use rusqlite::Connection;
use std::collections::BTreeMap;

type Law = Result<(), String>;

/// Asked at once, of every answer: what is called sent is on disk, can charge, and speaks of every entry.
pub(crate) fn of_an_answer(request: &Request, heard: &Heard, world: &World) -> Law {
    let Heard::Sent { hash, subscriptions, failed, .. } = heard else { return Ok(()) };
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

/// Asked at once of what is said to be charged by an earlier transaction: it is on disk, and can charge.
pub(crate) fn of_what_is_named(named: &Named, world: &World) -> Law {
    let Named { request, customer, hash, .. } = named;
    match world.durable.get(hash) {
        Some(Kind::Bill) => Ok(()),
        Some(Kind::Cancel) | None => Err(format!(
            "I4: request {request} was told that {customer} is charged by {hash}, which is no billing \
             on disk"
        )),
    }
}

/// I4: who was said to be charged by an earlier transaction is charged, and by that one.
fn earlier_ones_are_true(world: &World, callers: &Callers, charges: &Charges) -> Law {
    for Named { side, request, customer, hash, charged } in &world.named {
        let asked = callers.requests.iter().find(|one| one.number == *request);
        let period = asked.map(|one| one.period_of(*customer));
        let any = matches!(world.scene.shape(*side), Shape::Lookup | Shape::Guarded);
        let of_it = |name: &ChargeName| {
            name.0 == *side && name.1 == *customer && (any || Some(name.2) == period)
        };
        let paid = charges.keys().any(of_it) && world.fate(*side, *hash) == Some(true);
        if *charged && !paid {
            return Err(format!(
                "I4: request {request} was told that {hash} has charged {customer}, which is not so"
            ));
        }
    }
    Ok(())
}

/// Asked at the end, when the world is well again.
pub(crate) fn at_the_end(world: &World, disk: &Connection, callers: &Callers) -> Law {
    if let Some(law) = &world.broken {
        return Err(law.clone());
    }
    let charges = world.charges();
    nobody_twice(world, &charges)?;
    answers_are_true(world, callers, &charges)?;
    earlier_ones_are_true(world, callers, &charges)?;
    nobody_is_refused_on_one_word(world, callers)?;
    nothing_is_open(disk)?;
    nothing_is_lost(world, disk)?;
    ends_are_true(world, &charges, disk)?;
    nobody_is_usurped_by_nobody(world, disk)?;
    lanes_stand_where_accounts_stand(world, disk)?;
    nothing_done_is_unknown(world, disk)?;
    a_copy_is_noticed(world, disk)
}

/// I1, asked of the chains alone: for one period, and where there is none, for the time that a charge is
/// guarded.
fn nobody_twice(world: &World, charges: &Charges) -> Law {
    for ((side, customer, period), paid) in charges {
        let too_early = |first: &Charge, second: &Charge| {
            first.contract == second.contract
                && (world.scene.shape(*side) != Shape::Guarded || second.at_s < first.at_s + GUARD)
                && !nobody_could_know(world, *side, first.hash, second.hash)
        };
        let again = |at: usize| paid[at + 1..].iter().find(|second| too_early(&paid[at], second));
        if let Some(first) = (0..paid.len()).find(|at| again(*at).is_some()) {
            return Err(format!(
                "I1: on {} customer {customer} paid period {period} twice, for requests {} and {:?}",
                side.name(),
                paid[first].tag,
                again(first).map(|second| second.tag),
            ));
        }
    }
    Ok(())
}

/// Returns true if one of the two transactions is of others who have the key, and the Signer could not know of it
/// when it signed.
fn nobody_could_know(world: &World, side: Side, first: B256, second: B256) -> bool {
    match (world.is_strangers(first), world.is_strangers(second)) {
        (false, false) => false,
        (true, true) => true,
        (true, false) => !world.ought_to_know(side, second, first),
        (false, true) => !world.ought_to_know(side, first, second),
    }
}

/// I4 and I6: who was told that nothing was done is not charged by that request, and who was told to treat a
/// period as paid has it paid.
fn answers_are_true(world: &World, callers: &Callers, charges: &Charges) -> Law {
    let mut landed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for ((_, customer, _), paid) in charges {
        for charge in paid {
            landed.entry(charge.tag).or_default().push(*customer);
        }
    }
    for request in &callers.requests {
        let Some(heard) = &request.heard else { continue };
        let (number, nobody) = (request.number, vec![]);
        let charged = landed.get(&number).unwrap_or(&nobody);
        let nothing = heard.is_no_verdict() || matches!(heard, Heard::Refused(_));
        if nothing && !charged.is_empty() {
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
            // Which period a lookup told is not known here; without periods any charge is one.
            let any = matches!(world.scene.shape(request.side), Shape::Lookup | Shape::Guarded);
            let period = request.period_of(id);
            let of_it = |name: &(Side, u64, u32)| {
                name.0 == request.side && name.1 == id && (any || name.2 == period)
            };
            let paid = charges.keys().any(of_it);
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

/// I11: where two nodes are asked, nobody is refused for what has never been so. A lookup may contradict an entry.
fn nobody_is_refused_on_one_word(world: &World, callers: &Callers) -> Law {
    for request in &callers.requests {
        let side = request.side;
        let one = world.scene.nodes(side) == 1 || world.emptied[side.place()];
        if one || world.scene.shape(side) == Shape::Lookup {
            continue;
        }
        let told = request.heard.as_ref().map(refusals).unwrap_or_default();
        if let Some(refusal) = told.iter().find(|refusal| !refusal.is_from_the_journal()) {
            let Refusal { customer, code, .. } = refusal;
            return Err(format!(
                "I11: request {} was told {code} of {customer}, who could always pay",
                request.number
            ));
        }
    }
    Ok(())
}

fn refusals(heard: &Heard) -> &[Refusal] {
    match heard {
        Heard::Sent { failed, .. } => failed,
        Heard::Refused(list) => list,
        Heard::NothingDone(_) | Heard::TooFew | Heard::Disagreed | Heard::TooMany => &[],
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
    let kept: Vec<B256> =
        attempts(disk, NewestAttempts::default()).into_iter().map(|(hash, _)| hash).collect();
    let lost = |hash: &&B256| !world.forgotten.contains(*hash) && !kept.contains(hash);
    match world.sent.iter().find(lost) {
        None => Ok(()),
        Some(hash) => Err(format!("I2: {hash} was sent, and is not on disk")),
    }
}

/// One batch that has ended, with the transaction that decided.
struct End {
    batch: i64,
    side: Side,
    state: String,
    winner: Option<B256>,
}

fn ends(disk: &Connection) -> Vec<End> {
    let sql = "SELECT id, chain, state, winner FROM batch WHERE state <> 'open'";
    let mut select = disk.prepare(sql).expect("the schema has it");
    let row = |row: &rusqlite::Row<'_>| {
        let winner: Option<Vec<u8>> = row.get(3)?;
        let side = Side::of(row.get(1)?);
        let winner = winner.map(|hash| B256::from_slice(&hash));
        Ok(End { batch: row.get(0)?, side, state: row.get(2)?, winner })
    };
    let rows = select.query_map([], row).expect("it is read");
    rows.map(|row| row.expect("a row")).collect()
}

impl Side {
    /// Which chain a number of the platform stands for.
    pub(crate) fn of(chain: u32) -> Self {
        if chain == Self::Evm.platform_id() { Self::Evm } else { Self::Tron }
    }
}

/// I4: what the journal says of each end is what the chain says.
fn ends_are_true(world: &World, charges: &Charges, disk: &Connection) -> Law {
    for End { batch, side, state, winner } in ends(disk) {
        let fate = winner.and_then(|hash| world.fate(side, hash));
        let decided = state == "charged" || state == "reverted";
        if decided && fate != Some(state == "charged") {
            return Err(format!("I4: batch {batch} is {state}, and on the chain it is {fate:?}"));
        }
        let landed = |hash: &B256| Some(*hash) != winner && world.fate(side, *hash) == Some(true);
        if let Some(hash) = bills_of(disk, batch).iter().find(|hash| landed(hash)) {
            return Err(format!("I4: batch {batch} is {state}, and {hash} of it is on the chain"));
        }
        let any = world.scene.shape(side) == Shape::Guarded;
        outcomes_are_true(charges, disk, batch, side, any)?;
    }
    Ok(())
}

fn bills_of(disk: &Connection, batch: i64) -> Vec<B256> {
    let sql = "SELECT hash FROM attempt WHERE batch = ?1 AND kind = 'bill'";
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    let rows = select.query_map([batch], |row| row.get::<_, Vec<u8>>(0)).expect("it is read");
    rows.map(|row| B256::from_slice(&row.expect("a row"))).collect()
}

/// Checks that every claim with the outcome `charged` has a charge on its chain. Without periods, any charge of the
/// customer is enough.
fn outcomes_are_true(
    charges: &Charges,
    disk: &Connection,
    batch: i64,
    side: Side,
    any: bool,
) -> Law {
    let sql = "SELECT subscribe_id, period FROM claim JOIN batch ON batch.id = claim.batch
               WHERE claim.batch = ?1 AND coalesce(outcome, state) = 'charged'";
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let rows = select.query_map([batch], row).expect("it is read");
    for row in rows {
        let (customer, period) = row.expect("a row");
        let customer = u64::try_from(customer).unwrap_or(0);
        let period = period.parse().unwrap_or(0);
        let of_it = |name: &(Side, u64, u32)| {
            name.0 == side && name.1 == customer && (any || name.2 == period)
        };
        if !charges.keys().any(of_it) {
            return Err(format!(
                "I4: batch {batch} says that {customer} was charged, which is not so"
            ));
        }
    }
    Ok(())
}

/// I4: where nobody else has the key, and nothing was ever forgotten, nobody else takes a batch's place.
fn nobody_is_usurped_by_nobody(world: &World, disk: &Connection) -> Law {
    if world.foreign > 0 || world.ever_forgotten > 0 || !world.authorized.is_empty() {
        return Ok(());
    }
    match ends(disk).into_iter().find(|end| end.state == "usurped") {
        None => Ok(()),
        Some(end) => Err(format!("I4: batch {} is usurped, and nobody has its key", end.batch)),
    }
}

/// I3: a lane stands where its account stands: there is no gap, and nothing that the journal does not know.
fn lanes_stand_where_accounts_stand(world: &World, disk: &Connection) -> Law {
    if world.only == Some(Side::Tron) {
        return Ok(());
    }
    let sql = "SELECT next_position FROM lane WHERE chain = ?1 AND signer = ?2";
    // Nobody follows an account that is not configured any more and has nothing open.
    let changed = world.changed.filter(|(at, _)| *at == Side::Evm).map(|(_, change)| change);
    for place in world.scene.billers(Side::Evm, changed) {
        let of = (Side::Evm.platform_id(), biller(place).address());
        let next = disk.query_row(sql, (of.0, of.1.as_slice()), |row| row.get::<_, i64>(0)).ok();
        let next = u64::try_from(next.unwrap_or(0)).unwrap_or(0);
        let sent = world.evm.truth.chain().head_state().nonce(&of.1);
        if next != sent {
            return Err(format!(
                "I3: the lane of account {place} on EVM is at {next}, and its account at {sent}"
            ));
        }
    }
    Ok(())
}

/// Returns the outcomes of a seed's batches, for the report.
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
        let at = Side::of(chain).name();
        edges.push((at, WORDS.into_iter().find(|word| *word == state).unwrap_or("another end")));
        edges.extend((attempts > 1).then_some((at, "signed again")));
    }
    edges
}
