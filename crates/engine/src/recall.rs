//! The gate of a lane, carried out: what the journal and the chain say about its account is gathered
//! until `billing::rule` rules that the lane is open or closed; what it has forgotten, or never knew,
//! is learnt on the way.

use super::lane::Lane;
use super::lane_error::LaneError;
use alloy::primitives::B256;
use billing::{
    AccountView, BlocksRead, Closed, Foreign, ForeignTx, Gate, LaneView, NonceView, OnlyFollows,
    PlaceTakers, PoolView, PoolsAsked, Rules, Ruling, first_position, rule, spell_address,
};
use chain::{MostSent, Pulse, ReadFrom, Recall};
use journal::LearntUpTo;
use std::sync::atomic::Ordering;
use tracing::warn;

/// After how many blocks it is written down how far they are read.
const WRITTEN_EVERY: u64 = 100;

/// The findings about transactions that the journal did not know.
struct Learnt {
    /// The first position that is still not known.
    next: u64,
    /// The hash of the transaction that has that position, if it is a call whose charges cannot be told.
    opaque: Option<B256>,
}

impl Lane {
    /// Brings the gate to where it belongs after a look at the chain.
    pub(super) async fn open(&self, pulse: Pulse) -> Result<(), LaneError> {
        let (nonces, told_ms) = (pulse.nonces, self.told_until_ms(pulse));
        let known = match self.journal.next_position(self.id()).await? {
            Some(next) => next,
            // Nothing is billed on the chain, so nothing can be billed twice.
            None if self.follows == Some(OnlyFollows::RetiredChain) => {
                return self.open_gate(told_ms).await;
            }
            None => match self.begin(nonces, told_ms).await? {
                Some(first) => first,
                None => return Ok(()),
            },
        };
        self.watch_for_what_was_on_its_way().await?;
        if !self.knows_the_last_use().await? || !self.knows_what_is_young().await? {
            self.close_meanwhile(Closed::UsedLater);
            return Ok(());
        }
        let mut lane = LaneView {
            signer: self.chain.facts().signer,
            gate: self.gate_to_rule(),
            next: self.next.fetch_max(known, Ordering::Relaxed).max(known),
            in_doubt: self.doubt().is_some(),
            undecided: self.to_end_first(),
            account: nonces.map_or(AccountView::Blocks(None), AccountView::Nonces),
            pools: PoolView::NotAsked,
            learnt: false,
            opaque: None,
            used_up: self.journal.used_up(self.id()).await?,
        };
        let (mut in_blocks, mut read) = (Vec::new(), None);
        loop {
            match rule(&lane) {
                Ruling::Open => return self.open_gate(told_ms).await,
                Ruling::Closed(why) => {
                    self.set_gate(Gate::Closed(why));
                    return Ok(());
                }
                Ruling::LearnPositions { from, to, meanwhile } => {
                    self.close_meanwhile(meanwhile);
                    let PlaceTakers { found, then_used_up } =
                        self.chain.strangers(from, to).await?;
                    self.take_in(&mut lane, found).await?;
                    lane.used_up = lane.used_up.or(then_used_up.then_some(lane.next));
                }
                Ruling::ReadBlocks { meanwhile } => {
                    self.close_meanwhile(meanwhile);
                    let recall = self.read_on().await?;
                    lane.account = AccountView::Blocks(Some(self.blocks_read(&recall)));
                    (in_blocks, read) = (recall.found, recall.read);
                }
                Ruling::LearnFound => {
                    let found = self.unknown(lane.next, std::mem::take(&mut in_blocks)).await?;
                    self.take_in(&mut lane, found).await?;
                    self.has_read(read.filter(|_| lane.opaque.is_none())).await?;
                }
                Ruling::AskPools(whose) => lane.pools = self.ask_pools(whose).await?,
            }
            // A request that was past the gate may have committed meanwhile.
            (lane.gate, lane.undecided) = (self.gate_to_rule(), self.to_end_first());
        }
    }

    /// Until when this look has told everything, Unix ms. A later start compares that with the times of blocks, so a
    /// clock of this machine that is ahead of the chain's does not count.
    fn told_until_ms(&self, pulse: Pulse) -> i64 {
        let head_ms = i64::try_from(pulse.head_time.saturating_mul(1000)).unwrap_or(i64::MAX);
        self.journal.now_ms().min(head_ms)
    }

    async fn read_on(&self) -> Result<Recall, LaneError> {
        let since_ms = self.doubt().unwrap_or_default();
        let read = self.journal.read_until(self.id()).await?;
        let rival_until_ms = self.young.rival_until_ms();
        Ok(self.chain.recall(ReadFrom { since_ms, read, rival_until_ms }).await?)
    }

    fn blocks_read(&self, recall: &Recall) -> BlocksRead {
        let Recall { percent, complete, rival, .. } = *recall;
        let rival = rival || self.young.has_rival();
        BlocksRead { percent, complete, rival, young: self.young.is_unknown() }
    }

    /// Everything up to this block is learnt: that is written down now and then, so that a start that comes soon
    /// goes on there.
    async fn has_read(&self, read: Option<LearntUpTo>) -> Result<(), LaneError> {
        let Some(read) = read else { return Ok(()) };
        let before = self.journal.read_until(self.id()).await?;
        let from = before.map_or(0, |before| before.number);
        if read.number >= from.saturating_add(WRITTEN_EVERY) {
            self.journal.has_read(self.id(), read, self.journal.now_ms()).await?;
        }
        Ok(())
    }

    async fn ask_pools(&self, whose: PoolsAsked) -> Result<PoolView, LaneError> {
        let MostSent { count, told_by } = match whose {
            PoolsAsked::Undenied => self.chain.undenied_sent().await?,
            PoolsAsked::Any => self.chain.most_sent().await?,
        };
        Ok(PoolView::Count(count, told_by))
    }

    /// A lane that is closed keeps its reason.
    pub(super) fn close_meanwhile(&self, why: Closed) {
        if !matches!(self.gate(), Gate::Closed(_)) {
            self.set_gate(Gate::Closed(why));
        }
    }

    async fn take_in(&self, lane: &mut LaneView, found: Vec<Foreign>) -> Result<(), LaneError> {
        let learnt = self.learn(lane.next, found).await?;
        lane.next = self.next.fetch_max(learnt.next, Ordering::Relaxed).max(learnt.next);
        (lane.learnt, lane.opaque) = (true, learnt.opaque);
        Ok(())
    }

    /// Opens a lane that the journal does not know; none when it has to wait. The journal may be a copy
    /// from before the lane, which has forgotten all that the account has done since the journal was
    /// left. So the lane begins where the account stood then: what came later is learnt.
    async fn begin(
        &self,
        nonces: Option<NonceView>,
        told_ms: i64,
    ) -> Result<Option<u64>, LaneError> {
        self.was_used_since_it_was_left().await?;
        let by_blocks = |at_ms| self.journal.by_blocks(at_ms);
        let left_ms = self.doubt().map(by_blocks).or_else(|| self.journal.left_ms());
        let left = match left_ms {
            Some(left_ms) => self.chain.sent_before(left_ms).await?,
            None => None,
        };
        let sent = match left {
            Some(left) => left,
            None => self.chain.undenied_sent().await?.count,
        };
        let first = match first_position(self.id().signer, left, sent, nonces) {
            Ok(first) => first,
            Err(why) => {
                self.set_gate(Gate::Closed(why));
                return Ok(None);
            }
        };
        if first > 0 {
            let (chain, account) = (&self.chain.facts().name, self.id().signer);
            warn!(
                chain,
                %account,
                "{first} transactions of the account were sent before this journal knew it, and it does \
                 not know whom they charged: if it has billed before, put its journal back or import its \
                 claims"
            );
        }
        Ok(Some(self.journal.open_lane(self.id(), first, told_ms).await?))
    }

    /// Those that the journal does not know, in the places from `next` on.
    async fn unknown(&self, next: u64, found: Vec<Foreign>) -> Result<Vec<Foreign>, LaneError> {
        let hashes = found.iter().map(|one| one.landed().hash).collect();
        let unknown = self.journal.unknown(hashes).await?;
        let foreign = found.into_iter().filter(|one| unknown.contains(&one.landed().hash));
        let placed = |(position, one): (u64, Foreign)| match one {
            Foreign::Readable(tx) => Foreign::Readable(ForeignTx { position, ..tx }),
            Foreign::Opaque(landed) => Foreign::Opaque(landed),
        };
        Ok((next..).zip(foreign).map(placed).collect())
    }

    /// Takes new work from now on: nothing that the lane did is unknown.
    async fn open_gate(&self, told_ms: i64) -> Result<(), LaneError> {
        if self.doubt().is_some() {
            self.journal.end_doubt(self.id(), told_ms).await?;
            *self.known.doubt.write() = None;
            self.chain.recalled().await;
        }
        self.young.forget_rival();
        let mut gate = Gate::Open;
        if let Some(why) = self.follows {
            gate = Gate::Closed(Closed::OnlyFollows { account: self.account(), why });
        } else if let Some(other) = self.unlearnt_other() {
            let other = spell_address(self.chain.facts().family, other);
            gate = Gate::Closed(Closed::OtherAccountUnreconciled { other });
        }
        if let (Gate::Open, Some(why)) = (&gate, self.chain.halt()) {
            gate = Gate::Closed(Closed::Halted(why));
        }
        self.set_gate(gate);
        Ok(())
    }

    /// Returns the gate as far as the account is concerned: a lane that begins nothing new is not shut because
    /// something is wrong.
    fn gate_to_rule(&self) -> Gate {
        let gate = self.gate();
        let following = matches!(gate, Gate::Closed(Closed::OnlyFollows { .. }));
        if following { Gate::Open } else { gate }
    }

    /// Until when the journal knows what the lane did, Unix ms; none when it knows everything.
    pub(super) fn doubt(&self) -> Option<i64> {
        *self.known.doubt.read()
    }

    /// Takes the claims of transactions that the journal does not know, up to the first that does not
    /// tell whom it charged.
    async fn learn(&self, next: u64, found: Vec<Foreign>) -> Result<Learnt, LaneError> {
        let mut readable = Vec::with_capacity(found.len());
        let mut opaque = None;
        for one in found {
            match one {
                Foreign::Readable(tx) => readable.push(tx),
                Foreign::Opaque(landed) => {
                    opaque = Some(landed.hash);
                    break;
                }
            }
        }
        let count = u64::try_from(readable.len()).unwrap_or(0);
        if count > 0 {
            warn!(chain = self.chain.facts().name, count, "learnt transactions of the account");
            let (guard, now) = (self.guard.as_secs(), self.journal.now_ms());
            self.journal.adopt(self.origin(), readable, guard, now).await?;
        }
        Ok(Learnt { next: next.saturating_add(count), opaque })
    }

    /// Returns the rules by which open batches are treated now.
    pub(super) fn rules_for_now(&self) -> Rules {
        let known = self.doubt().is_none()
            && self.compared.load(Ordering::Relaxed)
            && self.young.is_settled();
        if known { self.rules } else { self.rules.until_all_is_known() }
    }
}
