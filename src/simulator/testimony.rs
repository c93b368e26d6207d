//! What one node testifies in one look: the answers that the EVM adapter collects for
//! `chain::evm::conclude`. Every question is a call of its own, and may reach another backend.

use super::chain::{Block, Done};
use super::faults::Fault;
use super::mutants::Mutant;
use super::nodes::World;
use crate::billing::AttemptKind;
use crate::chain::evm::conclude::{Block as Held, Call, Identified, Receipt, Testimony};
use alloy::primitives::{Address, B256, Bytes, Log, LogData, U256, keccak256};

/// The billing contract.
pub(super) const CONTRACT: Address = Address::repeat_byte(0xC0);

/// A place in the account's line, and what was signed for it.
pub(super) type Place = (u64, Vec<B256>);

impl World {
    /// What node `at` testifies about some places; none when it does not answer at all.
    pub(super) fn testify(&mut self, at: usize, places: &[Place]) -> Option<Testimony> {
        let view = self.call(at)?;
        let taken = self.chain.block(view, view.head).map(|block| block.nonce);
        let final_block = self.final_at(at)?;
        let mut told = Testimony { head: view.head, taken, final_block, ..Testimony::default() };
        if self.lies(at) {
            self.falsify(&mut told, places);
            return Some(told);
        }
        told.settled = self.nonce_at(at, final_block);
        for (position, attempts) in places {
            let mut found = false;
            for hash in attempts {
                found |= self.ask_receipt(at, *hash, &mut told);
            }
            if !found && told.settled.is_some_and(|settled| settled > *position) {
                self.search(at, *position, &mut told);
            }
        }
        Some(told)
    }

    /// The number of the block that node `at` calls final in this call.
    pub(super) fn final_at(&mut self, at: usize) -> Option<u64> {
        let view = self.call(at)?;
        if self.breaks(Mutant::LatestNotFinal) {
            return Some(view.head);
        }
        let behind = if self.fault(Fault::StaleFinal) { self.dice.below(4) } else { 0 };
        Some(self.chain.final_in(view, behind))
    }

    /// The account's nonce at a block, asked by number: who lags behind it errs.
    pub(super) fn nonce_at(&mut self, at: usize, number: u64) -> Option<u64> {
        let view = self.call(at)?;
        self.chain.block(view, number).map(|block| block.nonce)
    }

    /// Asks for a receipt, and for the block that it names.
    fn ask_receipt(&mut self, at: usize, hash: B256, told: &mut Testimony) -> bool {
        let Some(view) = self.call(at) else { return false };
        if self.fault(Fault::LostReceipt) {
            return false;
        }
        let Some((block, done)) = self.chain.find(view, hash) else { return false };
        let (number, receipt) = (block.number, receipt(block, done));
        told.receipts.insert(hash, receipt);
        if let Some(view) = self.call(at)
            && let Some(block) = self.chain.block(view, number)
        {
            told.canonical.insert(number, held(block));
        }
        true
    }

    /// Searches the final blocks for whoever took a place.
    pub(super) fn search(&mut self, at: usize, position: u64, told: &mut Testimony) {
        let Some(view) = self.call(at) else { return };
        if view.head < told.final_block {
            return;
        }
        let Some((_, done)) = self.chain.user_of(view, position, told.final_block) else {
            told.identified.insert(position, Identified::Nobody);
            return;
        };
        let hash = done.hash;
        let call = self.call_of(hash);
        told.identified.insert(position, Identified::Transaction { hash, call });
        self.ask_receipt(at, hash, told);
    }

    fn call_of(&self, hash: B256) -> Call {
        let bills = self.txs.get(&hash).is_some_and(|tx| tx.kind == AttemptKind::Bill);
        let to = if bills { CONTRACT } else { Address::ZERO };
        Call { to: Some(to), input: Bytes::copy_from_slice(hash.as_slice()) }
    }

    /// A liar tells of blocks that there are not: that an attempt was charged, that it reverted, or
    /// that somebody else took its place.
    fn falsify(&mut self, told: &mut Testimony, places: &[Place]) {
        told.final_block += self.dice.below(9);
        told.head = told.head.max(told.final_block) + self.dice.below(3);
        let end = places.iter().map(|(position, _)| position + 1).max().unwrap_or(0);
        told.taken = Some(end + self.dice.below(3));
        told.settled = Some(end + self.dice.below(3));
        let number = told.final_block;
        let block = held(&Block {
            hash: keccak256(number.to_be_bytes()),
            number,
            time: self.now(),
            base_fee: 0,
            txs: vec![],
            nonce: 0,
        });
        for (position, attempts) in places {
            let strange = keccak256(position.to_be_bytes());
            let hash = match self.dice.below(3) {
                0 => strange,
                _ => attempts.first().copied().unwrap_or(strange),
            };
            if self.dice.one_in(5) {
                told.identified.insert(*position, Identified::Nobody);
                continue;
            }
            let call = self.call_of(hash);
            told.identified.insert(*position, Identified::Transaction { hash, call });
            let succeeded = self.dice.one_in(2);
            let items = self.txs.get(&hash).map_or(0, |tx| tx.items.len());
            let logs = if succeeded { logs(&vec![self.dice.one_in(2); items]) } else { vec![] };
            let receipt = Receipt { block: number, block_hash: block.hash, succeeded, logs };
            told.receipts.insert(hash, receipt);
            told.canonical.insert(number, block);
        }
    }
}

fn receipt(block: &Block, done: &Done) -> Receipt {
    let logs = if done.succeeded { logs(&done.charged) } else { vec![] };
    Receipt { block: block.number, block_hash: block.hash, succeeded: done.succeeded, logs }
}

/// The contract tells of every item whether it was charged.
fn logs(charged: &[bool]) -> Vec<Log> {
    let data: Vec<u8> = charged.iter().map(|charged| u8::from(*charged)).collect();
    vec![Log { address: CONTRACT, data: LogData::new_unchecked(vec![], data.into()) }]
}

fn held(block: &Block) -> Held {
    Held { number: block.number, hash: block.hash, time: block.time }
}

/// What the nodes say together of where the account stands; mirrors `chain::evm::observe`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) head: u64,
    pub(super) time: u64,
    pub(super) nonce: u64,
    pub(super) finalized: u64,
    pub(super) base_fee: u128,
    pub(super) balance: U256,
}

impl World {
    /// What node `at` tells in one look at the head.
    pub(super) fn look(&mut self, at: usize) -> Option<Look> {
        let view = self.call(at)?;
        let block = self.chain.block(view, view.head)?.clone();
        let mut finalized = self.final_at(at)?;
        let (mut nonce, mut base_fee) = (block.nonce, block.base_fee);
        let (balance, mut head) = (self.chain.balance, block.number);
        if self.lies(at) {
            nonce = (nonce + self.dice.below(4)).saturating_sub(self.dice.below(3));
            finalized += self.dice.below(6);
            head += self.dice.below(4);
            base_fee *= u128::from(self.dice.below(9));
        }
        Some(Look { head, time: block.time, nonce, finalized, base_fee, balance })
    }
}
