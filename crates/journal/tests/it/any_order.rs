//! Whatever comes in whatever order: one live claim for each charge, as a model has it.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// How many customers and periods take part: few, so that they meet.
const CUSTOMERS: u8 = 4;
const PERIODS: u64 = 2;

type Who = (u8, u64);

#[derive(Clone, Debug)]
enum Move {
    /// Batches that are posted at the same time.
    Post(Vec<BTreeSet<Who>>),
    /// A transaction that nobody here signed has charged these.
    Learn(BTreeSet<Who>),
    /// The end of the n-th batch, counted from the last; which of its items failed is in the bits.
    End(usize, BatchState, u8),
    /// The process is restarted.
    Restart,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let batch = prop::collection::btree_set((0..CUSTOMERS, 1..=PERIODS), 1..4);
    let state = prop::sample::select(vec![
        BatchState::Charged,
        BatchState::Reverted,
        BatchState::Cancelled,
    ]);
    let one = prop_oneof![
        6 => prop::collection::vec(batch.clone(), 1..6).prop_map(Move::Post),
        2 => batch.prop_map(Move::Learn),
        4 => (0..6_usize, state, any::<u8>()).prop_map(|(n, state, bits)| Move::End(n, state, bits)),
        1 => Just(Move::Restart),
    ];
    prop::collection::vec(one, 1..12)
}

/// What the journal should know: every accepted batch, and who holds each charge.
#[derive(Default)]
struct Model {
    batches: Vec<Accepted>,
    held: BTreeMap<Who, BatchId>,
    /// Who was charged by what was learnt while another batch held the charge.
    waiting: BTreeMap<Who, Vec<BatchId>>,
    /// How many places of the lane are taken.
    taken: usize,
}

struct Accepted {
    slot: Slot<Durable<Attempt>>,
    charges: Vec<Who>,
    open: bool,
}

fn place(batch: usize) -> u64 {
    FIRST.saturating_add(u64::try_from(batch).unwrap())
}

impl Model {
    fn posted(&mut self, wanted: &BTreeSet<Who>, got: Result<Slot<Durable<Attempt>>, AcceptError>) {
        let free = !wanted.iter().any(|who| self.held.contains_key(who));
        assert_eq!(got.is_ok(), free, "{wanted:?} while {:?} is held", self.held);
        let Ok(slot) = got else { return };
        assert_eq!(slot.position, place(self.taken));
        self.taken = self.taken.saturating_add(1);
        self.held.extend(wanted.iter().map(|who| (*who, slot.batch)));
        self.batches.push(Accepted { slot, charges: wanted.iter().copied().collect(), open: true });
    }

    /// What was learnt became this batch.
    fn learnt(&mut self, charged: &BTreeSet<Who>, batch: BatchId) {
        self.taken = self.taken.saturating_add(1);
        for who in charged {
            if self.held.contains_key(who) {
                self.waiting.entry(*who).or_default().push(batch);
            } else {
                self.held.insert(*who, batch);
            }
        }
    }

    /// The settlement of the n-th batch from the last, if there are so many.
    fn ended(&mut self, n: usize, state: BatchState, failed: u8) -> Option<Settlement> {
        let batch = self.batches.iter_mut().rev().nth(n)?;
        let fails = |item: usize| failed & (1 << item) != 0;
        let outcome = |item| if fails(item) { short_of_allowance() } else { ItemOutcome::Charged };
        let charged = state == BatchState::Charged;
        let outcomes = (0..batch.charges.len()).filter(|_| charged).map(outcome).collect();
        for (item, who) in batch.charges.iter().enumerate() {
            if batch.open && (!charged || fails(item)) {
                let waiting = self.waiting.get_mut(who).filter(|waiting| !waiting.is_empty());
                match waiting.map(|waiting| waiting.remove(0)) {
                    Some(next) => self.held.insert(*who, next),
                    None => self.held.remove(who),
                };
            }
        }
        batch.open = false;
        Some(end(&batch.slot, state, outcomes))
    }
}

async fn carry_out(moves: Vec<Move>) {
    let (mut book, mut model) = (Book::new().await, Model::default());
    for step in moves {
        match step {
            Move::Post(batches) => {
                let items = |batch: &BTreeSet<Who>| -> Vec<Item> {
                    batch.iter().map(|(who, period)| item(*who, *period)).collect()
                };
                let one = |batch| move || proposal(&items(batch));
                let answers = book.take_together(batches.iter().map(one).collect()).await;
                for (wanted, got) in batches.iter().zip(answers) {
                    model.posted(wanted, got);
                }
            }
            Move::Learn(charged) => {
                let batch = learn(&book, &charged, place(model.taken)).await;
                model.learnt(&charged, batch);
            }
            Move::End(n, state, failed) => {
                if let Some(end) = model.ended(n, state, failed) {
                    book.settle(end).await;
                }
            }
            Move::Restart => book = book.restart(),
        }
        agree(&book, &model).await;
    }
    let audit = book.journal.read(|conn| audit(conn)).await.unwrap();
    assert_eq!(audit.faults, Vec::<String>::new());
}

/// Has the journal learn of a transaction at this position; tells the batch that this made.
async fn learn(book: &Book, charged: &BTreeSet<Who>, position: u64) -> BatchId {
    let items: Vec<Item> = charged.iter().map(|(who, period)| item(*who, *period)).collect();
    let hash = B256::from(U256::from(position.saturating_add(1_000_000)));
    let execution = Execution::Succeeded(vec![ItemOutcome::Charged; items.len()]);
    let effect = ForeignEffect::Billed { contract: CONTRACT, items, execution };
    let landed = Landed { hash, block: BLOCK, record: None };
    let learnt = vec![ForeignTx { position, landed, effect }];
    book.journal.adopt(origin(), learnt, 600, NOW_MS).await.unwrap();
    book.journal.billing_by_hash(hash).await.unwrap().unwrap().batch
}

async fn agree(book: &Book, model: &Model) {
    for who in (0..CUSTOMERS).flat_map(|who| (1..=PERIODS).map(move |period| (who, period))) {
        let found = book.claims(item(who.0, who.1)).await;
        let holders: Vec<BatchId> = found.iter().map(|claim| claim.by.batch).collect();
        let expected: Vec<BatchId> = model.held.get(&who).copied().into_iter().collect();
        assert_eq!(holders, expected, "{who:?}");
    }
    let live = "SELECT count(*) FROM claim WHERE live = 1";
    let live = move |conn: &dyn Database| conn.query_row(live, [], |row| row.get::<i64>(0));
    let live = book.journal.read(live).await.unwrap();
    assert_eq!(usize::try_from(live), Ok(model.held.len()));
    let open = book.journal.lane(lane()).take_up().await.unwrap().open;
    let open: Vec<u64> = open.iter().map(|slot| slot.position).collect();
    let expected = model.batches.iter().filter(|b| b.open).map(|b| b.slot.position);
    assert_eq!(open, expected.collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_order_of_posts_ends_and_restarts_claims_a_charge_twice(moves in moves()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(carry_out(moves));
    }
}
