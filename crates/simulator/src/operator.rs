//! The acts of a person if nothing else helps: a person who kept books names the customers of transactions that a
//! restored journal has forgotten and that do not tell whom they charged, in the format of `claims import`.

use crate::authorizations::Authorized;
use crate::callers::Callers;
use crate::clock;
use crate::disk::SimDisk;
use crate::genesis::{biller, customer};
use crate::process::serve;
use crate::seed_settings::{Change, Shape};
use crate::world::{Shared, Side, World};
use alloy::consensus::Transaction as _;
use alloy::primitives::{Address, B256, Log, U256};
use alloy::sol_types::SolEvent as _;
use billing::PeriodNaming;
use config::Config;
use journal::{Accepting, Journal, OpenError};
use sandbox_chains::contracts::Careless;
use sandbox_chains::tron::tx::Action;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// A transaction in a block that nobody undoes.
struct Landed {
    side: Side,
    hash: B256,
    contract: Address,
    signer: Address,
    position: u64,
    block: u64,
    time_ms: u64,
    succeeded: bool,
    logs: Vec<Log>,
}

/// So many seconds after everything is healed, what can still land has landed, and a person says what nobody can learn.
const SAID_AFTER: u64 = 75;

/// So often they say so: while the Signer has not seen yet what took a place, their file is refused.
const TRIES: u64 = 3;

/// The books of a person, and when they are imported.
#[derive(Debug)]
pub(crate) struct Books {
    /// So many seconds after everything is healed.
    at: u64,
}

impl Default for Books {
    fn default() -> Self {
        Self { at: SAID_AFTER }
    }
}

impl Books {
    /// Returns true if it is time to import them, in the second `now`, where everything is healed in the second `healed`.
    pub(crate) fn are_due(&self, now: u64, healed: u64) -> bool {
        now >= healed.saturating_add(self.at)
    }

    /// Imports them once more later if they were refused.
    ///
    /// # Errors
    ///
    /// The law that is broken if they were refused for the last time.
    pub(crate) fn keep(&mut self, imported: Result<(), String>) -> Result<(), String> {
        match imported {
            Err(law) if self.at >= TRIES * SAID_AFTER => return Err(law),
            Err(_) => self.at += SAID_AFTER,
            Ok(()) => self.at = u64::MAX,
        }
        Ok(())
    }
}

/// Returns true if a person has to say whom forgotten transactions charged, or what was done with a nonce.
pub(crate) fn is_needed(world: &World) -> bool {
    let opaque = Side::ALL.iter().any(|side| world.scene.shape(*side) == Shape::Bare);
    // A transaction tells nothing if it succeeded without logs, or went through a contract that a copy may never
    // have heard of.
    let tells_nothing = |hash: &B256| {
        landed(world, *hash).is_some_and(|landed| {
            landed.succeeded && (landed.logs.is_empty() || world.bills_elsewhere(landed.side))
        })
    };
    let forgotten = &world.forgotten;
    (opaque && !forgotten.is_empty())
        || forgotten.iter().any(tells_nothing)
        || !world.used_up().is_empty()
}

/// Imports what the journal has forgotten, on the simulated disk: between two processes, as one of its own.
///
/// # Errors
///
/// The law that is broken if the file is refused for good.
pub(crate) async fn import(
    world: &Shared,
    config: &Config,
    callers: &Callers,
) -> Result<(), String> {
    let opened = opened(world, config, "claims imported");
    let (journal, tasks) = opened.expect("the journal is whole");
    let exported = journal.export_claims().await.expect("the journal is read");
    let networks = exported.text.lines().next().unwrap_or_default().to_owned();
    let text = {
        let world = world.lock();
        let lines = world.forgotten.iter().filter_map(|hash| landed(&world, *hash));
        let lines = lines.chain(
            world
                .used_up()
                .into_iter()
                .map(|(one, block, time_ms)| without_effect(&world, one, block, time_ms)),
        );
        lines.fold(networks, |text, landed| format!("{text}\n{}", line(&world, callers, &landed)))
    };
    let (by, why) = ("a person".to_owned(), "the books say so".to_owned());
    let imported = journal.import_claims(text.clone(), by, why).await;
    drop(journal);
    tasks.close();
    tasks.wait().await;
    imported.map(drop).map_err(|problem| {
        world.lock().log.lines.extend(text.lines().map(str::to_owned));
        format!("I3: what was forgotten is refused: {problem}")
    })
}

/// The journal, as a command has it between two processes; and whatever works on it.
fn opened(
    world: &Shared,
    config: &Config,
    for_what: &'static str,
) -> Result<(Journal, TaskTracker), OpenError> {
    let place = config.journal.file().expect("a simulated journal is a file");
    let life = {
        let mut world = world.lock();
        world.life += 1;
        world.dead = false;
        world.watch.by_hand = true;
        world.note("both", for_what, 0);
        clock::begin(world.machine_ms());
        world.life
    };
    let disk = Box::new(SimDisk { world: Arc::clone(world), life });
    let (journal, writer) = Journal::with_writer(place, clock::CLOCK, disk)?;
    let tasks = TaskTracker::new();
    tasks.spawn(serve(writer, Arc::clone(world), Arc::default()));
    Ok((journal, tasks))
}

/// Longest time that a command may take: its journal is slow at most.
const PATIENCE: Duration = Duration::from_mins(10);

/// Says that the contract of the configuration is meant, if it is another one than the first. If the disk does not
/// take that, the start is refused, and the contract is confirmed again before the next one. Returns whether it was
/// said; `None` if the command's process ended on the way.
pub(crate) async fn accept(world: &Shared, config: &Config) -> Option<bool> {
    let (changed, shapes) = {
        let world = world.lock();
        (world.changed, Side::ALL.map(|side| world.scene.shape(side)))
    };
    let Some((side, Change::Contract)) = changed else { return Some(false) };
    let opened = opened(world, config, "another contract is accepted");
    let Ok((journal, tasks)) = opened else { return Some(false) };
    let guarded = shapes[side.place()] == Shape::Guarded;
    let naming =
        if guarded { PeriodNaming::Guard } else { PeriodNaming::Field("period".to_owned()) };
    let said = async {
        let chains = config.chains.iter();
        for chain in chains.filter(|chain| chain.platform_id.0 == side.platform_id()) {
            let accepting = Accepting {
                chain: chain.platform_id,
                contract: chain.family.contract(),
                naming: naming.clone(),
                guard: Duration::ZERO,
                why: "the contract was exchanged".to_owned(),
            };
            drop(journal.accept_config(accepting).await);
        }
        drop(journal);
        tasks.close();
        tasks.wait().await;
    };
    timeout(PATIENCE, said).await.ok().map(|()| true)
}

fn landed(world: &World, hash: B256) -> Option<Landed> {
    if let Some(place) = world.evm.truth.chain().find(&hash) {
        let (header, one) = (&place.block.header, place.included());
        return Some(Landed {
            side: Side::Evm,
            hash,
            contract: one.tx.to()?,
            signer: one.tx.signer(),
            position: one.tx.nonce(),
            block: header.number,
            time_ms: header.time_ms,
            succeeded: one.receipt.result.is_success(),
            logs: one.receipt.result.logs().to_vec(),
        });
    }
    let place = world.tron.truth.node().chain().find(&hash)?;
    let (header, one) = (&place.block.header, place.included());
    let Action::Trigger(call) = &one.tx.action else { return None };
    let plain = |bytes: &[u8]| Address::try_from(bytes.get(1..)?).ok();
    let succeeded = one.receipt.succeeded();
    let logs = if succeeded { one.receipt.logs.clone() } else { vec![] };
    Some(Landed {
        side: Side::Tron,
        hash,
        contract: plain(&call.contract_address)?,
        signer: plain(&call.owner_address)?,
        position: 0,
        block: header.number,
        time_ms: header.time_ms,
        succeeded,
        logs,
    })
}

/// Returns a transaction that has used a nonce, and charged nobody.
fn without_effect(world: &World, one: Authorized, block: u64, time_ms: u64) -> Landed {
    Landed {
        side: Side::Evm,
        hash: one.by,
        contract: world.evm_at.billing,
        signer: biller(0).address(),
        position: one.nonce,
        block,
        time_ms,
        succeeded: true,
        logs: vec![],
    }
}

fn line(world: &World, callers: &Callers, landed: &Landed) -> Value {
    let moved = landed.logs.iter().filter_map(|log| Careless::Moved::decode_log(log).ok());
    let claims: Vec<Value> =
        moved.map(|moved| claim(world, callers, landed.side, &moved)).collect();
    json!({
        "chain": landed.side.platform_id(),
        "contract": landed.contract,
        "signer": landed.signer,
        "position": landed.position,
        "transaction": landed.hash,
        "block": landed.block,
        "blockTime": landed.time_ms / 1000,
        "guard": 0,
        "succeeded": landed.succeeded,
        "claims": claims,
    })
}

fn claim(world: &World, callers: &Callers, side: Side, moved: &Careless::Moved) -> Value {
    let (amount, user) = callers.terms(moved.tag, moved.subscribeId);
    let token = if side == Side::Evm { world.evm_at.token } else { world.tron_at.token };
    json!({
        "subscribeId": moved.subscribeId,
        "planId": 1,
        "userHash": B256::from(U256::from(user + 1000)),
        "period": moved.period.to_string(),
        "amount": amount.to_string(),
        "planVersion": null,
        "wallet": customer(moved.subscribeId),
        "token": token,
        "outcome": "charged",
    })
}
