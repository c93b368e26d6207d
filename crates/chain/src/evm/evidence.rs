//! Records that prove themselves: before what nodes say of a final block counts, one of them tells that block whole,
//! and it is recomputed.
//!
//! The block is named by its hash, so whoever tells it, it is the same for all: a node whose word the block
//! contradicts has lied, which takes no second opinion. A block of a form that cannot be judged convicts nobody, and
//! what is said of it counts as before, by the number of nodes that agree.

use super::access::Access;
use crate::ProofMode;
use ::node::NodeId;
use alloy::primitives::{Address, B256};
use evm_blocks::{BlockProof, NoProof, ReceiptsBy};
use evm_proofs::block::ProvenBlock;
use evm_proofs::block_id::BlockId;
use evm_proofs::header::HeaderShape;
use evm_testimony::conclude::EvmTestimony;
use evm_testimony::facts::{Fact, Statement, Subject};
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// The most blocks that are asked for at once: each may be megabytes.
const BLOCKS_AT_ONCE: usize = 2;

/// The time for which a fact is kept after it was last needed.
const KEPT: Duration = Duration::from_mins(10);

/// The most room that kept facts take, bytes: that of some three hundred batches of a hundred. A fact is needed twice
/// only where its batch does not end with the look that proved it.
const KEPT_AT_MOST: usize = 16 << 20;

/// The time for which a node is not asked again for a block that cannot be judged, or for all receipts of a block.
const JUDGE_AGAIN: Duration = Duration::from_mins(10);

/// The time for which a node is not asked again for a block that it did not tell.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// The time for which a sole provider may leave its blocks untold before its word counts without them.
const PATIENCE: Duration = Duration::from_mins(10);

/// The evidence for the words of nodes about final blocks.
#[derive(Debug)]
pub(super) struct Evidence {
    access: Access,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// The facts that were proven, and when each was last needed.
    facts: BTreeMap<Statement, (Instant, Arc<Fact>)>,
    /// The blocks that nodes proved nothing of, and when they were asked.
    unproven: BTreeMap<(NodeId, B256), (Instant, NoProof)>,
    nodes: BTreeMap<NodeId, Habits>,
    mode: ProofMode,
}

/// The habits of a node in telling blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Habits {
    /// The shape of the newest header that it proved.
    shape: Option<HeaderShape>,
    /// When it was last found to tell no receipts of whole blocks; none if it does.
    one_by_one: Option<Instant>,
    /// Since when it has told no block that was asked for; none if it told the last.
    untold: Option<Instant>,
}

/// A block of which nodes say something that decides.
#[derive(Debug, Default)]
struct Case {
    subjects: BTreeSet<Subject>,
    tellers: Vec<NodeId>,
}

/// The findings about a case.
#[derive(Debug)]
struct Judged {
    block: BlockId,
    facts: BTreeMap<Subject, Arc<Fact>>,
    /// The nodes that told a block which contradicts itself.
    liars: BTreeSet<NodeId>,
    /// The nodes whose word on the block does not count yet.
    early: BTreeSet<NodeId>,
}

impl Evidence {
    /// Nothing is proven yet.
    pub(super) fn of(access: Access) -> Self {
        Self { access, memory: Mutex::default() }
    }

    /// Returns how the last record that decided something was judged.
    pub(super) fn mode(&self) -> ProofMode {
        self.memory.lock().mode.clone()
    }

    /// Judges what nodes say of their final blocks. A node that said something false is caught, and its testimony
    /// forgotten.
    pub(super) async fn judge(&self, all: &mut [(NodeId, EvmTestimony)]) {
        let asked = cases(all).into_iter().map(|(block, case)| self.found(block, case));
        let judged: Vec<Judged> = stream::iter(asked).buffered(BLOCKS_AT_ONCE).collect().await;
        let own = self.access.signer();
        for (id, testimony) in all {
            let contradicted = judged.iter().any(|case| case.contradicts(testimony, own));
            if contradicted {
                let lie = "about a transaction in a final block: the block says otherwise";
                self.access.fleet.caught_lying(*id, lie);
            }
            if contradicted || judged.iter().any(|case| case.liars.contains(id)) {
                *testimony = EvmTestimony::default();
            }
            for statement in testimony.statements() {
                if judged.iter().any(|case| case.is_too_early(*id, statement)) {
                    testimony.take_back(statement.subject);
                }
            }
        }
    }

    /// Finds the facts of a case: those that are known, or what the first node proves that can.
    async fn found(&self, block: BlockId, case: Case) -> Judged {
        let facts = self.known(block, &case.subjects);
        let mut judged = Judged { block, facts, liars: BTreeSet::new(), early: BTreeSet::new() };
        if judged.facts.len() == case.subjects.len() {
            return judged;
        }
        let mut mode = None;
        for id in case.tellers {
            match self.proven(id, block.hash).await {
                Ok(proven) => {
                    judged.facts = self.keep(block, &proven, case.subjects);
                    judged.early.clear();
                    mode = Some(ProofMode::Proven);
                    break;
                }
                Err(NoProof::False(_)) => {
                    judged.liars.insert(id);
                }
                Err(NoProof::Untold(why)) if self.waits(id) => {
                    judged.early.insert(id);
                    mode = Some(ProofMode::Awaited(why));
                }
                Err(NoProof::Untold(why) | NoProof::Unjudged(why)) => {
                    mode = Some(ProofMode::Counted(why));
                }
            }
        }
        if let Some(mode) = mode {
            self.note(mode);
        }
        judged
    }

    /// Returns true if a node's word does not count before it tells its block: a sole provider's, for a while. One that
    /// told another block since has all of that time again.
    fn waits(&self, id: NodeId) -> bool {
        let untold = self.memory.lock().nodes.get(&id).and_then(|habits| habits.untold);
        self.access.fleet.is_alone() && untold.is_none_or(|since| since.elapsed() < PATIENCE)
    }

    /// Returns the facts that are known of a block.
    fn known(&self, block: BlockId, subjects: &BTreeSet<Subject>) -> BTreeMap<Subject, Arc<Fact>> {
        let mut memory = self.memory.lock();
        memory.facts.retain(|_, (needed, _)| needed.elapsed() < KEPT);
        memory
            .unproven
            .retain(|_, (asked, no_proof)| asked.elapsed() < asked_again_after(no_proof));
        let mut fact = |subject: &Subject| {
            let (needed, fact) = memory.facts.get_mut(&Statement { block, subject: *subject })?;
            *needed = Instant::now();
            Some((*subject, Arc::clone(fact)))
        };
        subjects.iter().filter_map(&mut fact).collect()
    }

    /// Keeps what a proven block says of these subjects.
    fn keep(
        &self,
        block: BlockId,
        proven: &ProvenBlock,
        subjects: BTreeSet<Subject>,
    ) -> BTreeMap<Subject, Arc<Fact>> {
        let now = Instant::now();
        let fact = |subject| Arc::new(Fact::of(proven, subject, self.access.signer()));
        let facts: BTreeMap<Subject, Arc<Fact>> =
            subjects.into_iter().map(|subject| (subject, fact(subject))).collect();
        let kept = facts.iter().map(|(subject, fact)| {
            (Statement { block, subject: *subject }, (now, Arc::clone(fact)))
        });
        let mut memory = self.memory.lock();
        memory.facts.extend(kept);
        forget_oldest(&mut memory.facts, |fact| fact.size(), KEPT_AT_MOST);
        facts
    }

    /// Has a node prove a block, unless it could not just now.
    async fn proven(&self, id: NodeId, hash: B256) -> Result<ProvenBlock, NoProof> {
        let habits = {
            let memory = self.memory.lock();
            if let Some((_, no_proof)) = memory.unproven.get(&(id, hash)) {
                return Err(no_proof.clone());
            }
            memory.nodes.get(&id).copied().unwrap_or_default()
        };
        let one_by_one = habits.one_by_one.filter(|since| since.elapsed() < JUDGE_AGAIN);
        let receipts_by =
            if one_by_one.is_some() { ReceiptsBy::Transaction } else { ReceiptsBy::Block };
        let rpc = self.access.fleet.only(id);
        let mut proof = BlockProof { rpc, hash, shape: habits.shape, receipts_by };
        let found = proof.find().await;
        if let Err(NoProof::False(contradiction)) = &found {
            let lie = format!("about the final block {hash}: {contradiction}");
            self.access.fleet.caught_lying(id, &lie);
        }
        let now = Instant::now();
        let mut memory = self.memory.lock();
        let of_node = memory.nodes.entry(id).or_default();
        of_node.one_by_one = match proof.receipts_by {
            ReceiptsBy::Transaction => one_by_one.or(Some(now)),
            ReceiptsBy::Block => None,
        };
        of_node.untold = match &found {
            Err(NoProof::Untold(_)) => of_node.untold.or(Some(now)),
            Ok(_) | Err(NoProof::Unjudged(_) | NoProof::False(_)) => None,
        };
        match &found {
            Ok(block) => of_node.shape = Some(block.header().shape()),
            Err(no_proof) => {
                memory.unproven.insert((id, hash), (now, no_proof.clone()));
            }
        }
        found
    }

    /// Remembers how a record was judged, and says once why none is proven.
    fn note(&self, mode: ProofMode) {
        let mut memory = self.memory.lock();
        if memory.mode == mode {
            return;
        }
        if let ProofMode::Counted(why) = &mode {
            let chain = self.access.chain();
            warn!(chain, "what nodes say of final blocks is counted and not proven: {why}");
        }
        memory.mode = mode;
    }
}

/// Forgets what was needed longest ago, until no more than `at_most` is left, bytes.
fn forget_oldest<K: Ord + Copy, V>(
    kept: &mut BTreeMap<K, (Instant, V)>,
    size: impl Fn(&V) -> usize,
    at_most: usize,
) {
    let mut held: usize = kept.values().map(|(_, one)| size(one)).sum();
    if held <= at_most {
        return;
    }
    let mut by_need: Vec<(Instant, K)> = kept.iter().map(|(key, one)| (one.0, *key)).collect();
    by_need.sort_unstable();
    for (_, key) in by_need {
        if held <= at_most {
            return;
        }
        let gone = kept.remove(&key).map_or(0, |(_, one)| size(&one));
        held = held.saturating_sub(gone);
    }
}

/// Returns the time after which a node is asked again that proved nothing.
fn asked_again_after(no_proof: &NoProof) -> Duration {
    match no_proof {
        NoProof::Untold(_) => ASK_AGAIN,
        NoProof::Unjudged(_) | NoProof::False(_) => JUDGE_AGAIN,
    }
}

impl Judged {
    /// Returns true if the block says otherwise than a node does of it.
    fn contradicts(&self, told: &EvmTestimony, account: Address) -> bool {
        told.statements().into_iter().filter(|said| said.block == self.block).any(|said| {
            let fact = self.facts.get(&said.subject);
            fact.is_some_and(|fact| !fact.bears_out(told, said.subject, account))
        })
    }

    /// Returns true if a node's statement does not count yet.
    fn is_too_early(&self, id: NodeId, Statement { block, subject }: Statement) -> bool {
        self.block == block && self.early.contains(&id) && !self.facts.contains_key(&subject)
    }
}

/// The blocks of which nodes say something that decides.
fn cases(all: &[(NodeId, EvmTestimony)]) -> BTreeMap<BlockId, Case> {
    let mut cases: BTreeMap<BlockId, Case> = BTreeMap::new();
    for (id, testimony) in all {
        for Statement { block, subject } in testimony.statements() {
            let case = cases.entry(block).or_default();
            case.subjects.insert(subject);
            if !case.tellers.contains(id) {
                case.tellers.push(*id);
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_needed_longest_ago_is_forgotten_first() {
        let began = Instant::now();
        let needed = |n: u64| (n, (began + Duration::from_secs(10 - n), n));
        let mut kept: BTreeMap<u64, (Instant, u64)> = (0..10).map(needed).collect();
        forget_oldest(&mut kept, |_| 100, 1_000);
        assert_eq!(kept.len(), 10, "there is room for all");
        forget_oldest(&mut kept, |_| 100, 399);
        assert_eq!(kept.into_keys().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
