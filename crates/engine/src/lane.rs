//! One signing account on one chain, put together from parts that each own their state.

use super::chain_accounts::{Account, ChainAccounts, KnowledgeAge};
use super::counts::LaneCounts;
use super::lane_error::{LaneError, LastError};
use super::lane_name::LaneName;
use super::look_times::{Intervals, LookTimes, Work};
use super::not_ready::NotReady;
use super::open_batches::OpenBatches;
use super::past_check::PastCheck;
use super::role::Role;
use super::runway::Runway;
use super::signing_queue::SigningQueue;
use super::verdict::NoVerdict;
use billing::{Attempt, BatchId, Closed, Gate, NonceView, Rules, Slot, spell_address};
use chain::{Chain, ChainError, Delivery, HeadExtent, HeadView, Unready};
use journal::{Durable, Journal, JournalError, LaneId, LaneState, Origin};
use parking_lot::Mutex;
use policy::Refusal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{info, warn};

/// The age up to which failed batches are told to a chain, ms.
const PAST_MS: i64 = 86_400_000;

/// The time that looks at an account may fail while the accounts of its chain sign by what the last one told.
const LOOKS_MAY_FAIL: Duration = Duration::from_secs(12);

/// One signing account on one chain.
#[derive(Debug)]
pub struct Lane {
    /// The chain.
    pub chain: Arc<dyn Chain>,
    /// The journal.
    pub journal: Journal,
    /// The settings of the lane.
    pub settings: LaneSettings,
    /// The account's gate and doubt, beside the other accounts of its chain.
    pub(super) account: Account,
    /// The batches that the chain has not decided.
    pub batches: OpenBatches,
    /// The queue of those who sign for positions.
    pub(super) queue: SigningQueue,
    /// The check that the journal knows everything that the account did.
    pub(super) past: PastCheck,
    /// The account's gas money, and the limits of the day.
    pub runway: Runway,
    /// The times of looks at the chain.
    pub(super) looks: LookTimes,
    /// The error of the last look.
    pub(super) last_error: LastError,
    pub(super) counts: Mutex<LaneCounts>,
    /// Told when there may be room again.
    pub(super) looked: Notify,
}

/// The settings of a lane.
#[derive(Clone, Copy, Debug)]
pub struct LaneSettings {
    /// The part that the account plays on its chain.
    pub role: Role,
    /// The rules by which open batches are treated.
    pub rules: Rules,
    /// The time that a charge without a period stays claimed after it is final, chain time.
    pub guard: Duration,
    /// Below how many billings left the gas money runs low.
    pub gas_warn_billings: u64,
    /// True if some account of the chain takes new work: what the others do has to be known in time.
    pub chain_bills: bool,
}

impl Lane {
    /// A lane that has not seen its chain yet, beside the other accounts of the chain.
    pub fn new(
        chain: Arc<dyn Chain>,
        journal: Journal,
        settings: LaneSettings,
        accounts: &ChainAccounts,
    ) -> Self {
        let facts = chain.facts();
        let account = spell_address(facts.family, facts.signer);
        let name = LaneName { chain: facts.name.clone(), account };
        let account = Account::join(accounts, facts.signer, name.clone());
        account.set_doubt(journal.found().is_old_copy().then_some(0));
        let LaneSettings { role, gas_warn_billings, .. } = settings;
        let runway =
            Runway::new(Arc::clone(&chain), journal.clone(), name, role, gas_warn_billings);
        Self {
            chain,
            journal,
            settings,
            account,
            batches: OpenBatches::default(),
            queue: SigningQueue::default(),
            past: PastCheck::default(),
            runway,
            looks: LookTimes::default(),
            last_error: LastError::default(),
            counts: Mutex::default(),
            looked: Notify::new(),
        }
    }

    /// Returns the lane's counts since the start.
    pub fn counts(&self) -> LaneCounts {
        self.counts.lock().clone()
    }

    /// Returns the gate: open if the lane takes new work. Looks rule it, and may fail for long. So what only time brings is
    /// asked each time: nodes have told for too long that a place is used, and not by what; or no look has told for too
    /// long what another account did.
    pub fn gate(&self) -> Gate {
        let gate = self.account.gate();
        if gate != Gate::Open {
            return gate;
        }
        let facts = self.chain.facts();
        let nonces = self.head().and_then(|head| head.nonces);
        if let Some(position) = self.unnamed_taker(nonces) {
            return Gate::Closed(Closed::UnnamedTaker { signer: facts.signer, position });
        }
        self.account.unseen_other(self.too_old()).map_or(Gate::Open, |other| {
            let other = spell_address(facts.family, other);
            Gate::Closed(Closed::OtherAccountUnseen { other })
        })
    }

    /// The age at which what looks have told of an account of the chain is too old to sign by.
    pub(super) fn too_old(&self) -> KnowledgeAge {
        let too_old = self.intervals().longest_at_work().saturating_add(LOOKS_MAY_FAIL);
        KnowledgeAge { too_old, now_ms: self.journal.now_ms() }
    }

    /// Refuses to sign if looks at the lane's own account have failed for too long.
    pub(super) fn is_seen(&self) -> Result<(), NoVerdict> {
        if self.account.is_unseen(self.too_old()) {
            return Err(NoVerdict::LaneOpening(self.unopened()));
        }
        Ok(())
    }

    /// The last look at the chain.
    pub fn head(&self) -> Option<HeadView> {
        *self.chain.heads().borrow()
    }

    /// Returns the chain and the account of the lane.
    pub fn id(&self) -> LaneId {
        let facts = self.chain.facts();
        LaneId { chain: facts.id, signer: facts.signer }
    }

    /// Returns the account, as its chain spells it.
    pub fn account(&self) -> &str {
        &self.account.name.account
    }

    /// Returns the origin that the lane's batches have now.
    pub(super) fn origin(&self) -> Origin {
        Origin { lane: self.id(), contract: self.chain.facts().contract }
    }

    /// The open batches of which nodes have told different records for too long, and those nodes, by
    /// their labels.
    pub fn disputed(&self) -> Vec<(BatchId, Vec<String>)> {
        let lasting = self.chain.disputes().into_iter();
        let named =
            lasting.filter_map(|dispute| Some((self.batches.at(dispute.position)?, dispute.nodes)));
        named.collect()
    }

    /// Returns the error that keeps the chain from being followed, or anything from being signed, at present.
    pub fn error(&self) -> Option<LaneError> {
        let signs = self.settings.role.signs();
        let unready = || Some(self.chain.unready().filter(|_| signs)?.into());
        self.last_error.get().or_else(unready)
    }

    /// Returns the reason that the lane has never been open.
    pub fn unopened(&self) -> LaneError {
        self.error().unwrap_or(LaneError::Unseen)
    }

    /// Returns the reason that the lane does not do its work, with a sentence for people; none if it does. A pause is
    /// no such reason.
    pub fn not_ready(&self) -> Option<(NotReady, String)> {
        let told = |error: LaneError| (NotReady::of_error(&error), error.to_string());
        match self.gate() {
            Gate::Opening => Some(told(self.unopened())),
            Gate::Open => self.error().map(told),
            Gate::Closed(why @ Closed::OtherAccountUnseen { .. }) => {
                let of_the_other = || (NotReady::Nodes, why.to_string());
                Some(self.error().map_or_else(of_the_other, told))
            }
            Gate::Closed(why) => match NotReady::of_closed(&why) {
                Some(reason) => Some(match self.chain.unready() {
                    // Nothing is read on before that is mended.
                    Some(cause @ ChainError::Unready(Unready::Parted(_))) => told(cause.into()),
                    Some(_) | None => (reason, why.to_string()),
                }),
                None => self.error().map(told),
            },
        }
    }

    /// Returns the reason that nothing new is signed, if the chain is paused. Open batches are followed all the
    /// same.
    pub fn paused(&self) -> Option<String> {
        let policy = self.chain.policy();
        if policy.paused {
            return Some(format!("by the configuration, chains.{}.paused", policy.chain));
        }
        self.journal.pauses().of(policy.chain).map(|pause| pause.to_string())
    }

    /// Returns the same for callers without a signature: the sentence does not name who paused it.
    pub fn paused_since(&self) -> Option<String> {
        let policy = self.chain.policy();
        if policy.paused {
            return self.paused();
        }
        self.journal.pauses().of(policy.chain).map(|pause| pause.since())
    }

    /// Refuses new work while the chain is paused.
    pub(super) fn unpaused(&self) -> Result<(), Refusal> {
        let chain = self.chain.policy().chain;
        self.paused().map_or(Ok(()), |why| Err(Refusal::paused(chain, &why)))
    }

    /// Refuses new work while the store that has the key does not sign.
    pub(super) fn key_signs(&self) -> Result<(), ChainError> {
        match self.chain.unready() {
            Some(why @ ChainError::Unready(Unready::Key { .. })) => Err(why),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the rules by which open batches are treated now.
    pub(super) fn rules_for_now(&self) -> Rules {
        let rules = self.settings.role.rules(self.settings.rules);
        let known = self.account.doubt().is_none() && self.past.checks().knew_all();
        let rules = if known { rules } else { rules.until_all_is_known() };
        let others_known = !self.account.another_may_have_charged(rules.protection, self.too_old());
        if others_known { rules } else { rules.until_other_accounts_are_known() }
    }

    /// Returns the place of an open batch that a transaction may have which no node names for good; none where no nonces
    /// are counted.
    pub(super) fn unnamed_taker(&self, nonces: Option<NonceView>) -> Option<u64> {
        self.batches.unnamed_taker(nonces?.mined)
    }

    /// Returns true if there is nothing to tell of the lane: its account has nothing left to do, and has done
    /// nothing that the journal does not know.
    pub fn rests(&self) -> bool {
        self.settings.role.observes()
            && self.batches.count() == 0
            && matches!(self.gate(), Gate::Closed(Closed::OnlyFollows { .. }))
    }

    /// Returns true if the lane waits for nothing but another account.
    pub fn waits_for_another(&self) -> bool {
        matches!(self.gate(), Gate::Closed(Closed::OtherAccountUnreconciled { .. }))
    }

    /// Returns the intervals of looks at the chain.
    pub(super) fn intervals(&self) -> Intervals {
        let facts = self.chain.facts();
        let (poll, idle) = (facts.poll_interval, facts.idle_poll_interval);
        Intervals { poll, idle, spread: self.chain.wait_before_look() }
    }

    /// Returns the lane's work, as far as the time of its next look depends on it. While the chain cannot be followed,
    /// or the lane is closed, looks are as frequent as ever.
    pub(super) fn work(&self) -> Work {
        let settled = match self.gate() {
            Gate::Open | Gate::Closed(Closed::OnlyFollows { .. }) => true,
            Gate::Opening | Gate::Closed(_) => false,
        };
        let in_flight_is_over = self.past.checks().in_flight_is_over(self.past.left().left_ms);
        if !settled || !in_flight_is_over || self.last_error.get().is_some() {
            return Work::Busy;
        }
        if self.batches.count() > 0 {
            let while_young = Duration::from_millis(self.settings.rules.offer_again_ms);
            let waits = self.batches.only_wait(while_young);
            return if waits { Work::OnlyWaits } else { Work::Busy };
        }
        if self.rests() && !self.settings.chain_bills {
            Work::NothingToTell
        } else if self.account.is_alone() {
            Work::IdleAlone
        } else {
            Work::IdleBesideOthers
        }
    }

    /// Returns the extent of the next look.
    pub(super) fn extent(&self) -> HeadExtent {
        self.looks.extent(self.intervals(), self.work())
    }

    /// Follows a committed batch from now on.
    pub(super) fn follow(&self, slot: Slot<Durable<Attempt>>) -> Arc<Slot<Durable<Attempt>>> {
        self.queue.advance_to(slot.position.saturating_add(1));
        let slot = Arc::new(slot);
        self.batches.follow(&slot);
        self.looks.stir();
        slot
    }

    /// Offers the newest attempt of a batch to the chain.
    pub(super) async fn offer(&self, slot: &Slot<Durable<Attempt>>) {
        let newest = slot.attempts.newest();
        self.batches.note(slot.batch, |batch| batch.offered = Some(Instant::now()));
        let (hash, position) = (newest.get().signed.hash, slot.position);
        let chain = &self.chain.facts().name;
        let rejection = match self.chain.deliver(newest).await {
            Delivery::Accepted => {
                info!(chain, tx.hash = %hash, position, "offered to the chain");
                None
            }
            Delivery::Refused { rejection, message: said } => {
                warn!(chain, tx.hash = %hash, position, said, "not taken; it will be offered again");
                Some(rejection)
            }
            Delivery::Unknown(said) => {
                warn!(chain, tx.hash = %hash, position, said, "nobody knows whether it was taken; it will be offered again");
                None
            }
        };
        self.batches.note(slot.batch, |batch| batch.rejection = rejection);
    }

    /// Resumes every batch that an earlier process left open.
    pub async fn resume(&self) -> Result<(), JournalError> {
        self.journal.bind(self.chain.binding(), self.journal.now_ms()).await?;
        let journal = self.journal.lane(self.id());
        let LaneState { known_until_ms, left, open } = journal.take_up().await?;
        self.account.set_doubt(known_until_ms);
        self.past.begin(left);
        let since_ms = self.journal.now_ms().saturating_sub(PAST_MS);
        let past = journal.past(since_ms).await?;
        self.counts.lock().accepted_ms = past.accepted_ms;
        self.chain.restore_state(past, &open);
        for slot in open {
            self.queue.advance_to(slot.position.saturating_add(1));
            self.batches.resume(&Arc::new(slot));
        }
        self.looks.stir();
        Ok(())
    }
}
