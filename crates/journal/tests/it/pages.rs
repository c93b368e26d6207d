//! The pages of SQLite's log that a commit and an end write, and the size of a claim. These are counts, which no
//! machine moves: a table, an index or a column that is added shows here.

#![expect(clippy::arithmetic_side_effects, reason = "the numbers are small, and none is zero")]

use super::*;

/// Bytes that a page takes in the log: its own, and the header of its frame.
const FRAME: u64 = 4096 + 24;

/// The customers, each with one subscription; every period charges each of them once.
const CUSTOMERS: u64 = 5_000;

/// Batches whose pages are counted.
const COUNTED: u64 = 40;

/// A batch of one size, and the most that it may cost on average.
struct Bound {
    charges: u64,
    /// Hundredths of a page of the log that a commit writes.
    commit: u64,
    /// Hundredths of a page of the log that an end writes.
    end: u64,
    /// Bytes of the file for each claim.
    claim: u64,
}

#[tokio::test]
async fn a_commit_and_an_end_of_one_charge_write_few_pages() {
    Bound { charges: 1, commit: 1_345, end: 350, claim: 2_450 }.holds().await;
}

#[tokio::test]
async fn a_commit_and_an_end_of_a_hundred_charges_write_few_pages() {
    Bound { charges: 100, commit: 6_650, end: 1_020, claim: 575 }.holds().await;
}

/// Bytes that look random, and are the same in every run.
fn bytes(seed: u64, salt: u8) -> B256 {
    alloy::primitives::keccak256([&seed.to_be_bytes()[..], &[salt]].concat())
}

/// The charge of the `number`th claim. Customers come in another order in each period.
fn charge(number: u64) -> Item {
    let (period, turn) = (number / CUSTOMERS, number % CUSTOMERS);
    // By a prime that does not divide the number of customers, so that each comes once.
    let who = (turn * 2_741 + period * 977) % CUSTOMERS;
    let key = ChargeKey {
        plan: PlanId(7),
        user: UserHash(bytes(who, 1)),
        period: numbered(202_600 + period),
    };
    let terms = ChargeTerms {
        plan_version: Some(U256::from(1)),
        wallet: Some(Address::from_word(bytes(who, 2))),
        token: Some(Address::repeat_byte(0x0A)),
    };
    let subscribe = SubscribeId(1_000_000 + who.cast_signed());
    Item { subscribe, key, amount: U256::from(10_000_000), terms }
}

/// Every charge of a batch has succeeded.
fn end_of(slot: &Slot<Durable<Attempt>>) -> Settlement {
    let outcomes = vec![ItemOutcome::Charged; slot.items.len()];
    let mut end = end(slot, BatchState::Charged, outcomes);
    if let Verdict::Charged(landed, _) = &mut end.verdict {
        let (ending, fee) = (CallEnding::Success, U256::from(2_000_000_000_u64));
        landed.record = Some(TxRecord { ending, message: None, used: 80_000, fee });
    }
    end
}

impl Bound {
    /// The `number`th batch.
    fn batch(&self, number: u64) -> Proposal {
        let first = number * self.charges;
        let items: Vec<Item> = (first..first + self.charges).map(charge).collect();
        let mut request = request(&format!("{:x}", Address::from_word(bytes(number, 3))), 1);
        request.digest = bytes(number, 4);
        let token = Unit::Token(Address::repeat_byte(0x0A));
        let (amount, places) = (10_000_000 * self.charges, (0..items.len()).collect());
        let position = FIRST + number;
        // About as many bytes as the call of the reference contract.
        let raw = bytes(number, 5).repeat(8 + 7 * items.len());
        let signed = Signed { hash: bytes(number, 6), raw, gas_required: 90_000 };
        Proposal {
            request: Some(request),
            caller: Some(asked_by()),
            counts: vec![count(token, places, amount, None), fee(1_000_000, None)],
            in_blocks: InBlocks::Below(position),
            at_ms: NOW_MS + number.cast_signed(),
            sealed: Sealed::new(position, &items, signed),
            ..proposal(&items)
        }
    }

    /// Fills a period of claims, none of which is in the log any more, and counts the first batches of the next.
    async fn holds(self) {
        let book = Book::in_a_file().await;
        let filled = CUSTOMERS / self.charges;
        for group in (0..filled).collect::<Vec<_>>().chunks(50) {
            let slots = book.accept_together(group.iter().map(|number| self.batch(*number))).await;
            let ends = slots.into_iter().map(|slot| end_of(&slot.unwrap())).collect();
            book.journal.settle(ends, NOW_MS).await.unwrap();
        }
        let Book { journal, room } = book;
        journal.close().await;
        drop(journal);
        let size = std::fs::metadata(config(&room).path).unwrap().len();
        let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
        let log = beside(&config(&book.room).path, "-wal");
        let written = || std::fs::metadata(&log).map_or(0, |log| log.len()) / FRAME;
        let (mut commits, mut ends) = (0, 0);
        for number in filled..=filled + COUNTED {
            let before = written();
            let slot = book.journal.accept(self.batch(number)).await.unwrap();
            let between = written();
            book.settle(end_of(&slot)).await;
            // The first one begins the log.
            if number > filled {
                commits += between - before;
                ends += written() - between;
            }
        }
        let found = [100 * commits / COUNTED, 100 * ends / COUNTED, size / CUSTOMERS];
        let most = [self.commit, self.end, self.claim];
        let over = found.into_iter().zip(most).any(|(found, most)| found > most);
        assert!(!over, "hundredths of a page and bytes a claim: {found:?}, at most {most:?}");
    }
}
