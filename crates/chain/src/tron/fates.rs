//! The fate of one batch: concluded from the nodes' testimonies and from irrevocable blocks, and believed only if the
//! witnesses have confirmed the block that decides.

use super::access::Access;
use super::case::Case;
use super::head::TronHead;
use super::testimony::{Testimonies, TestimonyReader};
use super::tracks::Tracks;
use crate::disputes::Disputes;
use ::node::NodeId;
use std::sync::Arc;
use tracing::warn;
use tron_node::{
    CallResult, ExpiringTx, Finality, SolidBlock, SolidBlocks, Support, TxFate, TxScan,
};
use tron_primitives::result::Ending;
use tron_testimony::conclude::{
    BatchFate, Ground, Landing, TronConclusion, TronTestimony, agreed_record, conclude,
};

/// A fate, and the nodes that contradict one another about it.
struct Concluded {
    fate: BatchFate,
    disputing: Vec<NodeId>,
}

/// Finds the fates of batches.
#[derive(Debug)]
pub(super) struct Fates {
    access: Access,
    pub(super) testimonies: TestimonyReader,
    pub(super) finality: Arc<Finality>,
    pub(super) solid: SolidBlocks,
    pub(super) tracks: Arc<Tracks>,
    pub(super) disputes: Arc<Disputes>,
}

impl Fates {
    /// No batch was looked for yet.
    pub(super) fn of(
        access: Access,
        finality: Arc<Finality>,
        solid: SolidBlocks,
        disputes: Arc<Disputes>,
    ) -> Self {
        let tracks = Arc::new(Tracks::default());
        let testimonies = TestimonyReader { access: access.clone(), tracks: Arc::clone(&tracks) };
        Self { access, testimonies, finality, solid, tracks, disputes }
    }

    /// Concludes the fate of a batch from the nodes' words and, if they decide nothing and the batch's time is
    /// over, from the proof of the irrevocable blocks.
    pub(super) async fn fate(
        &self,
        case: &Case,
        mut all: Testimonies,
        head: &TronHead,
        budget: &mut usize,
    ) -> BatchFate {
        let Concluded { fate, disputing } = self.concluded(case, &all, head, None);
        if !case.expired || matches!(fate, BatchFate::Landed(_)) {
            self.dispute(case.position, &disputing);
            return self.confirmed(case, fate, &all, head, budget).await;
        }
        let scan = self.scanned(case.tx, head, budget).await;
        if let Some(TxFate::Landed(place)) = scan {
            self.testimonies.ask_late(case.tx.id, place, head, &mut all).await;
        }
        let Concluded { fate, disputing } = self.concluded(case, &all, head, scan);
        self.dispute(case.position, &disputing);
        self.confirmed(case, fate, &all, head, budget).await
    }

    /// Returns the part of a fate that is left once its block has to prove it. Only a block that enough witnesses
    /// have built on ends a batch, and the block's word decides how the call went.
    async fn confirmed(
        &self,
        case: &Case,
        fate: BatchFate,
        all: &Testimonies,
        head: &TronHead,
        budget: &mut usize,
    ) -> BatchFate {
        let (number, read) = match &fate {
            BatchFate::Landed(landing) => (landing.block, None),
            BatchFate::Dead(place) => (place.number, Some(place.id)),
            BatchFate::Absent | BatchFate::Included | BatchFate::Unclear => return fate,
        };
        let block = self.solid.get(number, number, budget).await;
        let support = match &block {
            // Blocks that lead to one block prove nothing about another of the same number.
            Some(solid) if read.is_some_and(|read| read != solid.block.id) => Support::Refuted,
            Some(solid) => self.finality.support(number, solid.block.id, head.heights()).await,
            None => Support::NotYet,
        };
        let support = match (read, support, self.tracks.scan(case.tx).rests_on()) {
            (Some(_), Support::Confirmed, Some(below)) => {
                self.finality.support(below.number, below.id, head.heights()).await
            }
            (_, support, _) => support,
        };
        match (fate, block, support) {
            (BatchFate::Landed(landing), Some(block), Support::Confirmed) => {
                self.told_by_the_block(landing, &block, all)
            }
            (fate, Some(_), Support::Confirmed) => fate,
            (_, _, Support::Refuted) => {
                self.solid.forget();
                self.tracks.set_scan(case.tx.id, TxScan::new(case.tx));
                BatchFate::Unclear
            }
            (BatchFate::Landed(_), _, _) => BatchFate::Included,
            (_, _, _) => BatchFate::Unclear,
        }
    }

    /// Returns a landing as its block has it. If nodes told otherwise than a proven block, they lied. Nothing is
    /// concluded then, nor where the block does not say how the call went.
    fn told_by_the_block(
        &self,
        landing: Landing,
        solid: &SolidBlock,
        all: &Testimonies,
    ) -> BatchFate {
        let ending = solid.ending(landing.id);
        if ending.and_then(CallResult::of_ending) == Some(landing.result) {
            let block_time_ms = solid.block.time_ms;
            let told: Vec<TronTestimony> = all.iter().map(|(_, told)| told.clone()).collect();
            let record = agreed_record(landing.id, &told, self.access.fleet.needed());
            return BatchFate::Landed(Landing { block_time_ms, record, ..landing });
        }
        if ending == Some(Ending::Untold) {
            warn!(tx.hash = %landing.id, block = landing.block, "the block does not say how the transaction went: nothing is concluded");
            return BatchFate::Unclear;
        }
        warn!(tx.hash = %landing.id, block = landing.block, ?ending, "the block says otherwise than the record of the transaction");
        let tells = |testimony: &TronTestimony| {
            matches!(testimony.records.get(&landing.id), Some(Some(_)))
                || testimony.result.is_some()
        };
        for (node, _) in all.iter().filter(|(_, testimony)| tells(testimony)) {
            let lie = "about a transaction, whose block proves otherwise";
            self.access.fleet.caught_lying(*node, lie);
        }
        BatchFate::Unclear
    }

    /// Remembers the nodes that contradict one another.
    fn dispute(&self, position: u64, disputing: &[NodeId]) {
        let fleet = &self.access.fleet;
        if disputing.is_empty() {
            return self.disputes.ended(position);
        }
        for id in disputing {
            fleet.dissented(*id, "about what became of a transaction in an irrevocable block");
        }
        let nodes: Vec<String> = disputing.iter().map(|id| fleet.label(*id).to_owned()).collect();
        self.disputes.goes_on(self.access.chain(), position, &nodes);
    }

    /// Concludes, and remembers the nodes that lied.
    fn concluded(
        &self,
        case: &Case,
        all: &Testimonies,
        head: &TronHead,
        scan: Option<TxFate>,
    ) -> Concluded {
        let fleet = &self.access.fleet;
        let ground = Ground { solid: head.solid.number, needed: fleet.needed(), scan };
        let testimonies: Vec<TronTestimony> = all.iter().map(|(_, told)| told.clone()).collect();
        let TronConclusion { fate, liars, disputed } =
            conclude(&case.attempts, &testimonies, ground);
        let nodes =
            |places: Vec<usize>| places.into_iter().filter_map(|at| all.get(at)).map(|(id, _)| *id);
        for id in nodes(liars) {
            fleet.caught_lying(id, "about what became of a transaction in an irrevocable block");
        }
        Concluded { fate, disputing: nodes(disputed).collect() }
    }

    /// Reads the irrevocable blocks that decide about a transaction.
    async fn scanned(&self, tx: ExpiringTx, head: &TronHead, budget: &mut usize) -> Option<TxFate> {
        let mut scan = self.tracks.scan(tx);
        let up_to = head.solid.number;
        while let Some(number) = scan.next(up_to) {
            let Some(solid) = self.solid.get(number, up_to, budget).await else { break };
            if let Err(misfit) = scan.read(&solid.block) {
                warn!(tx.hash = %tx.id, block = number, %misfit, "this irrevocable block does not fit; beginning anew");
                self.solid.forget();
                scan = TxScan::new(tx);
                break;
            }
        }
        let fate = scan.fate();
        self.tracks.set_scan(tx.id, scan);
        fate
    }
}
