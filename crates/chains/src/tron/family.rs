//! TRON's rules for blocks: which transactions may be in one, when it is due, what its id is.

use super::cpu::Cpu;
use super::execute::{self, Setting};
use super::info::Info;
use super::ledger::Ledger;
use super::params::Params;
use super::proto::{Done, HeaderRaw, Ret, Transaction};
use super::refusal::{Code, Refusal};
use super::tvm::Scene;
use super::tx::{Tx, sha256};
use super::witness::{self, Election, Witness};
use crate::chain::{Block, Commitments, Family, Header, Included, Pending, Site, Verdict};
use crate::state::{Hashes, State};
use prost::Message;
use revm::primitives::B256;
use std::collections::HashMap;
use std::sync::Arc;

/// A day (ms): how far ahead an expiration may be.
const DAY_MS: u64 = 86_400_000;
/// Bytes of transactions that fit into a block.
const BLOCK_BYTES: u64 = 2_000_000;
/// Slots that are skipped after a maintenance block.
const MAINTENANCE_SLOTS: u64 = 2;
/// The length of a slot (ms).
pub(super) const SLOT_MS: u64 = 3000;

/// The rules of a TRON chain.
#[derive(Clone, Debug)]
pub struct Tron {
    /// The parameters in force.
    pub params: Params,
    /// Block producers from the beginning, in turn.
    pub witnesses: Vec<Witness>,
    /// Those who were elected since, oldest first.
    pub elections: Vec<Election>,
    /// Ids that blocks at these heights get instead of their own, for replaying recorded transactions.
    pub scripted: HashMap<u64, B256>,
    /// True if blocks are solid by the chain's lag alone, whoever made them: for replaying recorded heads.
    pub lag_alone: bool,
    /// Limit on the computing of a call.
    pub cpu: Cpu,
}

impl Default for Tron {
    fn default() -> Self {
        Self {
            params: Params::default(),
            witnesses: witness::recorded(),
            elections: vec![],
            scripted: HashMap::new(),
            lag_alone: false,
            cpu: Cpu::default(),
        }
    }
}

impl Tron {
    /// Returns true if the block ends a maintenance period.
    pub fn is_maintenance(&self, header: &Header) -> bool {
        let interval = self.params.unsigned("getMaintenanceTimeInterval").max(1);
        header.number > 1 && header.time_ms / interval > header.parent_ms / interval
    }

    /// When the next maintenance is due (ms).
    pub fn next_maintenance(&self, header: &Header) -> u64 {
        let interval = self.params.unsigned("getMaintenanceTimeInterval").max(1);
        (header.time_ms / interval + 1) * interval
    }

    /// The time (ms) of the first slot after a block.
    pub fn next_slot(&self, header: &Header) -> u64 {
        let skipped = if self.is_maintenance(header) { MAINTENANCE_SLOTS } else { 0 };
        header.time_ms + SLOT_MS * (1 + skipped)
    }

    /// The chain of the main network's size: 27 witnesses.
    #[must_use]
    pub fn with_witnesses(self, count: u8) -> Self {
        Self { witnesses: (1..=count).map(Witness::numbered).collect(), ..self }
    }

    /// Returns the witnesses that make blocks at a block time (ms).
    pub fn active(&self, time_ms: u64) -> &[Witness] {
        let elected = self.elections.iter().rev().find(|election| election.from_ms <= time_ms);
        elected.map_or(&self.witnesses, |election| &election.witnesses)
    }

    /// Returns the witness that makes the block at a block time (ms). After a reorganisation the turns are others,
    /// so that an empty block differs from the block it replaces; a chain with one witness makes the same one
    /// again.
    pub fn witness(&self, time_ms: u64, fork: u64) -> Witness {
        let active = self.active(time_ms);
        let count = u64::try_from(active.len()).unwrap_or(1).max(1);
        let turn = usize::try_from((time_ms / SLOT_MS + fork) % count).unwrap_or(0);
        active[turn]
    }

    /// Checks that the expiration is in the window after `head`.
    pub fn check_window(tx: &Tx, head: &Header) -> Result<(), Refusal> {
        let expiration = u64::try_from(tx.raw().expiration).unwrap_or(0);
        if expiration <= head.time_ms || expiration > head.time_ms + DAY_MS {
            return Err(Refusal::expired());
        }
        Ok(())
    }

    /// Checks that the reference block is among the last 65,536 of the chain that ends in block `head`.
    pub fn check_tapos(tx: &Tx, head: u64, hashes: &dyn Hashes) -> Result<(), Refusal> {
        let raw = tx.raw();
        let found = <[u8; 2]>::try_from(raw.ref_block_bytes.as_slice()).ok().and_then(|low| {
            let behind =
                u64::from(u16::from_be_bytes(low).wrapping_sub(low_bits(head)).wrapping_neg());
            hashes.block_id(head.checked_sub(behind)?)
        });
        match found {
            Some(id) if id[8..16] == raw.ref_block_hash[..] => Ok(()),
            Some(_) | None => Err(Refusal::new(Code::TaposError, "Tapos check error.")),
        }
    }

    /// The setting in which transactions of the block `header` run; `header.time_ms` 0 is the pool.
    pub fn setting<'a>(
        &'a self,
        header: &Header,
        head_ms: u64,
        hashes: &'a dyn Hashes,
    ) -> Setting<'a> {
        Setting {
            params: &self.params,
            hashes,
            scene: Scene {
                number: header.number,
                time: header.time_ms / 1000,
                producer: header.producer,
                price: self.params.energy_price(),
                chain_id: chain_id(hashes),
            },
            head_ms,
            budget: self.cpu.in_block(header),
        }
    }

    /// Returns the signature of a block's producer; empty for block 0, which nobody signed. The witness that the
    /// header names signs, whoever the producers are now, as far as its key is known here.
    pub fn signature(&self, block: &Block<Self>) -> Vec<u8> {
        let header = &block.header;
        if header.number == 0 {
            return vec![];
        }
        let digest = sha256(&Self::header_raw(header, &block.body).encode_to_vec());
        let turn = self.witness(header.time_ms, header.fork);
        let named = |one: &&Witness| one.address == header.producer;
        let known =
            || self.witnesses.iter().chain(self.elections.iter().flat_map(|e| &e.witnesses));
        let maker = if named(&&turn) { Some(&turn) } else { known().find(named) };
        maker.unwrap_or(&turn).sign(&digest)
    }

    /// The hashed part of a header. Block 0 says neither number nor time; a text stands for its producer.
    pub fn header_raw(header: &Header, body: &[Included<Self>]) -> HeaderRaw {
        let genesis = header.number == 0;
        HeaderRaw {
            timestamp: if genesis { 0 } else { i64::try_from(header.time_ms).unwrap_or(i64::MAX) },
            tx_trie_root: root(body).to_vec(),
            parent_hash: header.parent.to_vec(),
            number: i64::try_from(header.number).unwrap_or(i64::MAX),
            witness_address: witness::in_header(header),
            version: if genesis { 0 } else { 32 },
        }
    }
}

/// The last four bytes of the genesis id.
pub(super) fn chain_id(hashes: &dyn Hashes) -> u64 {
    let id = hashes.block_id(0).unwrap_or_default();
    id[28..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn low_bits(number: u64) -> u16 {
    let [.., high, low] = number.to_be_bytes();
    u16::from_be_bytes([high, low])
}

/// The Merkle root over the transactions of a block, with what became of them.
pub(super) fn root(body: &[Included<Tron>]) -> B256 {
    let leaf = |included: &Included<Tron>| {
        let ret = Ret { contract_ret: included.receipt.ret_number() };
        let Transaction { raw_data, signature } = included.tx.message.clone();
        sha256(&Done { raw_data, signature, ret: Some(ret) }.encode_to_vec())
    };
    let mut level: Vec<B256> = body.iter().map(leaf).collect();
    while level.len() > 1 {
        let pairs = level.chunks(2).map(|pair| match pair {
            [left, right] => sha256(&[left.as_slice(), right.as_slice()].concat()),
            [only] => *only,
            _ => B256::ZERO,
        });
        level = pairs.collect();
    }
    level.first().copied().unwrap_or_default()
}

impl Family for Tron {
    type Tx = Tx;
    type Receipt = Info;
    type Ledger = Ledger;

    fn id(tx: &Tx) -> B256 {
        tx.id
    }

    fn open(&self, parent: &Block<Self>, time_ms: u64, fork: u64) -> Header {
        let skipped = if self.is_maintenance(&parent.header) { MAINTENANCE_SLOTS } else { 0 };
        let time_ms = time_ms + SLOT_MS * skipped;
        Header {
            number: parent.header.number + 1,
            time_ms,
            parent_ms: parent.header.time_ms,
            parent: parent.id,
            producer: self.witness(time_ms, fork).address,
            price: self.params.energy_price(),
            gas_limit: 0,
            fork,
            commitments: Commitments::default(),
        }
    }

    fn pick(&self, _state: &State<Ledger>, waiting: &[Pending<Tx>]) -> Option<usize> {
        waiting.first().map(|_| 0)
    }

    fn include(&self, at: Site<'_, Self>, state: &mut State<Ledger>, tx: &Tx) -> Verdict<Info> {
        let full = at.body.iter().map(|included| included.tx.size()).sum::<u64>() + tx.size()
            > BLOCK_BYTES;
        let parent = &at.parent.header;
        let strict = self.params.get("getConsensusLogicOptimization") == 1;
        let late =
            strict && u64::try_from(tx.raw().expiration).unwrap_or(0) < self.next_slot(parent);
        let valid = Self::check_tapos(tx, parent.number, at.hashes)
            .and_then(|()| Self::check_window(tx, parent));
        if full || late || valid.is_err() {
            return Verdict::Dropped;
        }
        let mut after = state.clone();
        match execute::apply(&self.setting(at.header, parent.time_ms, at.hashes), &mut after, tx) {
            Ok(info) => {
                *state = after;
                Verdict::Included(info)
            }
            Err(_) => Verdict::Dropped,
        }
    }

    fn close(&self, header: &Header, state: &mut State<Ledger>) -> bool {
        let due = self.is_maintenance(header);
        if due {
            state.ledger_mut().cycle += 1;
        }
        due
    }

    /// More than 70 % of the active witnesses stand on it.
    fn solidified(&self, blocks: &[Arc<Block<Self>>]) -> u64 {
        if self.lag_alone {
            return u64::MAX;
        }
        let active = self.active(blocks.last().map_or(0, |head| head.header.time_ms));
        witness::solidified(active, blocks)
    }

    fn seal(&self, header: &mut Header, body: &[Included<Self>]) -> B256 {
        let digest = sha256(&Self::header_raw(header, body).encode_to_vec());
        if let Some(id) = self.scripted.get(&header.number) {
            return *id;
        }
        let mut id = digest;
        id[..8].copy_from_slice(&header.number.to_be_bytes());
        id
    }
}
