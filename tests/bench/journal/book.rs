//! A journal of one lane, whose batches are accepted and charged as the Signer's are.

use super::Sample;
use alloy::primitives::{Address, B256, U256, keccak256};
use billing::{
    AskedBy, Attempt, BlockRef, CallEnding, CallerKey, CallerLabel, ChargeKey, ChargeTerms,
    Denomination, Family, InBlocks, Item, ItemOutcome, Landed, NamedRequest, Period, PeriodNaming,
    PlanId, PlatformChainId, RequestId, Signed, Slot, Subject, SubscribeId, TxRecord, UserHash,
    Verdict,
};
use config::JournalConfig;
use futures_util::future::join_all;
use journal::{
    Binding, ClaimScope, Durable, Journal, LaneId, LaneState, Network, Origin, Proposal, Sealed,
    Settlement,
};
use policy::{Count, Unit};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Each is charged once in every period.
pub(super) const SUBSCRIPTIONS: u64 = 100_000;

/// When the first batch was accepted, Unix ms: the first minute of 2026. A million charges take a month.
pub(super) const START_MS: i64 = 1_767_225_600_000;
pub(super) const PER_DAY_MS: i64 = 86_400_000;
const PER_BATCH_MS: i64 = 26_000;

/// Of each charge, in base units.
pub(super) const AMOUNT: U256 = U256::from_limbs([10_000_000, 0, 0, 0]);

/// Number of charges in a batch that is there before anything is measured.
const USUAL: u64 = 10;

/// Number of those batches that wait for one commit together.
const TOGETHER: u64 = 64;

const LANE: LaneId = LaneId { chain: PlatformChainId(139), signer: Address::repeat_byte(0x51) };
const CONTRACT: Address = Address::repeat_byte(0xC0);
const TOKEN: Address = Address::repeat_byte(0x70);

type Batch = Slot<Durable<Attempt>>;

pub(super) struct Book {
    journal: Journal,
    /// The next position, which tells what is charged next, too.
    position: u64,
    charges: u64,
}

impl Book {
    pub(super) fn config(path: &Path) -> JournalConfig {
        JournalConfig {
            path: path.to_owned(),
            mark_path: None,
            backups: None,
            min_free_bytes: 1 << 28,
            queue_length: 1024,
            keep_refusals: Some(Duration::from_hours(24 * 90)),
        }
    }

    pub(super) fn journal(&self) -> Journal {
        self.journal.clone()
    }

    /// Commits of 100 charges, one after the other, until something is done, and so many at least.
    pub(super) async fn commits(&mut self, done: &AtomicBool, least: u64) -> Sample {
        let mut sample = Sample::default();
        let mut count = 0;
        while count < least || !done.load(Ordering::Relaxed) {
            let batch = sample.time(self.accept(100)).await;
            self.settle(&batch).await;
            count += 1;
        }
        sample
    }

    /// Takes the journal up as a start of the Signer does.
    pub(super) async fn open(path: &Path) -> Self {
        Self::take_up(Journal::open(&Self::config(path)).unwrap()).await
    }

    /// The same of one that is open.
    pub(super) async fn take_up(journal: Journal) -> Self {
        let network = Network { family: Family::Evm, id: 31337 };
        let naming = PeriodNaming::Field("period".to_owned());
        let binding = Binding { chain: LANE.chain, network, contract: CONTRACT, naming };
        journal.bind(binding, journal.now_ms()).await.unwrap();
        journal.known_lanes().await.unwrap();
        let LaneState { open, .. } = journal.lane(LANE).take_up().await.unwrap();
        journal.lane(LANE).known_until().await.unwrap();
        journal.lane(LANE).past(journal.now_ms() - 86_400_000).await.unwrap();
        let position = journal.lane(LANE).open(0, journal.now_ms()).await.unwrap();
        let newest = position.checked_sub(1).map(hash_of);
        let charges = match newest {
            Some(hash) => {
                let billing = journal.billing_by_hash(hash).await.unwrap().unwrap();
                let last = billing.items.last().unwrap().item;
                let Period::Numbered(period) = last.key.period else { panic!("a period") };
                period.to::<u64>() * SUBSCRIPTIONS + last.subscribe.0.unsigned_abs() + 1
            }
            None => 0,
        };
        let book = Self { journal, position, charges };
        for batch in open {
            book.settle(&batch).await;
        }
        book
    }

    pub(super) async fn close(self) {
        self.journal.close().await;
    }

    /// Fills it; tells how many claims it has.
    pub(super) async fn grow_to(&mut self, claims: u64) -> u64 {
        while self.charges + USUAL * TOGETHER <= claims {
            let proposals: Vec<_> = (0..TOGETHER).map(|_| self.next(USUAL)).collect();
            let accepted = proposals.into_iter().map(|proposal| self.journal.accept(proposal));
            let batches: Vec<_> =
                join_all(accepted).await.into_iter().map(Result::unwrap).collect();
            join_all(batches.iter().map(|batch| self.settle(batch))).await;
        }
        self.charges
    }

    /// The next batch, of so many charges.
    fn next(&mut self, size: u64) -> Proposal {
        let numbers = self.charges..self.charges + size;
        let items: Vec<_> = numbers.map(item).collect();
        let count = |unit, items, amount| Count {
            unit,
            items,
            amount,
            most: None,
            rule: String::new(),
            units: Denomination::Token { name: String::new(), decimals: None },
        };
        let places = (0..items.len()).collect();
        let counts = vec![
            count(Unit::Token(TOKEN), places, U256::from(size) * AMOUNT),
            count(Unit::Fee, vec![], U256::from(2_000_000_000_000_000_u64)),
        ];
        let (position, raw) = (self.position, vec![0xA5; 450 + items.len() * 96]);
        let signed = Signed { hash: hash_of(position), raw, gas_required: 500_000 };
        self.position += 1;
        self.charges += size;
        Proposal {
            origin: Origin { lane: LANE, contract: CONTRACT },
            profile: "the profile that all of them were signed by".into(),
            request: Some(named(position)),
            earlier: vec![],
            caller: Some(asked_by()),
            in_blocks: InBlocks::Below(position),
            window: TOGETHER,
            counts,
            chain_time: 1_700_000_000,
            at_ms: START_MS + i64::try_from(position).unwrap() * PER_BATCH_MS,
            sealed: Sealed::new(position, &items, signed),
        }
    }

    /// Has so many batches of so many charges accepted, each posted at once.
    pub(super) async fn accept_together(&mut self, batches: u64, size: u64) {
        let proposals: Vec<_> = (0..batches).map(|_| self.next(size)).collect();
        let accepted = proposals.into_iter().map(|proposal| self.journal.accept(proposal));
        join_all(accepted).await.into_iter().for_each(|batch| drop(batch.unwrap()));
    }

    pub(super) async fn accept(&mut self, size: u64) -> Batch {
        let proposal = self.next(size);
        self.journal.accept(proposal).await.unwrap()
    }

    /// All of it was charged.
    pub(super) async fn settle(&self, batch: &Batch) {
        let block = BlockRef {
            number: batch.position,
            time: 1_767_225_612 + batch.position * 26,
            hash: None,
        };
        let fee = U256::from(1_000_000_000_000_000_u64);
        let record = TxRecord { ending: CallEnding::Success, message: None, used: 480_000, fee };
        let hash = batch.attempts.newest().get().signed.hash;
        let landed = Landed { hash, block, record: Some(record) };
        let outcomes = vec![ItemOutcome::Charged; batch.items.len()];
        let verdict = Verdict::Charged(landed, outcomes);
        let end = Settlement { batch: batch.batch, verdict, guard_s: 86_400 };
        self.journal.settle(vec![end], self.journal.now_ms()).await.unwrap();
    }

    /// Returns the number of these subscriptions that have a live claim: every second is asked for in a period to
    /// come.
    pub(super) async fn look_up(&self, first: u64, count: u64) -> usize {
        let scope = ClaimScope { chain: LANE.chain, contract: CONTRACT, chain_time: 1_700_000_000 };
        let past = (self.charges / SUBSCRIPTIONS / 2) * SUBSCRIPTIONS;
        let subjects = (0..count).map(|n| {
            let ahead = if n % 2 == 0 { 0 } else { SUBSCRIPTIONS * 1_000_000 };
            let Item { subscribe, key, .. } = item(past + ahead + (first + n * 37) % SUBSCRIPTIONS);
            Subject { subscribe, plan: key.plan, user: key.user, period: Some(key.period) }
        });
        let found = self.journal.claims(scope, subjects.collect()).await.unwrap();
        found.iter().filter(|claims| !claims.is_empty()).count()
    }
}

/// Returns the user of a subscription, and the wallet that it is paid from.
pub(super) fn customer(subscription: u64) -> (UserHash, Address) {
    let user = keccak256(subscription.to_be_bytes());
    (UserHash(user), Address::from_slice(&user[..20]))
}

/// The `n`th charge of all.
fn item(n: u64) -> Item {
    let (period, subscription) = (n / SUBSCRIPTIONS, n % SUBSCRIPTIONS);
    let (user, wallet) = customer(subscription);
    Item {
        subscribe: SubscribeId(i64::try_from(subscription).unwrap()),
        key: ChargeKey { plan: PlanId(3), user, period: Period::Numbered(U256::from(period)) },
        amount: AMOUNT,
        terms: ChargeTerms {
            plan_version: Some(U256::ONE),
            wallet: Some(wallet),
            token: Some(TOKEN),
        },
    }
}

/// A merchant's scheduler names every request. Its label is not its key.
fn named(position: u64) -> NamedRequest {
    let id = RequestId::parse(&format!("run-{position}")).unwrap();
    NamedRequest { id, caller: Some(asked_by().key), digest: hash_of(position) }
}

fn asked_by() -> AskedBy {
    let (key, label) = ("merchant-key".to_owned(), "scheduler".to_owned());
    AskedBy { key: CallerKey(key), label: CallerLabel(label) }
}

fn hash_of(position: u64) -> B256 {
    keccak256(position.to_le_bytes())
}
