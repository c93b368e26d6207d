//! The chain: blocks, one account's nonces, a contract that charges whatever lands, and final blocks
//! that nobody can undo. It enforces nothing, so that only the Signer stands between a customer and a
//! second charge.

use crate::billing::{AttemptKind, Item};
use alloy::primitives::{B256, U256};
use std::collections::BTreeMap;

/// So many blocks follow before a block is final.
const FINAL_AFTER: u64 = 5;

/// The gas of every transaction.
pub(super) const GAS: u64 = 100;

/// The time of the first block, Unix seconds.
pub(super) const GENESIS: u64 = 1_700_000_000;

/// A transaction of the account.
#[derive(Clone, Debug)]
pub(super) struct Tx {
    pub(super) hash: B256,
    pub(super) nonce: u64,
    pub(super) kind: AttemptKind,
    /// Wei per gas, tip included.
    pub(super) max_fee: u128,
    pub(super) tip: u128,
    pub(super) items: Vec<Item>,
    /// The number of the request that it was signed for; 0 where there was none.
    pub(super) request: u64,
    /// Whether the Signer made it.
    pub(super) ours: bool,
}

impl Tx {
    /// The bytes of the transaction. They say all that it does.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut raw = Vec::with_capacity(64 + self.items.len() * 64);
        raw.extend([u8::from(self.kind == AttemptKind::Bill), u8::from(self.ours)]);
        raw.extend(self.nonce.to_be_bytes());
        raw.extend(self.max_fee.to_be_bytes());
        raw.extend(self.tip.to_be_bytes());
        raw.extend(self.request.to_be_bytes());
        for item in &self.items {
            raw.extend(item.subscribe.0.to_be_bytes());
            raw.extend(item.key.user.0);
            raw.extend(format!("{:?}", item.key.period).bytes());
            raw.extend(item.amount.to_be_bytes::<32>());
        }
        raw
    }
}

/// A transaction in a block, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) hash: B256,
    pub(super) succeeded: bool,
    /// Which of its items were charged.
    pub(super) charged: Vec<bool>,
}

/// A block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) hash: B256,
    pub(super) number: u64,
    pub(super) time: u64,
    pub(super) base_fee: u128,
    pub(super) txs: Vec<Done>,
    /// How many transactions of the account there are up to here.
    pub(super) nonce: u64,
}

/// From where a question is answered: the chain as one backend holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Its newest block.
    pub(super) head: u64,
    /// Whether it is still on the fork that lost.
    pub(super) stale: bool,
}

/// The chain and the fork that lost last.
#[derive(Debug)]
pub(super) struct Chain {
    blocks: Vec<Block>,
    /// What was undone last, and the number of its first block.
    orphans: (u64, Vec<Block>),
    /// The newest final block.
    pub(super) finalized: u64,
    /// Wei per gas, in the next block.
    pub(super) base_fee: u128,
    /// What the account holds, wei.
    pub(super) balance: U256,
    made: u64,
}

impl Chain {
    /// A chain on which the account has sent these transactions, in block 1.
    pub(super) fn new(sent: &[Done]) -> Self {
        let block = |number: u64| Block {
            hash: block_hash(number),
            number,
            time: GENESIS + number,
            base_fee: 10,
            txs: if number == 1 { sent.to_vec() } else { vec![] },
            nonce: if number == 0 { 0 } else { sent.len() as u64 },
        };
        Self {
            blocks: (0..=FINAL_AFTER).map(block).collect(),
            orphans: (0, vec![]),
            finalized: 0,
            base_fee: 10,
            balance: plenty(),
            made: FINAL_AFTER,
        }
    }

    pub(super) fn newest(&self) -> &Block {
        self.blocks.last().unwrap()
    }

    pub(super) fn head(&self) -> u64 {
        self.newest().number
    }

    /// What the account has sent, as the newest block counts it.
    pub(super) fn nonce(&self) -> u64 {
        self.newest().nonce
    }

    /// The block with this number, as `view` holds it.
    pub(super) fn block(&self, view: View, number: u64) -> Option<&Block> {
        if number > view.head {
            return None;
        }
        let (from, orphans) = &self.orphans;
        match number.checked_sub(*from) {
            Some(place) if view.stale => orphans.get(usize::try_from(place).unwrap()),
            _ => self.blocks.get(usize::try_from(number).unwrap()),
        }
    }

    /// The newest block that a backend which lags by `lag` can have.
    pub(super) fn view(&self, lag: u64, stale: bool) -> View {
        let (from, orphans) = &self.orphans;
        // No honest node stays on a fork that contradicts a final block.
        let stale = stale && !orphans.is_empty() && *from > self.finalized;
        let newest = if stale { from + orphans.len() as u64 - 1 } else { self.head() };
        View { head: newest.saturating_sub(lag).max(FINAL_AFTER.min(newest)), stale }
    }

    /// The newest block that `view` calls final.
    pub(super) fn final_in(&self, view: View, behind: u64) -> u64 {
        self.finalized.min(view.head).saturating_sub(behind)
    }

    /// Where `view` holds a transaction.
    pub(super) fn find(&self, view: View, hash: B256) -> Option<(&Block, &Done)> {
        (0..=view.head).rev().map_while(|number| self.block(view, number)).find_map(|block| {
            block.txs.iter().find(|done| done.hash == hash).map(|done| (block, done))
        })
    }

    /// Who used a nonce up to the block `until`, as `view` holds it.
    pub(super) fn user_of(&self, view: View, nonce: u64, until: u64) -> Option<(&Block, &Done)> {
        let block =
            (0..=until).rev().map_while(|number| self.block(view, number)).find(|block| {
                let before = block.nonce - block.txs.len() as u64;
                (before..block.nonce).contains(&nonce)
            })?;
        let place = nonce - (block.nonce - block.txs.len() as u64);
        block.txs.get(usize::try_from(place).unwrap()).map(|done| (block, done))
    }

    /// Every transaction that the chain holds, oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Block, &Done)> {
        self.blocks.iter().flat_map(|block| block.txs.iter().map(move |done| (block, done)))
    }

    /// Adds a block. `time` is the present, Unix seconds.
    pub(super) fn add(&mut self, time: u64, txs: Vec<Done>) {
        let before = self.newest();
        let (number, nonce) = (before.number + 1, before.nonce + txs.len() as u64);
        let time = time.max(before.time + 1);
        self.made += 1;
        let (hash, base_fee) = (block_hash(self.made), self.base_fee);
        self.blocks.push(Block { hash, number, time, base_fee, txs, nonce });
    }

    /// Lets blocks become final.
    pub(super) fn finalize(&mut self) {
        self.finalized = self.finalized.max(self.head().saturating_sub(FINAL_AFTER));
    }

    /// Undoes the newest `depth` blocks, never a final one. Tells what was in them.
    pub(super) fn undo(&mut self, depth: u64) -> Vec<B256> {
        let depth = depth.min(self.head() - self.finalized);
        let from = self.head() + 1 - depth;
        let orphans = self.blocks.split_off(usize::try_from(from).unwrap());
        let hashes = orphans.iter().flat_map(|block| block.txs.iter().map(|done| done.hash));
        let hashes = hashes.collect();
        self.orphans = (from, orphans);
        hashes
    }

    /// How often the contract charged each subscription for each period.
    pub(super) fn charges(&self, txs: &BTreeMap<B256, Tx>) -> BTreeMap<(i64, U256), Vec<u64>> {
        let mut charges: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for (_, done) in self.all() {
            let Some(tx) = txs.get(&done.hash) else { continue };
            for (item, charged) in tx.items.iter().zip(&done.charged) {
                if *charged {
                    charges.entry(name(item)).or_default().push(tx.request);
                }
            }
        }
        charges
    }
}

/// What nobody may be charged for twice.
pub(super) fn name(item: &Item) -> (i64, U256) {
    let period = match item.key.period {
        crate::billing::Period::Numbered(number) => number,
        crate::billing::Period::Guarded => U256::ZERO,
    };
    (item.subscribe.0, period)
}

pub(super) fn plenty() -> U256 {
    U256::from(1_000_000_000_000_u64)
}

fn block_hash(made: u64) -> B256 {
    B256::from(U256::from(0xB10C_0000_0000_u64 + made))
}
