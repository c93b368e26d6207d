//! The words of three nodes: one is honest and up to date, one is honest and may lag, one may lie.

use super::world::{Used, World};
use crate::transactions::{Ending, TxId};
use alloy::primitives::{Address, B256, Bytes};
use evm_testimony::conclude::{Block, EvmTestimony, Identified, Receipt, TxCall};
use strum::EnumIter;

/// The words of the third node in one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter)]
pub(crate) enum Word {
    /// The truth.
    Honest,
    /// Nothing.
    Silent,
    /// Nothing ever landed, and nothing waits.
    Denies,
    /// The newest attempt has charged, and is final.
    Charged,
    /// The newest attempt has reverted, and is final.
    Reverted,
    /// A transaction of somebody else took the place, charged nobody, and is final.
    Foreign,
    /// No transaction took the place, and it is used.
    UsedUp,
}

/// A look at the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Nodes {
    /// The blocks that the second node lags behind.
    pub(crate) lag: u8,
    /// The words of the third.
    pub(crate) word: Word,
    /// True if a block counts as final as soon as it is there (a broken rule).
    pub(crate) newest_is_final: bool,
    /// The words of honest nodes about their pools.
    pub(crate) pools: Pools,
}

/// The words of honest nodes about the account's transactions in their pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pools {
    /// The number of transactions up to the first gap: `eth_getTransactionCount` of `pending`.
    CountUpToGap,
    /// All of them, those behind a gap too.
    TellAll,
}

/// The extra nonces that a liar speaks of.
const INVENTED: u8 = 2;

/// A transaction that exists in a lie alone.
const MADE_UP: B256 = B256::repeat_byte(0xEE);

/// A view of the chain: the blocks that a node has, and those that are final for it.
#[derive(Clone, Copy)]
struct View {
    blocks: u8,
    finals: u8,
}

impl Nodes {
    /// Returns what each node testifies about `position`, for which `attempts` were signed.
    pub(crate) fn testify(
        self,
        world: &World,
        position: u8,
        attempts: &[TxId],
    ) -> [EvmTestimony; 3] {
        let truth = honest(world, self.view(world, 0), position, attempts);
        let lagging = honest(world, self.view(world, self.lag), position, attempts);
        let third = match self.word {
            Word::Honest => truth.clone(),
            Word::Silent => EvmTestimony::default(),
            Word::Denies => EvmTestimony {
                head: u64::from(world.height()),
                taken: Some(0),
                settled: Some(0),
                ..EvmTestimony::default()
            },
            Word::Charged => landed(world, position, attempts.last().copied(), Ending::Succeeded),
            Word::Reverted => landed(world, position, attempts.last().copied(), Ending::Reverted),
            Word::Foreign => foreign(world, position),
            Word::UsedUp => EvmTestimony {
                identified: [(u64::from(position), Identified::Nobody(block(world, position)))]
                    .into(),
                ..boasting(world, position)
            },
        };
        [truth, lagging, third]
    }

    /// Returns how many nonces each node counts in blocks, and in final ones.
    pub(crate) fn counts(self, world: &World) -> [Option<(u8, u8)>; 3] {
        let of = |view: View| Some((view.blocks, view.finals));
        let boasted = world.height().saturating_add(INVENTED);
        let third = match self.word {
            Word::Honest => of(self.view(world, 0)),
            Word::Silent => None,
            Word::Denies => Some((0, 0)),
            Word::Charged | Word::Reverted | Word::Foreign | Word::UsedUp => {
                Some((boasted, boasted))
            }
        };
        [of(self.view(world, 0)), of(self.view(world, self.lag)), third]
    }

    /// Returns how many nonces each node counts with its pool.
    pub(crate) fn pools(self, world: &World) -> [Option<u8>; 3] {
        let waits = |nonce: u8| {
            world.sent.iter().any(|id| world.tx(*id).is_some_and(|tx| tx.nonce == nonce))
        };
        let until = match self.pools {
            Pools::CountUpToGap => (world.height()..u8::MAX).find(|nonce| !waits(*nonce)),
            Pools::TellAll => {
                let nonces = world.sent.iter().filter_map(|id| world.tx(*id)).map(|tx| tx.nonce);
                nonces.max().map(|last| world.height().max(last.saturating_add(1)))
            }
        };
        let until = until.unwrap_or(world.height());
        let third = match self.word {
            Word::Honest => Some(until),
            Word::Silent => None,
            Word::Denies => Some(0),
            Word::Charged | Word::Reverted | Word::Foreign | Word::UsedUp => {
                Some(until.saturating_add(INVENTED))
            }
        };
        [Some(until), Some(until), third]
    }

    fn view(self, world: &World, lag: u8) -> View {
        let blocks = world.height().saturating_sub(lag);
        let finals =
            if self.newest_is_final { blocks } else { world.final_blocks.saturating_sub(lag) };
        View { blocks, finals }
    }
}

fn honest(world: &World, view: View, position: u8, attempts: &[TxId]) -> EvmTestimony {
    let mut testimony = EvmTestimony {
        head: u64::from(view.blocks),
        taken: Some(u64::from(view.blocks)),
        final_block: u64::from(view.finals),
        settled: Some(u64::from(view.finals)),
        ..EvmTestimony::default()
    };
    for nonce in 0..view.blocks {
        let Some(used) = world.blocks.get(usize::from(nonce)) else { continue };
        let here = nonce == position && nonce < view.finals;
        match *used {
            Used::By { tx, ending } => {
                let ours = attempts.contains(&tx);
                if ours || here {
                    testimony.show(tx.hash(), block(world, nonce), ending);
                }
                if here && !ours {
                    testimony.name(position, tx.hash(), tx.0);
                }
            }
            Used::UpByNone if here => {
                let nobody = Identified::Nobody(block(world, nonce));
                testimony.identified.insert(u64::from(position), nobody);
            }
            Used::UpByNone => {}
        }
    }
    testimony
}

/// A node that is ahead of all others, and calls all of it final.
fn boasting(world: &World, position: u8) -> EvmTestimony {
    let blocks = u64::from(world.height().max(position).saturating_add(INVENTED));
    EvmTestimony {
        head: blocks,
        taken: Some(blocks),
        final_block: blocks,
        settled: Some(blocks),
        ..EvmTestimony::default()
    }
}

fn landed(world: &World, position: u8, newest: Option<TxId>, ending: Ending) -> EvmTestimony {
    let mut testimony = boasting(world, position);
    if let Some(tx) = newest {
        testimony.show(tx.hash(), block(world, position), ending);
    }
    testimony
}

fn foreign(world: &World, position: u8) -> EvmTestimony {
    let mut testimony = boasting(world, position);
    testimony.show(MADE_UP, block(world, position), Ending::Succeeded);
    testimony.name(position, MADE_UP, u8::MAX);
    testimony
}

/// The block that uses this nonce, or would.
fn block(world: &World, nonce: u8) -> Block {
    let content = match world.blocks.get(usize::from(nonce)) {
        Some(Used::By { tx, ending: Ending::Succeeded }) => tx.0.wrapping_add(10),
        Some(Used::By { tx, ending: Ending::Reverted }) => tx.0.wrapping_add(100),
        Some(Used::UpByNone) => 1,
        None => 0,
    };
    let number = u64::from(nonce).saturating_add(1);
    let hash = B256::right_padding_from(&[nonce.wrapping_add(1), content]);
    Block { number, hash, time: number }
}

/// Adds to a testimony.
trait Testify {
    /// The node shows this transaction in this block.
    fn show(&mut self, hash: B256, block: Block, ending: Ending);
    /// The node names this transaction as the one that took the place; `input` tells which it is.
    fn name(&mut self, position: u8, hash: B256, input: u8);
}

impl Testify for EvmTestimony {
    fn show(&mut self, hash: B256, block: Block, ending: Ending) {
        let (number, block_hash) = (block.number, block.hash);
        let succeeded = ending == Ending::Succeeded;
        let receipt = Receipt { block: number, block_hash, succeeded, logs: vec![] };
        self.receipts.insert(hash, receipt);
        self.canonical.insert(number, block);
    }

    fn name(&mut self, position: u8, hash: B256, input: u8) {
        let call = TxCall { to: Some(Address::ZERO), input: Bytes::from(vec![input]) };
        self.identified.insert(u64::from(position), Identified::Transaction { hash, call });
    }
}
