//! The rule of the dead, pure: it decides whether a transaction that has expired has landed, or never can.
//!
//! A transaction builds on one block and lands in none whose parent has the time of its expiration
//! or a later one. So when the irrevocable blocks above the one it builds on are read without a gap,
//! up to and including the first that has that time, it is in one of them or it is dead. That last
//! block counts, since only its parent's time decides about it. No other proof is taken: neither the
//! clock of this machine, nor a node that does not know the transaction.
//!
//! The block that a transaction builds on may not be on the chain at all: then the node that told of it lied. A
//! chain lets a transaction build on nothing but the newest block with the low number that it names. If that block
//! has another hash, and the block 65,536 below it too, no block above the lower one can hold the transaction, and
//! none below it is young enough. Still all blocks above the higher one are read up to the transaction's
//! expiration, and say whether it is dead.

use super::block::{BlockPoint, Misfit, TronBlock, number_in};
use alloy::primitives::B256;
use tron_primitives::transaction::RefBlock;

/// The life of a transaction, as the transaction states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiringTx {
    /// Its id.
    pub id: B256,
    /// The block that the transaction builds on.
    pub ref_block: RefBlock,
    /// It lands in no block whose parent has this time or a later one, Unix ms.
    pub expiration_ms: u64,
}

/// The fate of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxFate {
    /// It is in this irrevocable block, whose time can be later than the expiration.
    Landed(BlockPoint),
    /// It is in no block, and can get into none: proven by this irrevocable block, to which all blocks lead that
    /// were read, and to no other of its number.
    Dead(BlockPoint),
}

/// Number of blocks between two whose low numbers are the same.
const ROUND: u64 = 0x1_0000;

/// The reading of irrevocable blocks for one transaction. A scan only ever reads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxScan {
    tx: ExpiringTx,
    /// The blocks of the low number that the transaction names, where they are others: the newest that is young
    /// enough, and the one before.
    others: Vec<BlockPoint>,
    reached: ReadUpTo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadUpTo {
    /// The block that the transaction builds on is not known; so many later ones of the same low
    /// number were not it.
    Nothing { later: usize },
    /// All blocks from that one to this one are read, and hold no such transaction.
    Block(BlockPoint),
    /// Read to the end.
    End(TxFate),
}

impl TxScan {
    /// A scan that has read nothing yet.
    pub fn new(tx: ExpiringTx) -> Self {
        Self { tx, others: Vec::new(), reached: ReadUpTo::Nothing { later: 0 } }
    }

    /// Returns the block whose word this scan takes besides the one that its fate names, if there is one. It has to be
    /// the chain's as well: nothing links it to the other.
    pub fn rests_on(&self) -> Option<BlockPoint> {
        self.others.get(1).copied()
    }

    /// Returns the number of the block to read next, where blocks up to `solid` are irrevocable; none if there is
    /// nothing to read, or not yet.
    pub fn next(&self, solid: u64) -> Option<u64> {
        let next = match self.reached {
            ReadUpTo::Nothing { later } => match self.others.first() {
                Some(other) => other.number.checked_sub(ROUND),
                None => self.tx.ref_block.numbers(solid).nth(later),
            },
            ReadUpTo::Block(last) => last.number.checked_add(1),
            ReadUpTo::End(_) => None,
        };
        next.filter(|number| *number <= solid)
    }

    /// Returns the fate of the transaction, if it is known.
    pub fn fate(&self) -> Option<TxFate> {
        match self.reached {
            ReadUpTo::End(fate) => Some(fate),
            ReadUpTo::Nothing { .. } | ReadUpTo::Block(_) => None,
        }
    }

    /// Reads the irrevocable block that [`TxScan::next`] asked for. One that does not fit changes
    /// nothing.
    pub fn read(&mut self, block: &TronBlock) -> Result<(), Misfit> {
        if number_in(block.id) != block.number {
            return Err(Misfit::Other);
        }
        self.reached = match self.reached {
            ReadUpTo::Nothing { later } => self.begin(block, later)?,
            ReadUpTo::Block(last) => {
                last.followed_by(block)?;
                self.judge(block)
            }
            end @ ReadUpTo::End(_) => end,
        };
        Ok(())
    }

    /// Begins at the block that the transaction builds on, which cannot hold it: it would have to
    /// hold its own id's hash.
    fn begin(&mut self, block: &TronBlock, later: usize) -> Result<ReadUpTo, Misfit> {
        if self.tx.ref_block.is(block.id) {
            self.others.clear();
            return Ok(self.after(block));
        }
        if self.tx.ref_block.low != low(block.number) {
            return Err(Misfit::Other);
        }
        if let Some(newest) = self.others.first().copied() {
            if newest.number.checked_sub(ROUND) != Some(block.number) {
                return Err(Misfit::Other);
            }
            self.others.push(block.into());
            return Ok(self.beyond(newest));
        }
        // 65,536 blocks take longer than any transaction lives, so the right one is further down
        // only where this one is too late.
        if block.time_ms >= self.tx.expiration_ms {
            return Ok(ReadUpTo::Nothing { later: later.saturating_add(1) });
        }
        self.others.push(block.into());
        if block.number < ROUND {
            return Ok(self.after(block));
        }
        Ok(ReadUpTo::Nothing { later })
    }

    fn judge(&self, block: &TronBlock) -> ReadUpTo {
        if block.transactions.contains(&self.tx.id) {
            return ReadUpTo::End(TxFate::Landed(block.into()));
        }
        self.after(block)
    }

    /// Returns the state after a block that does not hold the transaction.
    fn after(&self, block: &TronBlock) -> ReadUpTo {
        self.beyond(block.into())
    }

    /// Returns the state after all blocks up to this one.
    fn beyond(&self, last: BlockPoint) -> ReadUpTo {
        if last.time_ms >= self.tx.expiration_ms {
            return ReadUpTo::End(TxFate::Dead(last));
        }
        ReadUpTo::Block(last)
    }
}

fn low(number: u64) -> u16 {
    let [.., high, low] = number.to_be_bytes();
    u16::from_be_bytes([high, low])
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
