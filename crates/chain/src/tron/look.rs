//! The look for the transactions of undecided batches: every node that counts is asked for its testimony, and the
//! conclusion from all testimonies is drawn elsewhere.

use super::TronChain;
use super::case::{Case, case};
use super::conclude::{
    BatchFate, Ground, LOGS_WITHIN, Landing, Shown, TronConclusion, TronTestimony, conclude,
    record, told_alike,
};
use super::head::TronHead;
use super::tracks::InclusionSeen;
use super::tx_record::tx_record;
use ::node::{AskError, NodeId};
use alloy::primitives::B256;
use billing::{
    Attempt, AttemptKind, BlockRef, Execution, FeeStanding, ItemOutcome, Landed, Sighting, Slot,
    Unsettled,
};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use tracing::{debug, warn};
use tron_node::{BlockPoint, CallResult, ExpiringTx, Side, Support, TronBlock, TxFate, TxScan};
use tron_primitives::block::{ProvenBlock, ProvenTransaction};

/// Number of batches that are asked about at once.
const AT_ONCE: usize = 8;

/// Highest number of blocks read in one look. The next look reads on.
const BLOCKS_AT_MOST: usize = 240;

/// The testimonies of one look, by node.
type Testimonies = Vec<(NodeId, TronTestimony)>;

impl TronChain {
    /// Looks for every slot, in order.
    pub(super) async fn sightings<A>(&self, slots: &[&Slot<A>]) -> Vec<Sighting>
    where
        A: AsRef<Attempt> + Sync,
    {
        let Ok(head) = self.current().await else {
            return slots.iter().map(|_| Sighting::Nothing).collect();
        };
        if !slots.is_empty() {
            self.finality.load_witnesses(head.heights()).await;
        }
        let newest = slots.iter().map(|slot| slot.attempts.newest().as_ref().signed.hash);
        self.tracks.keep(&newest.collect());
        self.keep_spends(slots);
        self.base.disputes.keep(slots.iter().map(|slot| slot.position));
        let cases: Vec<Option<Case>> = slots.iter().map(|slot| case(slot, &head)).collect();
        let asked: Vec<_> =
            cases.iter().map(|case| self.testimonies(case.as_ref(), &head)).collect();
        let said: Vec<Testimonies> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        self.note_solid_due(&cases, &said);
        let mut budget = BLOCKS_AT_MOST;
        let mut sightings = Vec::with_capacity(slots.len());
        for ((slot, case), said) in slots.iter().zip(&cases).zip(said) {
            sightings.push(match case {
                Some(case) => {
                    let fate = self.fate(case, said, &head, &mut budget).await;
                    let included = matches!(fate, BatchFate::Included | BatchFate::Landed(_));
                    let block = self.tracks.seen(case.tx.id, &head).filter(|_| included);
                    self.note_spend(slot, block);
                    self.note_end(slot, self.sighting(slot, fate, case.late))
                }
                None => Sighting::Nothing,
            });
        }
        sightings
    }

    /// Concludes the fate of a batch from the nodes' words and, if they decide nothing and the batch's time is
    /// over, from the proof of the irrevocable blocks.
    async fn fate(
        &self,
        case: &Case,
        mut said: Testimonies,
        head: &TronHead,
        budget: &mut usize,
    ) -> BatchFate {
        let (fate, disputing) = self.concluded(case, &said, head, None);
        if !case.expired || matches!(fate, BatchFate::Landed(_)) {
            self.dispute(case.position, &disputing);
            return self.borne_out(case, fate, &said, (head, budget)).await;
        }
        let scan = self.scanned(case.tx, head, budget).await;
        if let Some(TxFate::Landed(place)) = scan {
            self.ask_late(case, place, head, &mut said).await;
        }
        let (fate, disputing) = self.concluded(case, &said, head, scan);
        self.dispute(case.position, &disputing);
        self.borne_out(case, fate, &said, (head, budget)).await
    }

    /// Returns the part of a fate that is left once its block has to prove it. Only a block that enough witnesses
    /// stand on ends a batch, and the block's word decides how the call went.
    async fn borne_out(
        &self,
        case: &Case,
        fate: BatchFate,
        said: &Testimonies,
        (head, budget): (&TronHead, &mut usize),
    ) -> BatchFate {
        let (number, read) = match &fate {
            BatchFate::Landed(landing) => (landing.block, None),
            BatchFate::Dead(place) => (place.number, Some(place.id)),
            BatchFate::Absent | BatchFate::Included | BatchFate::Unclear => return fate,
        };
        let block = self.solid.get(number, number, budget).await;
        let support = match &block {
            // Blocks that lead to one block prove nothing about another of the same number.
            Some(block) if read.is_some_and(|read| read != block.header().id()) => Support::Refuted,
            Some(block) => self.finality.support(number, block.header().id(), head.heights()).await,
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
                self.told_by_the_block(landing, &block, said)
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

    /// Returns a landing as its block has it. If nodes told otherwise, they lied, and nothing is concluded.
    fn told_by_the_block(
        &self,
        landing: Landing,
        block: &ProvenBlock,
        said: &Testimonies,
    ) -> BatchFate {
        let ending = block.transaction(landing.id).map(ProvenTransaction::ending);
        if ending.and_then(CallResult::of_ending) == Some(landing.result) {
            let block_time_ms = block.header().time_ms();
            let told: Vec<TronTestimony> = said.iter().map(|(_, said)| said.clone()).collect();
            let record = told_alike(landing.id, &told, self.parts.fleet.needed());
            return BatchFate::Landed(Landing { block_time_ms, record, ..landing });
        }
        warn!(tx.hash = %landing.id, block = landing.block, ?ending, "the block says otherwise than the record of the transaction");
        let tells = |testimony: &TronTestimony| {
            matches!(testimony.records.get(&landing.id), Some(Some(_)))
                || testimony.result.is_some()
        };
        for (node, _) in said.iter().filter(|(_, testimony)| tells(testimony)) {
            let lie = "about a transaction, whose block proves otherwise";
            self.parts.fleet.caught_lying(*node, lie);
        }
        BatchFate::Unclear
    }

    /// Remembers who tells otherwise than another.
    fn dispute(&self, position: u64, disputing: &[NodeId]) {
        let fleet = &self.parts.fleet;
        if disputing.is_empty() {
            return self.base.disputes.ended(position);
        }
        for id in disputing {
            fleet.dissented(*id, "about what became of a transaction in an irrevocable block");
        }
        let nodes: Vec<String> = disputing.iter().map(|id| fleet.label(*id).to_owned()).collect();
        self.base.disputes.goes_on(&self.account.facts.name, position, &nodes);
    }

    /// Concludes, and remembers who lied; tells who contradict one another as well.
    fn concluded(
        &self,
        case: &Case,
        said: &Testimonies,
        head: &TronHead,
        scan: Option<TxFate>,
    ) -> (BatchFate, Vec<NodeId>) {
        let fleet = &self.parts.fleet;
        let ground = Ground { solid: head.solid.number, needed: fleet.needed(), scan };
        let testimonies: Vec<TronTestimony> = said.iter().map(|(_, said)| said.clone()).collect();
        let TronConclusion { fate, liars, disputed } =
            conclude(&case.attempts, &testimonies, ground);
        let who = |places: Vec<usize>| {
            places.into_iter().filter_map(|at| said.get(at)).map(|(id, _)| *id)
        };
        for id in who(liars) {
            fleet.caught_lying(id, "about what became of a transaction in an irrevocable block");
        }
        (fate, who(disputed).collect())
    }

    /// Collects the testimony of every node that counts about a batch.
    async fn testimonies(&self, case: Option<&Case>, head: &TronHead) -> Testimonies {
        let Some(case) = case else { return Vec::new() };
        let mut said: Testimonies =
            self.parts.fleet.fit().into_iter().map(|id| (id, TronTestimony::default())).collect();
        if case.expired {
            self.ask_records(&case.attempts, &mut said).await;
            return said;
        }
        let newest = [case.tx.id];
        let block = match self.tracks.seen(case.tx.id, head) {
            Some(block) => {
                for (_, testimony) in &mut said {
                    testimony.shown = Shown::In(block);
                }
                Some(block)
            }
            None => self.ask_heads(case.tx.id, head, &mut said).await,
        };
        if block.is_some_and(|block| block <= head.solid.number) {
            self.ask_records(&newest, &mut said).await;
            let holds = |(_, testimony): &(NodeId, TronTestimony)| {
                testimony.records.values().any(Option::is_some)
            };
            if !said.iter().any(holds) {
                // Other blocks than those that were told of have become irrevocable, or they lag.
                self.tracks.set_seen(case.tx.id, None);
                for (_, testimony) in &mut said {
                    testimony.shown = Shown::Untold;
                }
            }
        }
        said
    }

    /// Asks every node's head for a transaction that can still land; tells the lowest block that any
    /// shows it in.
    async fn ask_heads(&self, id: B256, head: &TronHead, said: &mut Testimonies) -> Option<u64> {
        let asked = said.iter_mut().map(async |(node, testimony)| {
            let info = self.api_of(*node).info(Side::Full, id).await;
            testimony.shown = match info.map_err(untold(id)) {
                Ok(Some(info)) => Shown::In(info.block),
                Ok(None) => Shown::No,
                Err(()) => Shown::Untold,
            };
        });
        join_all(asked).await;
        let blocks: Vec<u64> = said
            .iter()
            .filter_map(|(_, testimony)| match testimony.shown {
                Shown::In(block) => Some(block),
                Shown::No | Shown::Untold => None,
            })
            .collect();
        let (first, enough) =
            (blocks.iter().min().copied(), blocks.len() >= self.parts.fleet.needed());
        let last = blocks.into_iter().max().filter(|_| enough);
        let seen = last.map(|block| InclusionSeen { block, head: head.newest.number });
        self.tracks.set_seen(id, seen);
        first
    }

    /// Asks every node for its irrevocable records of these transactions.
    async fn ask_records(&self, ids: &[B256], said: &mut Testimonies) {
        let asked = said.iter_mut().map(async |(node, testimony)| {
            for id in ids {
                let info = self.api_of(*node).info(Side::Solidity, *id).await;
                let told = match info.map_err(untold(*id)) {
                    Ok(None) => Some(None),
                    Ok(Some(info)) => {
                        testimony.told.extend(tx_record(&info).map(|told| (*id, told)));
                        record(info).map(Some)
                    }
                    Err(()) => None,
                };
                testimony.records.extend(told.map(|told| (*id, told)));
            }
        });
        join_all(asked).await;
    }

    /// The newest attempt is in this irrevocable block, but too few nodes have told what it did. Their
    /// full sides may have, which are other servers, perhaps; in the end its result alone decides,
    /// and what became of the single items stays unproven.
    async fn ask_late(
        &self,
        case: &Case,
        place: BlockPoint,
        head: &TronHead,
        said: &mut Testimonies,
    ) {
        let (id, late) =
            (case.tx.id, head.solid.number >= place.number.saturating_add(LOGS_WITHIN));
        let asked = said.iter_mut().map(async |(node, testimony)| {
            if testimony.records.get(&id).is_some_and(Option::is_some) {
                return;
            }
            let api = self.api_of(*node);
            let info = api.info(Side::Full, id).await.map_err(untold(id)).ok().flatten();
            let told = info.as_ref().and_then(tx_record);
            testimony.told.extend(told.map(|told| (id, told)));
            let record = info.and_then(record).filter(|record| record.block == place.number);
            testimony.records.extend(record.map(|record| (id, Some(record))));
            if late {
                let result = api.call_result(Side::Solidity, id).await.map_err(untold(id));
                testimony.result = result.ok().flatten();
            }
        });
        join_all(asked).await;
    }

    /// Reads the irrevocable blocks that decide about a transaction.
    async fn scanned(&self, tx: ExpiringTx, head: &TronHead, budget: &mut usize) -> Option<TxFate> {
        let mut scan = self.tracks.scan(tx);
        let solid = head.solid.number;
        while let Some(number) = scan.next(solid) {
            let Some(block) = self.solid.get(number, solid, budget).await else { break };
            if let Err(misfit) = scan.read(&TronBlock::from(&*block)) {
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

    /// Returns the sighting that a fate means for a slot; `late` is true if the newest block is past the slot's
    /// time.
    fn sighting<A: AsRef<Attempt>>(&self, slot: &Slot<A>, fate: BatchFate, late: bool) -> Sighting {
        match fate {
            BatchFate::Absent if late => Sighting::Absent(FeeStanding::Late),
            BatchFate::Absent => Sighting::Absent(FeeStanding::Fair),
            BatchFate::Included => Sighting::Included,
            BatchFate::Landed(landing) => self.ended(slot, landing),
            BatchFate::Dead(place) => Sighting::Never(block(place.number, place.time_ms)),
            BatchFate::Unclear if late => Sighting::Unsettled(Unsettled::Late),
            BatchFate::Unclear => Sighting::Nothing,
        }
    }

    fn ended<A: AsRef<Attempt>>(&self, slot: &Slot<A>, landing: Landing) -> Sighting {
        let Landing { id, block: number, block_time_ms, result, logs, record } = landing;
        let landed = Landed { hash: id, block: block(number, block_time_ms), record };
        let mut attempts = slot.attempts.iter().map(AsRef::as_ref);
        let bills =
            attempts.any(|one: &Attempt| one.signed.hash == id && one.kind == AttemptKind::Bill);
        let execution = match (result, logs) {
            (CallResult::Failed, _) => Execution::Reverted,
            (CallResult::Succeeded, _) if !bills => Execution::Succeeded(Vec::new()),
            (CallResult::Succeeded, Some(logs)) => {
                Execution::Succeeded(self.account.profiles.outcomes(slot, &logs))
            }
            (CallResult::Succeeded, None) => {
                warn!(tx.hash = %id, block = number, "too few nodes keep logs: nobody can tell which items were charged");
                Execution::Succeeded(slot.items.iter().map(|_| ItemOutcome::Unproven).collect())
            }
        };
        Sighting::Final(landed, execution)
    }
}

fn block(number: u64, time_ms: u64) -> BlockRef {
    BlockRef { number, time: seconds(time_ms) }
}

fn untold(id: B256) -> impl FnOnce(AskError) {
    move |error| debug!(tx.hash = %id, %error, "no answer")
}

pub(super) fn seconds(ms: u64) -> u64 {
    ms.div_euclid(1000)
}
