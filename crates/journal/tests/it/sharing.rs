//! Many at once: one wins each charge, and those that wait together share a commit.

use super::*;
use std::sync::atomic::Ordering;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

fn figures(book: &Book) -> (u64, u64) {
    let figures = book.journal.figures();
    (figures.commits.load(Ordering::Relaxed), figures.writes.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_ten_that_race_for_one_charge_exactly_one_wins() {
    let book = Book::new().await;
    for period in 1..=10_u64 {
        let (start, mut racers) = (Arc::new(Barrier::new(10)), JoinSet::new());
        for racer in 0..10_u8 {
            let (journal, start) = (book.journal.clone(), Arc::clone(&start));
            // Some come with another amount, some by the subscription, some by the user.
            let mut item = item(1, period);
            match racer % 3 {
                0 => item.amount = U256::from(racer),
                1 => item.subscribe = SubscribeId(100),
                _ => {}
            }
            racers.spawn(async move {
                start.wait().await;
                let proposal = proposal(&[item]).at(FIRST + period - 1);
                journal.accept(proposal).await.map_err(|e| e.to_string())
            });
        }
        let won = racers.join_all().await.into_iter().filter_map(Result::ok).collect::<Vec<_>>();
        assert_eq!(won.len(), 1, "period {period}");
        assert_eq!(won[0].position, FIRST + period - 1);
    }
    assert_eq!(book.next_position().await, FIRST + 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_customers_at_once_get_ten_places_without_a_gap() {
    let book = Book::new().await;
    let mut customers = JoinSet::new();
    for who in 0..10 {
        let journal = book.journal.clone();
        customers.spawn(async move {
            loop {
                match take(&journal, proposal(&[item(who, 1)])).await {
                    Err(AcceptError::Moved) => {}
                    ended => return ended,
                }
            }
        });
    }
    let mut places: Vec<u64> =
        customers.join_all().await.into_iter().map(|slot| slot.unwrap().position).collect();
    places.sort_unstable();
    assert_eq!(places, (FIRST..FIRST + 10).collect::<Vec<_>>());
}

#[tokio::test]
async fn batches_that_wait_together_share_one_commit() {
    let book = Book::new().await;
    let (commits, writes) = figures(&book);
    let all = (0..64_u8).map(|who| proposal(&[item(who, 1)]).at(FIRST + u64::from(who)));
    let slots = book.accept_together(all).await;
    assert!(slots.iter().all(Result::is_ok));
    let (commits, writes) = (figures(&book).0 - commits, figures(&book).1 - writes);
    assert_eq!(writes, 64);
    assert!(commits <= 2, "{commits} commits");
}

#[tokio::test]
async fn within_one_commit_one_charge_has_one_winner_and_losers_leave_no_gap() {
    let book = Book::new().await;
    let place = |n: u8| FIRST + u64::from(n.min(3));
    let wanted = (0..30).map(|n| proposal(&[item(n, 1), item(n % 3 + 100, 1)]).at(place(n)));
    let slots = book.accept_together(wanted).await;
    let places: Vec<u64> = slots.iter().flatten().map(|slot| slot.position).collect();
    assert_eq!(places, [FIRST, FIRST + 1, FIRST + 2]);
    assert_eq!(book.next_position().await, FIRST + 3);
    for n in 3..30 {
        assert!(book.claims(item(n, 1)).await.is_empty(), "{n} lost and holds nothing");
    }
    let audit = book.journal.read(|conn| audit(conn)).await.unwrap();
    assert_eq!((audit.batches, audit.faults), (3, vec![]));
}

#[tokio::test]
async fn a_write_that_fails_alone_does_not_cost_the_others_their_commit() {
    let book = Book::new().await;
    let twice = proposal(&[item(2, 1), item(1, 1)]).at(FIRST + 1);
    let all = [proposal(&[item(1, 1)]), twice, proposal(&[item(3, 1)]).at(FIRST + 1)];
    let [a, b, c]: [_; 3] = book.accept_together(all).await.try_into().unwrap();
    assert_eq!((a.unwrap().position, c.unwrap().position), (FIRST, FIRST + 1));
    assert!(matches!(b, Err(AcceptError::Claimed)));
    assert!(book.takes(item(2, 1)).await);
}

#[tokio::test]
async fn of_two_that_were_signed_for_one_place_one_gets_it_and_the_other_is_not_there() {
    let book = Book::new().await;
    let all =
        [proposal(&[item(1, 1)]), proposal(&[item(2, 1)]), proposal(&[item(3, 1)]).at(FIRST + 2)];
    let [a, b, c]: [_; 3] = book.accept_together(all).await.try_into().unwrap();
    assert_eq!(a.unwrap().position, FIRST);
    assert!(matches!(b, Err(AcceptError::Moved)));
    assert!(matches!(c, Err(AcceptError::Moved)), "it would leave a gap");
    assert_eq!(book.next_position().await, FIRST + 1);
    assert!(book.claims(item(2, 1)).await.is_empty());
}

#[tokio::test]
async fn when_the_disk_is_full_in_the_middle_the_answers_are_what_is_on_disk() {
    let book = Book::in_a_file().await;
    let limit = |pages: i64| {
        let limit = format!("PRAGMA max_page_count = {pages}");
        move |conn: &dyn Database| run(conn, &limit)
    };
    let used = |conn: &dyn Database| conn.query_row("PRAGMA page_count", [], |row| row.get(0));
    let used: i64 = book.journal.read(used).await.unwrap();
    book.journal.read(limit(used + 2)).await.unwrap();
    let mut too_big = proposal(&[item(2, 1)]).at(FIRST + 1);
    too_big.sealed.parts().signed.raw = vec![7; 1 << 20];
    let all = [proposal(&[item(1, 1)]), too_big, proposal(&[item(3, 1)]).at(FIRST + 1)];
    let [a, b, c]: [_; 3] = book.accept_together(all).await.try_into().unwrap();
    assert!(matches!(b, Err(AcceptError::Journal(_))), "{b:?}");
    book.journal.read(limit(i64::from(u32::MAX - 1))).await.unwrap();
    let book = book.restart();
    let mut accepted = 0;
    for (answer, who) in [(a, 1), (b, 2), (c, 3)] {
        assert_eq!(book.claims(item(who, 1)).await.len(), usize::from(answer.is_ok()), "{who}");
        accepted += u64::from(answer.is_ok());
    }
    assert_eq!(book.next_position().await, FIRST + accepted);
    assert!(book.takes(item(2, 1)).await, "with room again, it is charged");
    let audit = book.journal.read(|conn| audit(conn)).await.unwrap();
    assert_eq!(audit.faults, Vec::<String>::new());
}

#[tokio::test]
async fn when_the_database_ends_a_commit_by_itself_nobody_is_told_of_a_charge() {
    let book = Book::new().await;
    let before = book.everything().await;
    let end_it = |conn: &dyn Database| run(conn, "ROLLBACK");
    let release = book.hold_up().await;
    let (first, ended, last, ()) = tokio::join!(
        biased;
        book.journal.accept(proposal(&[item(1, 1)])),
        book.journal.write(end_it),
        book.journal.accept(proposal(&[item(2, 1)]).at(FIRST + 1)),
        async { drop(release) }
    );
    for answer in [first, last] {
        assert!(matches!(answer, Err(AcceptError::Journal(JournalError::Lost))), "{answer:?}");
    }
    assert!(matches!(ended, Err(JournalError::Lost)));
    assert_eq!(book.everything().await, before);
    assert!(book.takes(item(1, 1)).await && book.takes(item(2, 1)).await, "asked again, it works");
}
