//! A paused chain signs nothing new, also what was on its way, also after a restart.

use super::*;

async fn pause(book: &Book, chain: PlatformChainId, by: &str) {
    set(book, Switch::Pause(vec![chain]), by).await;
}

async fn resume(book: &Book, chain: PlatformChainId, by: &str) {
    set(book, Switch::Resume([(chain, NOW_MS)].into()), by).await;
}

async fn set(book: &Book, switch: Switch, by: &str) {
    let now = Pause { by: by.to_owned(), since_ms: NOW_MS, why: None };
    book.journal.pauses().set(switch, now).await.unwrap();
}

#[tokio::test]
async fn a_pause_is_ended_by_its_own_name_and_all_that_are_named_or_none() {
    let book = Book::new().await;
    let other = PlatformChainId(13);
    pause(&book, CHAIN, "x").await;
    pause(&book, other, "x").await;
    let before = book.everything().await;
    let resume = async |pauses: &[(PlatformChainId, i64)]| {
        let now = Pause { by: "y".to_owned(), since_ms: NOW_MS + 5, why: None };
        let switch = Switch::Resume(pauses.iter().copied().collect());
        book.journal.pauses().set(switch, now).await
    };
    for earlier in [NOW_MS - 1, NOW_MS + 1] {
        let refused = resume(&[(CHAIN, NOW_MS), (other, earlier)]).await;
        assert_eq!(refused, Err(NotWritten::Refused(OtherPause(other))));
    }
    let unknown = PlatformChainId(7);
    let refused = resume(&[(unknown, NOW_MS)]).await;
    assert_eq!(refused, Err(NotWritten::Refused(OtherPause(unknown))));
    assert_eq!(book.everything().await, before, "nothing was written");
    assert_eq!(resume(&[(CHAIN, NOW_MS), (other, NOW_MS)]).await, Ok(()));
    assert_eq!((book.journal.pauses().of(CHAIN), book.journal.pauses().of(other)), (None, None));
    let refused = resume(&[(CHAIN, NOW_MS)]).await;
    assert_eq!(refused, Err(NotWritten::Refused(OtherPause(CHAIN))), "it is over");
}

#[tokio::test]
async fn a_paused_chain_takes_nothing_new_until_it_is_resumed() {
    let book = Book::new().await;
    let open = book.accept(&[item(1, 1)]).await.unwrap();
    pause(&book, CHAIN, "the operator").await;
    let before = book.everything().await;
    let refused = book.accept(&[item(2, 1)]).await.unwrap_err();
    assert!(matches!(&refused, AcceptError::Policy(r) if r.rule == "pause"), "{refused:?}");
    assert!(
        refused.to_string().contains("by the operator since 2026-01-01T00:00:00Z"),
        "{refused}"
    );
    assert_eq!(book.everything().await, before);

    let book = book.restart();
    assert_eq!(book.journal.pauses().of(CHAIN).unwrap().by, "the operator");
    assert!(book.accept(&[item(2, 1)]).await.is_err(), "a restart changes nothing");
    pause(&book, CHAIN, "somebody else").await;
    assert_eq!(
        book.journal.pauses().of(CHAIN).unwrap().by,
        "the operator",
        "it was paused already"
    );
    book.settle(end(&open, BatchState::Charged, vec![ItemOutcome::Charged])).await;

    resume(&book, CHAIN, "the operator").await;
    assert_eq!(book.journal.pauses().of(CHAIN), None);
    book.accept(&[item(2, 1)]).await.unwrap();
    let audit = book.journal.read(|conn| audit(conn)).await.unwrap();
    assert_eq!(audit.faults, Vec::<String>::new());
    let told = "SELECT string_agg(event, ',' ORDER BY seq) FROM history WHERE event IN ('paused', 'resumed')";
    let told = move |conn: &dyn Database| conn.query_row(told, [], |row| row.get::<String>(0));
    assert_eq!(book.journal.read(told).await.unwrap(), "paused,resumed");
}

#[tokio::test]
async fn another_chain_goes_on() {
    let book = Book::new().await;
    pause(&book, PlatformChainId(1390), "x").await;
    pause(&book, PlatformChainId(13), "x y").await;
    book.accept(&[item(1, 1)]).await.unwrap();
    assert_eq!(book.journal.pauses().of(PlatformChainId(13)).unwrap().by, "x y");
}

#[tokio::test]
async fn what_waits_behind_a_pause_is_not_signed() {
    let book = Book::new().await;
    let release = book.hold_up().await;
    let items = [item(1, 1)];
    let together = async {
        tokio::join!(biased; pause(&book, CHAIN, "x"), book.accept(&items), async {
            drop(release);
        })
    };
    let ((), refused, ()) = together.await;
    assert!(matches!(refused, Err(AcceptError::Policy(_))), "{refused:?}");
}
