//! Laws on decisions: what a commit of the journal concludes, learns or signs is held against the chains as they are at
//! that moment. A wrong decision is noticed here even where nobody is charged twice for it in the end.

use crate::observations::{Own, Watch};
use crate::seed_settings::{GUARD, Shape};
use crate::world::{Side, World};
use alloy::primitives::{Address, B256};
use rusqlite::{Connection, Row};

type Law = Result<(), String>;

/// A batch that ends in the commit that is asked about.
struct Ended {
    batch: i64,
    side: Side,
    state: String,
    winner: Option<B256>,
    block: u64,
    block_s: u64,
}

/// Asked of every commit before it is made.
pub(crate) fn of_a_commit(world: &mut World, disk: &Connection) -> Law {
    let ended = ended(&world.watch, disk);
    for end in &ended {
        its_block_is_final(world, end)?;
        the_dead_stay_dead(world, disk, end)?;
        learnt_when_nothing_is_open(world, disk, end.batch)?;
    }
    for signed in signed(&world.watch, disk) {
        nothing_is_signed_in_doubt(world, disk, &signed)?;
        nothing_is_renewed_that_lives(world, disk, &signed)?;
        nothing_forgotten_is_in_sight(world, disk, &signed)?;
        a_copy_is_noticed(world, disk)?;
        world.watch.keep(signed.own);
    }
    for end in &ended {
        world.note_taken(end.side, end.winner);
    }
    let now_ms = world.now_ms;
    world.watch.unproven.read(disk, now_ms);
    if ended.is_empty() { Ok(()) } else { what_was_taken_is_held(world, disk) }
}

/// A transaction that is signed in the commit that is asked about.
struct Signed {
    batch: i64,
    seq: i64,
    position: u64,
    own: Own,
}

fn hash(row: &Row<'_>, at: usize) -> rusqlite::Result<B256> {
    row.get::<_, Vec<u8>>(at).map(|bytes| B256::from_slice(&bytes))
}

fn signed(watch: &Watch, disk: &Connection) -> Vec<Signed> {
    let sql = "SELECT id, 0, position, hash, chain, signer, raw FROM batch
                WHERE id > ?1 AND raw IS NOT NULL
                UNION ALL SELECT id, seq, position, later.hash, chain, signer, later.raw
                 FROM later_attempt AS later JOIN batch ON batch.id = later.batch WHERE later.rowid > ?2";
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    let row = |row: &Row<'_>| {
        let own = Own {
            hash: hash(row, 3)?,
            side: Side::of(row.get(4)?),
            signer: Address::from_slice(&row.get::<_, Vec<u8>>(5)?),
            position: row.get(2)?,
            raw: row.get(6)?,
        };
        Ok(Signed { batch: row.get(0)?, seq: row.get(1)?, position: own.position, own })
    };
    let known = [watch.attempts.batch, watch.attempts.later];
    let rows = select.query_map(known, row).expect("it is read");
    rows.map(|row| row.expect("a row")).collect()
}

fn ended(watch: &Watch, disk: &Connection) -> Vec<Ended> {
    let sql = "SELECT id, chain, state, winner, block, block_s FROM batch
                WHERE state <> 'open' AND (id > ?1 OR id = ?2)";
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    let row = |row: &Row<'_>| {
        let winner: Option<Vec<u8>> = row.get(3)?;
        Ok(Ended {
            batch: row.get(0)?,
            side: Side::of(row.get(1)?),
            state: row.get(2)?,
            winner: winner.map(|hash| B256::from_slice(&hash)),
            block: row.get(4)?,
            block_s: row.get(5)?,
        })
    };
    let mut ended = Vec::new();
    for open in watch.open.iter().copied().chain([0]) {
        let newest = if open == 0 { watch.batches } else { i64::MAX };
        let rows = select.query_map([newest, open], row).expect("it is read");
        ended.extend(rows.map(|row| row.expect("a row")));
    }
    ended
}

/// D1: what decided is in the block that the journal names, and nobody undoes that block any more.
fn its_block_is_final(world: &World, end: &Ended) -> Law {
    let Ended { batch, side, state, winner, block, .. } = end;
    let (final_block, holds) = match side {
        Side::Evm => world.evm.final_and_in(winner.as_ref(), *block),
        Side::Tron => world.tron.final_and_in(winner.as_ref(), *block),
    };
    let name = side.name();
    if *block > final_block {
        return Err(format!(
            "D1: batch {batch} is {state} by block {block} of {name}, and {final_block} is final"
        ));
    }
    if !holds {
        return Err(format!(
            "D1: batch {batch} is {state} by {winner:?}, which is not in block {block} of {name}"
        ));
    }
    Ok(())
}

/// D2: what is called dead can land in no block after the one that proves it, is in none before, and as many
/// providers as have to agree had no record of it when they were asked last.
fn the_dead_stay_dead(world: &World, disk: &Connection, end: &Ended) -> Law {
    if end.state != "expired" {
        return Ok(());
    }
    let needed = world.scene.nodes(end.side).min(2);
    for own in world.watch.of_batch(disk, end.batch) {
        let Ended { batch, block, block_s, .. } = end;
        if own.expires_ms() > block_s * 1000 {
            return Err(format!(
                "D2: batch {batch} is dead by block {block}, after which {} can land",
                own.hash
            ));
        }
        if world.fate(end.side, own.hash).is_some() {
            return Err(format!("D2: batch {batch} is dead, and {} has landed", own.hash));
        }
        let deniers = world.watch.deniers(&own.hash);
        if deniers < needed {
            return Err(format!(
                "D2: batch {batch} is dead, and {deniers} providers deny {}, not {needed}",
                own.hash
            ));
        }
    }
    Ok(())
}

/// D3: where a journal is an old copy, nothing is learnt of an account before every batch of the account has ended.
fn learnt_when_nothing_is_open(world: &World, disk: &Connection, batch: i64) -> Law {
    let sql = "SELECT count(*), min(other.id) FROM batch
                 JOIN doubt ON doubt.chain = batch.chain AND doubt.signer = batch.signer
                 JOIN batch AS other ON other.chain = batch.chain AND other.signer = batch.signer
                WHERE batch.id = ?1 AND other.state = 'open'
                  AND NOT EXISTS (SELECT 1 FROM batch AS usurped WHERE usurped.position = batch.position
                       AND usurped.signer = batch.signer AND usurped.chain = batch.chain
                       AND usurped.state = 'usurped')";
    if world.watch.by_hand || batch <= world.watch.batches {
        return Ok(());
    }
    let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    match select.query_row([batch], row).expect("it is read") {
        (_, None) => Ok(()),
        (open, Some(first)) => Err(format!(
            "D3: batch {batch} is learnt in doubt, while {open} batches are open, {first} first"
        )),
    }
}

/// D4: no lane signs anything for a place of its own that may be taken, while it may have forgotten what it did.
fn nothing_is_signed_in_doubt(world: &World, disk: &Connection, signed: &Signed) -> Law {
    let replaced = signed.own.side == Side::Evm && signed.seq > 0;
    let of = (signed.own.side.platform_id(), signed.own.signer.as_slice());
    let sql = "SELECT count(*) FROM doubt WHERE chain = ?1 AND signer = ?2";
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    let doubts: i64 = select.query_row(of, |row| row.get(0)).expect("it is read");
    if replaced || doubts == 0 || world.watch.new_doubt(&signed.own) {
        return Ok(());
    }
    let Signed { batch, seq, .. } = signed;
    Err(format!("D4: transaction {seq} of batch {batch} is signed while its lane is in doubt"))
}

/// D5: on TRON nothing is signed again while what was signed before can land, or has.
fn nothing_is_renewed_that_lives(world: &World, disk: &Connection, signed: &Signed) -> Law {
    if signed.own.side != Side::Tron || signed.seq == 0 {
        return Ok(());
    }
    for own in world.watch.of_batch(disk, signed.batch) {
        if own.hash != signed.own.hash && lives_on_tron(world, own) {
            return Err(format!(
                "D5: batch {} is signed again while {} can land",
                signed.batch, own.hash
            ));
        }
    }
    Ok(())
}

/// Returns true if a transaction has landed, or can: its time is not over by the newest irrevocable block.
fn lives_on_tron(world: &World, own: &Own) -> bool {
    own.expires_ms() > world.tron.final_ms() || world.fate(Side::Tron, own.hash).is_some()
}

/// D6: nothing is signed for an account of which something forgotten was to be seen at every honest node ever since the
/// process began. A dead transaction is nothing, though a node of TRON keeps it in its pool.
fn nothing_forgotten_is_in_sight(world: &World, disk: &Connection, signed: &Signed) -> Law {
    for own in world.watch.in_sight() {
        let other = (own.side, own.signer) != (signed.own.side, signed.own.signer);
        let before = own.side == Side::Evm && own.position > signed.position;
        let dead = own.side == Side::Tron && !lives_on_tron(world, own);
        if other || before || dead || world.bills_elsewhere(own.side) || is_known(disk, own) {
            continue;
        }
        return Err(format!(
            "D6: batch {} is signed on {} while {} of the account is to be seen and not in the journal",
            signed.batch,
            own.side.name(),
            own.hash
        ));
    }
    Ok(())
}

/// Returns true if a journal knows a transaction; on EVM, one in the same place. A journal that has learnt a cancel
/// knows its place alone: nobody was charged.
fn is_known(disk: &Connection, own: &Own) -> bool {
    if own.is_cancel() && is_counted(disk, own) {
        return true;
    }
    let sql = match own.side {
        Side::Evm => {
            "SELECT count(*) FROM batch WHERE chain = ?1 AND signer = ?2 AND position = ?3 AND ?4 = ?4"
        }
        Side::Tron => "SELECT count(*) FROM tx WHERE hash = ?4 AND ?1 = ?1 AND ?2 = ?2 AND ?3 = ?3",
    };
    let of = (own.side.platform_id(), own.signer.as_slice(), own.position, own.hash.as_slice());
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    select.query_row(of, |row| row.get::<_, i64>(0)).expect("it is read") > 0
}

/// Returns true if the lane of a transaction goes on behind its place.
fn is_counted(disk: &Connection, own: &Own) -> bool {
    let sql = "SELECT count(*) FROM lane WHERE chain = ?1 AND signer = ?2 AND next_position > ?3";
    let of = (own.side.platform_id(), own.signer.as_slice(), own.position);
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    select.query_row(of, |row| row.get::<_, i64>(0)).expect("it is read") > 0
}

/// D7: a journal whose mark speaks of another line of events is known to be an old copy before anything is signed, and
/// at the end.
pub(crate) fn a_copy_is_noticed(world: &World, disk: &Connection) -> Law {
    let Some(known) = world.watch.unnoticed else { return Ok(()) };
    if restorations(disk) > known {
        return Ok(());
    }
    Err("D7: the journal was put back beside a mark that contradicts it, and signs".to_owned())
}

/// Returns the number of times that a journal was noticed to be an old copy.
pub(crate) fn restorations(disk: &Connection) -> i64 {
    let sql = "SELECT count(*) FROM restored";
    disk.query_row(sql, [], |row| row.get(0)).expect("the schema has it")
}

/// D8: what a transaction has charged that the journal knows the end of is held: for good, or until its guard is over.
fn what_was_taken_is_held(world: &World, disk: &Connection) -> Law {
    let sql = "SELECT EXISTS (SELECT 1 FROM tx WHERE hash = ?1) AND NOT EXISTS
               (SELECT 1 FROM claim JOIN scope ON scope.id = claim.scope
                 WHERE chain = ?2 AND contract = ?3 AND subscribe_id = ?4
                   AND period = ?5 AND live = 1 AND (guard_until_s IS NULL OR guard_until_s >= ?6))";
    let mut select = disk.prepare_cached(sql).expect("the schema has it");
    for taken in &world.watch.taken {
        let guarded = world.scene.shape(taken.side) == Shape::Guarded;
        let period = if guarded { String::new() } else { taken.period.to_string() };
        let until_s = taken.at_s + GUARD;
        let over = guarded && world.final_s(taken.side) >= until_s;
        let of = (
            taken.hash.as_slice(),
            taken.side.platform_id(),
            taken.contract.as_slice(),
            taken.customer,
            period,
            until_s,
        );
        let lost: bool = select.query_row(of, |row| row.get(0)).expect("it is read");
        if lost && !over {
            return Err(format!(
                "D8: on {} {} has charged {} for period {}, and no claim holds that",
                taken.side.name(),
                taken.hash,
                taken.customer,
                taken.period
            ));
        }
    }
    Ok(())
}

/// D9, asked at the end: the journal knows what its accounts have done through the contract that is configured. A copy
/// may never have heard of another one.
pub(crate) fn nothing_done_is_unknown(world: &World, disk: &Connection) -> Law {
    let unknown = |own: &&Own| {
        !world.bills_elsewhere(own.side)
            && world.is_configured(own.side, own.signer)
            && world.fate(own.side, own.hash).is_some()
            && !is_known(disk, own)
    };
    match world.watch.signed().find(unknown) {
        None => Ok(()),
        Some(own) => Err(format!(
            "D9: {} has landed on {}, and the journal does not know it",
            own.hash,
            own.side.name()
        )),
    }
}
