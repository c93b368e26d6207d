//! The world's memory for the laws on decisions: everything that its Signers ever signed, the places that show it,
//! and what nodes have said of it.

use crate::attempts::{NewestAttempts, attempts_of};
use crate::decision_laws::restorations;
use crate::genesis::biller;
use crate::net::{Member, Net};
use crate::seed_settings::Change;
use crate::undone_receipts::Receipts;
use crate::unproven_claims::Unproven;
use crate::world::{Side, World};
use alloy::consensus::Transaction as _;
use alloy::primitives::{Address, B256};
use alloy::sol_types::SolEvent as _;
use rusqlite::Connection;
use sandbox_chains::contracts::Careless;
use sandbox_chains::evm::decode;
use sandbox_chains::tron::tx::Tx;
use std::collections::{BTreeMap, BTreeSet};

/// A transaction that a Signer of this world has signed.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub(crate) hash: B256,
    pub(crate) side: Side,
    pub(crate) signer: Address,
    pub(crate) position: u64,
    pub(crate) raw: Vec<u8>,
}

impl Own {
    /// From this time of a block on (ms) no later block holds it: on TRON.
    pub(crate) fn expires_ms(&self) -> u64 {
        let tx = Tx::decode(&self.raw).map(|tx| tx.raw().expiration);
        tx.ok().and_then(|ms| u64::try_from(ms).ok()).unwrap_or(u64::MAX)
    }

    /// Returns true for a transaction on EVM that only takes a nonce.
    pub(crate) fn is_cancel(&self) -> bool {
        self.side == Side::Evm && decode(&self.raw).is_some_and(|tx| tx.input().is_empty())
    }
}

/// A charge in a block that the journal has taken for final.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) side: Side,
    pub(crate) hash: B256,
    pub(crate) contract: Address,
    pub(crate) customer: u64,
    pub(crate) period: u32,
    pub(crate) at_s: u64,
}

/// So many signatures in a row come to nothing in no process.
const SIGNED_IN_VAIN: u32 = 60;

/// So often in one second nobody has anything to ask of a journal.
const TURNS: u32 = 20_000;

/// The remembered facts.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The newest row of an attempt when the transaction that runs began.
    pub(crate) attempts: NewestAttempts,
    /// The newest batch then.
    pub(crate) batches: i64,
    /// The batches that were open then.
    pub(crate) open: Vec<i64>,
    /// Which lanes were in doubt then.
    doubts: Vec<(u32, Vec<u8>)>,
    /// True if a person writes into the journal, and no Signer.
    pub(crate) by_hand: bool,
    /// When the process that runs began (ms).
    started_ms: u64,
    own: BTreeMap<B256, Own>,
    /// The forgotten transactions that can be seen everywhere, and since when (ms).
    seen_ms: BTreeMap<B256, u64>,
    /// Which provider had no record of a transaction when it was asked last, by process.
    denied: BTreeSet<(u64, B256, usize)>,
    pub(crate) taken: Vec<Taken>,
    /// The receipts of undone blocks that nodes may go on telling.
    pub(crate) receipts: Receipts,
    /// Number of times that the journal that was put back was noticed to be a copy, if its mark says that it is
    /// one.
    pub(crate) unnoticed: Option<i64>,
    /// True if the journal that was put back last came with a mark that fits it.
    pub(crate) marked: bool,
    /// Transactions on TRON whose bytes nobody sends any more: a Signer that could not see them may have billed in
    /// their place.
    pub(crate) buried: BTreeSet<B256>,
    /// The facts that the journal cannot tell.
    pub(crate) unproven: Unproven,
    /// Number of signatures since the last that the journal took.
    signatures: u32,
    life: u64,
    /// Number of times that the journal was asked in the second that goes on.
    turns: (u64, u32),
}

impl Watch {
    /// A transaction of the database begins.
    pub(crate) fn begin(&mut self, conn: &Connection, attempts: NewestAttempts) {
        self.attempts = attempts;
        let newest = "SELECT coalesce(max(id), 0) FROM batch";
        let newest =
            conn.prepare_cached(newest).and_then(|mut one| one.query_row([], |row| row.get(0)));
        self.batches = newest.unwrap_or(0);
        self.open = column(conn, "SELECT id FROM batch WHERE state = 'open'", |row| row.get(0));
        let doubts = "SELECT chain, signer FROM doubt";
        self.doubts = column(conn, doubts, |row| Ok((row.get(0)?, row.get(1)?)));
    }

    /// A process begins.
    pub(crate) fn start(&mut self, life: u64, now_ms: u64) {
        (self.life, self.started_ms, self.by_hand) = (life, now_ms, false);
        (self.signatures, self.unproven) = (0, Unproven::default());
    }

    /// A store of keys signs. D10: nothing is signed again and again that the journal does not take.
    pub(crate) fn signs(&mut self) -> Result<(), String> {
        self.signatures += 1;
        if self.signatures < SIGNED_IN_VAIN {
            return Ok(());
        }
        Err(format!("D10: {} signatures were made, and the journal took none", self.signatures))
    }

    pub(crate) fn keep(&mut self, own: Own) {
        self.signatures = 0;
        self.own.insert(own.hash, own);
    }

    /// Everything that was ever signed.
    pub(crate) fn signed(&self) -> impl Iterator<Item = &Own> {
        self.own.values()
    }

    /// Returns the transactions that were signed for a batch.
    pub(crate) fn of_batch(&self, disk: &Connection, batch: i64) -> Vec<&Own> {
        attempts_of(disk, batch).iter().filter_map(|hash| self.own.get(hash)).collect()
    }

    /// Returns true if the lane of a transaction was in no doubt when the commit began: a transaction past the
    /// lane's gate may be committed.
    pub(crate) fn new_doubt(&self, own: &Own) -> bool {
        let of = (own.side.platform_id(), own.signer.to_vec());
        !self.doubts.contains(&of)
    }

    /// Returns the forgotten transactions that could be seen everywhere when the process began, and ever since.
    pub(crate) fn in_sight(&self) -> impl Iterator<Item = &Own> {
        let since = self.seen_ms.iter().filter(|(_, since)| **since <= self.started_ms);
        since.filter_map(|(hash, _)| self.own.get(hash))
    }

    /// A provider is asked for its record of a transaction in irrevocable blocks.
    pub(crate) fn asks(&mut self, life: u64, hash: B256, provider: usize) {
        self.denied.remove(&(life, hash, provider));
    }

    /// It says that it has none.
    pub(crate) fn denies(&mut self, life: u64, hash: B256, provider: usize) {
        self.denied.insert((life, hash, provider));
    }

    /// Returns the number of providers that had no record of the transaction when they were asked last.
    pub(crate) fn deniers(&self, hash: &B256) -> usize {
        let of = |(life, which, _): &&(u64, B256, usize)| *life == self.life && which == hash;
        self.denied.iter().filter(of).count()
    }

    /// A journal is put back beside a mark, or with its own.
    pub(crate) fn put_back(&mut self, conn: &Connection, mark: Option<&str>) {
        let sql = "SELECT lower(hex(id)), (SELECT coalesce(max(seq), 0) FROM history)
                     FROM boot ORDER BY seq DESC LIMIT 1";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?));
        let (boot, rows) = conn.query_row(sql, [], row).expect("somebody has begun");
        let words: Vec<&str> = mark.unwrap_or_default().split_whitespace().collect();
        let reached = words.get(1).and_then(|rows| rows.parse().ok()).unwrap_or(0);
        let names = [words.first(), words.get(2)].into_iter().flatten().any(|name| **name == boot);
        let fits = words.is_empty() || (names && rows >= reached);
        self.marked = fits;
        self.unnoticed = (!fits).then(|| restorations(conn));
    }
}

fn column<T>(
    conn: &Connection,
    sql: &str,
    row: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut select = conn.prepare_cached(sql).expect("the schema has it");
    let rows = select.query_map([], |one| row(one)).expect("it is read");
    rows.map(|row| row.expect("a row")).collect()
}

impl<M: Member> Net<M> {
    /// Returns true if a node has the transaction in a block or in its pool.
    fn shows(member: &M, hash: &B256) -> bool {
        let chain = member.node().chain();
        chain.find(hash).is_some() || chain.pool().get(hash).is_some()
    }

    /// Returns true if there are configured nodes that do not lie, and each of them can show the transaction.
    fn is_everywhere(&self, hash: &B256, configured: usize, liar: Option<usize>) -> bool {
        let honest = || (0..configured).filter(|at| Some(*at) != liar);
        honest().next().is_some() && honest().all(|at| Self::shows(&self.members[at], hash))
    }
}

impl World {
    /// A second has passed: what is forgotten is to be seen, or not.
    pub(crate) fn look_around(&mut self) {
        for hash in &self.forgotten {
            let Some(own) = self.watch.own.get(hash) else { continue };
            let configured = self.scene.nodes(own.side);
            // A sole provider on EVM tells the truth of its pool.
            let truthful = own.side == Side::Evm && configured == 1;
            let liar = self.liars[own.side.place()].filter(|_| !truthful);
            let seen = match own.side {
                Side::Evm => self.evm.is_everywhere(hash, configured, liar),
                Side::Tron => self.tron.is_everywhere(hash, configured, liar),
            };
            if seen {
                self.watch.seen_ms.entry(*hash).or_insert(self.now_ms);
            } else {
                self.watch.seen_ms.remove(hash);
            }
        }
        let forgotten = &self.forgotten;
        self.watch.seen_ms.retain(|hash, _| forgotten.contains(hash));
    }

    /// Returns true if an account signs by the configuration of the process that runs.
    pub(crate) fn is_configured(&self, side: Side, signer: Address) -> bool {
        let changed = self.changed.filter(|(at, _)| *at == side).map(|(_, change)| change);
        let billers = self.scene.billers(side, changed);
        billers.into_iter().any(|place| biller(place).address() == signer)
    }

    /// Returns true if the process that runs bills through another contract than the first. A copy may never have
    /// heard of that contract, and then takes the transactions through it for none of its business.
    pub(crate) fn bills_elsewhere(&self, side: Side) -> bool {
        matches!(self.changed, Some((at, Change::Contract)) if at == side)
    }

    /// The journal is asked. I3: a process that asks on and on, while no time passes, never comes to an end.
    pub(crate) fn goes_round(&mut self) -> bool {
        let (second, turns) = self.watch.turns;
        let turns = if second == self.now_ms { turns + 1 } else { 1 };
        self.watch.turns = (self.now_ms, turns);
        let round = turns > TURNS;
        if round {
            let law = format!("I3: a process asks its journal {turns} times in one second");
            self.broken.get_or_insert(law);
        }
        round
    }

    /// The journal knows the end of this transaction.
    pub(crate) fn note_taken(&mut self, side: Side, winner: Option<B256>) {
        let known = |hash: &B256| self.watch.taken.iter().any(|taken| taken.hash == *hash);
        let Some(hash) = winner.filter(|hash| !known(hash)) else { return };
        let (logs, at_s) = match side {
            Side::Evm => {
                let chain = self.evm.truth.chain();
                let Some(place) = chain.find(&hash) else { return };
                let logs = place.included().receipt.result.logs().to_vec();
                (logs, place.block.header.time_ms / 1000)
            }
            Side::Tron => {
                let chain = self.tron.truth.node().chain();
                let Some(place) = chain.find(&hash) else { return };
                let receipt = &place.included().receipt;
                let logs = if receipt.succeeded() { receipt.logs.clone() } else { vec![] };
                (logs, place.block.header.time_ms / 1000)
            }
        };
        for log in logs {
            let Ok(moved) = Careless::Moved::decode_log(&log) else { continue };
            let (customer, period) = (moved.subscribeId, moved.period);
            let contract = log.address;
            self.watch.taken.push(Taken { side, hash, contract, customer, period, at_s });
        }
    }

    /// The time of the newest block that nobody undoes (s).
    pub(crate) fn final_s(&self, side: Side) -> u64 {
        let ms = match side {
            Side::Evm => self.evm.final_ms(),
            Side::Tron => self.tron.final_ms(),
        };
        ms / 1000
    }
}
