//! How often the server is waited for.

use super::*;
use std::sync::atomic::Ordering;

/// How many round trips the journal has made since it was opened, those of reads after its last write apart.
fn trips(book: &Book) -> u64 {
    book.journal.figures().trips.load(Ordering::Relaxed)
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_batch_takes_two_round_trips_and_its_commit_however_many_charges_it_has() {
    let book = Book::new().await;
    let charges = |period| -> Vec<Item> { (0..100).map(|who| item(who, period)).collect() };
    let named = |position, period, count: usize| {
        let count = charges(period).into_iter().take(count).collect::<Vec<_>>();
        let request = Some(request(&format!("{position}"), 1));
        let counts = vec![fee(1, None), self::count(Unit::Token(SIGNER), vec![0], 500, None)];
        Proposal { request, counts, ..proposal(&count).at(FIRST + position) }
    };
    let look = async |period| {
        let scope = ClaimScope { chain: CHAIN, contract: CONTRACT, chain_time: 0 };
        let subjects = charges(period).into_iter().map(subject).collect();
        book.journal.claims(scope, subjects).await.unwrap()
    };
    // What is asked the first time is read and planned by the server.
    look(1).await;
    book.journal.accept(named(0, 1, 1)).await.unwrap();
    for (position, count) in [(1, 1), (2, 100)] {
        let before = trips(&book);
        book.journal.accept(named(position, position + 1, count)).await.unwrap();
        assert_eq!(trips(&book) - before, 3, "{count} charges");
    }
    let before = trips(&book);
    assert!(look(3).await.iter().all(|claims| claims.len() == 1));
    assert!(book.journal.accept(named(3, 3, 100)).await.is_err(), "claimed already");
    assert_eq!(trips(&book) - before, 2 + 3, "of a lookup, and of what is not taken");

    // Together they share a commit, and each has its savepoint.
    let before = trips(&book);
    let all = (3..11).map(|position| named(position, position + 10, 100));
    let told = book.accept_together(all).await;
    assert!(told.iter().all(Result::is_ok));
    assert!(trips(&book) - before <= 8 * 2 + 2 + 3, "{}", trips(&book) - before);
}
