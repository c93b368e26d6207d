//! From what each node testified to what became of one batch: a pure function.
//!
//! A batch is decided by presence: one of its transactions is in an irrevocable block, and as many
//! providers as have to agree tell the same of it. Or by the rule of the dead: blocks that as many
//! providers tell alike prove that none of its transactions can land any more. Nothing is concluded
//! from an absence, an error, or a word that is not known.

use alloy::primitives::{B256, Log};
use billing::TxRecord;
use std::collections::BTreeMap;
use tron_node::{BlockPoint, CallResult, TxFate, TxInfo};

/// Number of irrevocable blocks on top of a transaction for which its logs are waited for: a node that lags has the
/// logs by then, and a node that keeps no history never will.
pub const LOGS_WITHIN: u64 = 40;

/// A node's record of a transaction in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number of the block.
    pub block: u64,
    /// The block's time, Unix ms.
    pub block_time_ms: u64,
    /// The result of the call, in a word that is known.
    pub result: CallResult,
    /// The logs of the contracts; empty for a call that failed.
    pub logs: Vec<Log>,
}

/// The presence of a batch's newest transaction in a node's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// It was not asked, or did not answer.
    #[default]
    Untold,
    /// In no block.
    No,
    /// In this one.
    In(u64),
}

impl Shown {
    /// Returns the block that shows the transaction.
    pub fn block(self) -> Option<u64> {
        match self {
            Self::In(block) => Some(block),
            Self::No | Self::Untold => None,
        }
    }
}

/// The testimony of one node in one look. Questions that the node did not answer are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TronTestimony {
    /// Of the newest transaction.
    pub shown: Shown,
    /// The node's records of blocks that are irrevocable for it, by transaction; none where the node says that it
    /// has no record. Transactions that the node did not answer about, or not in known words, are left out.
    pub records: BTreeMap<B256, Option<Record>>,
    /// The same records, as people are told them. They decide nothing.
    pub told: BTreeMap<B256, TxRecord>,
    /// The result of the newest transaction, told without a record.
    pub result: Option<CallResult>,
}

/// The facts known besides the testimonies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The newest block that is irrevocable for as many providers as have to agree.
    pub solid: u64,
    /// The number of agreeing answers that is required.
    pub needed: usize,
    /// The proof of the irrevocable blocks about the newest transaction, if they were read.
    pub scan: Option<TxFate>,
}

/// A transaction of ours in an irrevocable block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Its id.
    pub id: B256,
    /// The number of the block.
    pub block: u64,
    /// The block's time, Unix ms.
    pub block_time_ms: u64,
    /// The result of the call.
    pub result: CallResult,
    /// None where too few nodes told the same, and it is too late for them to do so.
    pub logs: Option<Vec<Log>>,
    /// Record of the transaction's cost, looked up once it is known that the landing stands.
    pub record: Option<TxRecord>,
}

/// Reads a node's record of a transaction; none if the node does not say how the call went.
pub fn record(info: TxInfo) -> Option<Record> {
    let result = info.result?;
    let logs = if result == CallResult::Succeeded { info.logs } else { Vec::new() };
    Some(Record { block: info.block, block_time_ms: info.block_time_ms, result, logs })
}

/// The fate of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchFate {
    /// In no block so far.
    Absent,
    /// In a block that can still be undone.
    Included,
    /// In a block that cannot.
    Landed(Landing),
    /// In none, and in none ever: proven by this block.
    Dead(BlockPoint),
    /// The nodes disagree, or too few of them told enough.
    Unclear,
}

/// The conclusion from what the nodes say together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TronConclusion {
    /// The fate of the batch.
    pub fate: BatchFate,
    /// The nodes that contradict the fate: places in the list of testimonies.
    pub liars: Vec<usize>,
    /// The nodes that contradict one another, where nothing follows: places in the list of testimonies.
    pub disputed: Vec<usize>,
}

/// Concludes what became of the batch that `attempts` were signed for, the newest last.
pub fn conclude(attempts: &[B256], said: &[TronTestimony], ground: Ground) -> TronConclusion {
    let told: Vec<LandingTold> =
        said.iter().map(|node| node.told(attempts, ground.solid)).collect();
    if let Some(landing) = landed(&told, said, attempts, ground) {
        let liars = places(&told, |told| told.contradicts(&landing));
        return TronConclusion { fate: BatchFate::Landed(landing), liars, disputed: vec![] };
    }
    let tellers = places(&told, |told| !matches!(told, LandingTold::Nothing));
    if let Some(TxFate::Dead(place)) = ground.scan {
        // A node that tells of a landing, or of nothing at all, does not bear the death out.
        if said.iter().filter(|node| node.denies(attempts)).count() >= ground.needed {
            return TronConclusion {
                fate: BatchFate::Dead(place),
                liars: tellers,
                disputed: vec![],
            };
        }
        return TronConclusion { fate: BatchFate::Unclear, liars: vec![], disputed: tellers };
    }
    let disputed = if quarrel(&told) { tellers } else { vec![] };
    TronConclusion { fate: pending(&told, said, ground.needed), liars: vec![], disputed }
}

/// Returns the record of a transaction for people that as many nodes tell as have to agree; the words are the first
/// node's.
pub fn agreed_record(id: B256, said: &[TronTestimony], needed: usize) -> Option<TxRecord> {
    let told: Vec<&TxRecord> = said.iter().filter_map(|node| node.told.get(&id)).collect();
    let facts = |record: &TxRecord| (record.ending, record.used, record.fee);
    let agreed =
        |one: &&&TxRecord| told.iter().filter(|other| facts(other) == facts(one)).count() >= needed;
    told.iter().find(agreed).map(|record| (*record).clone())
}

/// The landing that as many nodes as have to agree tell of.
fn landed(
    told: &[LandingTold],
    said: &[TronTestimony],
    attempts: &[B256],
    ground: Ground,
) -> Option<Landing> {
    let landings: Vec<&Landing> = told.iter().filter_map(LandingTold::landing).collect();
    let count = |same: &dyn Fn(&Landing) -> bool| {
        landings.iter().filter(|other| same(other)).count() >= ground.needed
    };
    if let Some(agreed) = landings.iter().find(|one| count(&|other| other == **one)) {
        return Some((*agreed).clone());
    }
    let late = |block: u64| ground.solid >= block.saturating_add(LOGS_WITHIN);
    let alike = landings.iter().find(|one| count(&|other| other.is_but_for_logs(one)));
    if let Some(alike) = alike.filter(|one| late(one.block)) {
        return Some(Landing { logs: None, ..(*alike).clone() });
    }
    let Some(TxFate::Landed(place)) = ground.scan else { return None };
    let (id, block) = (*attempts.last()?, place.number);
    let word = |node: &TronTestimony| match node.records.get(&id) {
        Some(Some(record)) if record.block == block => Some(record.result),
        Some(Some(_)) => None,
        Some(None) | None => node.result,
    };
    let words: Vec<CallResult> = said.iter().filter_map(word).collect();
    let agreed =
        |one: &&CallResult| words.iter().filter(|other| other == one).count() >= ground.needed;
    let result = *words.iter().find(agreed).filter(|_| late(block))?;
    let opposed = words.iter().filter(|other| **other != result).count() >= ground.needed;
    let block_time_ms = place.time_ms;
    let landing = Landing { id, block, block_time_ms, result, logs: None, record: None };
    (!opposed).then_some(landing)
}

/// Returns the fate that a look may tell of a batch that is not decided. No such fate frees a claim.
fn pending(told: &[LandingTold], said: &[TronTestimony], needed: usize) -> BatchFate {
    let in_a_block = |(told, node): &(&LandingTold, &TronTestimony)| {
        matches!(node.shown, Shown::In(_)) || !matches!(told, LandingTold::Nothing)
    };
    if told.iter().zip(said).filter(in_a_block).count() >= needed {
        return BatchFate::Included;
    }
    if said.iter().any(|node| node.shown == Shown::No) {
        BatchFate::Absent
    } else {
        BatchFate::Unclear
    }
}

/// The final landing that one node tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LandingTold {
    Landing(Landing),
    /// Two transactions, although the second was signed only when the first was dead.
    TwoTales,
    Nothing,
}

impl LandingTold {
    fn landing(&self) -> Option<&Landing> {
        match self {
            Self::Landing(landing) => Some(landing),
            Self::TwoTales | Self::Nothing => None,
        }
    }

    fn contradicts(&self, agreed: &Landing) -> bool {
        match self {
            Self::Landing(other) if agreed.logs.is_none() => !other.is_but_for_logs(agreed),
            Self::Landing(other) => other != agreed,
            Self::TwoTales => true,
            Self::Nothing => false,
        }
    }
}

impl Landing {
    fn is_but_for_logs(&self, other: &Self) -> bool {
        let bare = |one: &Self| (one.id, one.block, one.block_time_ms, one.result);
        bare(self) == bare(other)
    }
}

impl TronTestimony {
    /// Returns true if the node says of every attempt that none of its irrevocable blocks holds it.
    fn denies(&self, attempts: &[B256]) -> bool {
        attempts.iter().all(|id| self.records.get(id) == Some(&None))
    }

    fn told(&self, attempts: &[B256], solid: u64) -> LandingTold {
        let mut landings = attempts.iter().filter_map(|id| {
            let Record { block, block_time_ms, result, logs } = self.records.get(id)?.clone()?;
            let (id, logs) = (*id, Some(logs));
            let landing = Landing { id, block, block_time_ms, result, logs, record: None };
            // The block that is irrevocable for enough providers lags behind the node's answer.
            (block <= solid).then_some(landing)
        });
        match (landings.next(), landings.next()) {
            (None, _) => LandingTold::Nothing,
            (Some(landing), None) => LandingTold::Landing(landing),
            (Some(_), Some(_)) => LandingTold::TwoTales,
        }
    }
}

fn quarrel(told: &[LandingTold]) -> bool {
    let mut landings = told.iter().filter(|told| !matches!(told, LandingTold::Nothing));
    landings.next().is_some_and(|first| landings.any(|other| other != first))
}

fn places(told: &[LandingTold], which: impl Fn(&LandingTold) -> bool) -> Vec<usize> {
    told.iter().enumerate().filter(|(_, told)| which(told)).map(|(at, _)| at).collect()
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
