//! A follower of the history hears of everything in order, and of everything again that he may have heard
//! otherwise.

use super::*;

/// What a follower hears who goes on from `place` until nothing is left, and where he stands then.
async fn rest(book: &Book, mut place: FeedPlace, limit: usize) -> (Vec<FeedEvent>, FeedPlace) {
    let mut all = Vec::new();
    loop {
        let step = Feed::of(&book.journal).step(place, limit).await.unwrap();
        assert!(step.events.len() <= limit);
        all.extend(step.events);
        place = step.reached;
        if !step.more {
            return (all, place);
        }
    }
}

async fn kinds(book: &Book) -> Vec<FeedKind> {
    rest(book, FeedPlace::default(), 500).await.0.iter().map(|event| event.kind).collect()
}

/// The book as it is after an older copy was put back: `meanwhile` is what the copy knows nothing of.
async fn put_back(book: Book, meanwhile: impl AsyncFn(&Book)) -> Book {
    let path = config(&book.room).path;
    book.journal.close().await;
    let copy = book.room.path().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    let book = book.restart();
    meanwhile(&book).await;
    book.journal.close().await;
    std::fs::copy(&copy, &path).unwrap();
    let book = book.restart();
    assert!(book.journal.found().is_old_copy());
    book
}

#[tokio::test]
async fn what_happened_is_told_once_in_order_and_in_pages_of_any_size() {
    let book = Book::new().await;
    let mut slots = Vec::new();
    for who in 1..=70 {
        slots.push(book.accept(&[item(who, 1)]).await.unwrap());
    }
    for slot in &slots {
        book.settle(end(slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    }
    let whole = rest(&book, FeedPlace::default(), 500).await;
    let told = |event: &FeedEvent| (event.kind, event.billing.as_ref().map(|b| b.batch.0));
    let expected: Vec<_> = [FeedKind::Accepted, FeedKind::Settled]
        .into_iter()
        .flat_map(|kind| (1..=70).map(move |batch| (kind, Some(batch))))
        .collect();
    assert_eq!(whole.0.iter().map(told).collect::<Vec<_>>(), expected);
    let hash = slots[0].attempts.first().get().signed.hash;
    assert_eq!((whole.0[0].transaction, whole.0[70].transaction), (Some(hash), Some(hash)));
    for limit in [1, 7, 64] {
        let paged = rest(&book, FeedPlace::default(), limit).await;
        assert_eq!(paged.0.iter().map(told).collect::<Vec<_>>(), expected, "{limit}");
        assert_eq!(paged.1, whole.1, "{limit}");
    }
    let nothing = rest(&book, whole.1, 10).await;
    assert_eq!((nothing.0.len(), nothing.1), (0, whole.1));
}

#[tokio::test]
async fn each_kind_of_row_is_told_as_what_it_is() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1), item(2, 1)]).await.unwrap();
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Unproven, short_of_allowance()]))
        .await;
    let finding = PersonsWord {
        billing: slot.batch.0.to_string(),
        subscribe: SubscribeId(1),
        resolution: Resolution::Charged,
        by: "ben".to_owned(),
        why: "seen".to_owned(),
        at_ms: NOW_MS,
    };
    book.journal.resolve(finding).await.unwrap();
    let pause = Pause { by: "ann".to_owned(), since_ms: NOW_MS, why: None };
    book.journal.pauses().set(Switch::Pause(vec![CHAIN]), pause).await.unwrap();
    for closed in [Some("too late".to_owned()), None] {
        book.journal.lane(lane()).note_gate(closed).await.unwrap();
    }
    let told = rest(&book, FeedPlace::default(), 500).await.0;
    let expected = [
        FeedKind::Accepted,
        FeedKind::Settled,
        FeedKind::Resolved,
        FeedKind::Paused,
        FeedKind::LaneClosed,
        FeedKind::LaneOpened,
    ];
    assert_eq!(told.iter().map(|event| event.kind).collect::<Vec<_>>(), expected);
    assert!(told.iter().all(|event| event.chain == Some(CHAIN)));
    let resolved = &told[2];
    assert_eq!(
        (resolved.item, resolved.resolution.as_deref(), resolved.by.as_deref()),
        (Some(0), Some("charged"), Some("ben"))
    );
    assert_eq!((told[3].by.as_deref(), told[4].why.as_deref()), (Some("ann"), Some("too late")));
    assert_eq!(told[4].signer, Some(SIGNER));
}

#[tokio::test]
async fn a_follower_goes_on_where_an_older_copy_parts_from_what_he_heard() {
    let book = Book::in_a_file().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let before = rest(&book, FeedPlace::default(), 10).await.1;
    let heard = parking_lot::Mutex::new(Vec::new());
    let book = put_back(book, async |book: &Book| {
        for who in 2..=9 {
            book.accept(&[item(who, 1)]).await.unwrap();
            let reached = rest(book, before, 100).await.1;
            heard.lock().push(reached);
        }
    })
    .await;
    let (told, _) = rest(&book, before, 10).await;
    assert_eq!(told.iter().map(|event| event.kind).collect::<Vec<_>>(), [FeedKind::Restored]);
    // Some of these places are other rows by now, and some are beyond the end.
    for who in 20..=23 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let expected = kinds(&book).await.split_off(1);
    assert_eq!((expected[0], expected.len()), (FeedKind::Restored, 5));
    for place in heard.into_inner() {
        let (told, _) = rest(&book, place, 100).await;
        assert_eq!(told.iter().map(|event| event.kind).collect::<Vec<_>>(), expected, "{place:?}");
    }
}

#[tokio::test]
async fn a_second_copy_that_is_put_back_is_told_from_where_it_parts() {
    let book = Book::in_a_file().await;
    let mut book = put_back(book, async |book: &Book| drop(book.accept(&[item(1, 1)]).await)).await;
    book.accept(&[item(2, 1)]).await.unwrap();
    let later = parking_lot::Mutex::new(FeedPlace::default());
    book = put_back(book, async |book: &Book| {
        book.accept(&[item(3, 1)]).await.unwrap();
        let reached = rest(book, FeedPlace::default(), 100).await.1;
        *later.lock() = reached;
    })
    .await;
    let place = later.into_inner();
    assert_ne!(place.restored, RowMark::default(), "the first copy was heard of");
    let (told, _) = rest(&book, place, 100).await;
    assert_eq!(told.iter().map(|event| event.kind).collect::<Vec<_>>(), [FeedKind::Restored]);
    assert_eq!(kinds(&book).await.len(), 3, "restored, accepted, restored");
}

#[tokio::test]
async fn a_follower_of_an_old_copy_hears_everything_when_the_newer_file_is_put_back() {
    let book = Book::in_a_file().await;
    let path = config(&book.room).path;
    let [backup, newer] = ["backup", "newer"].map(|name| book.room.path().join(name));
    let put = async |book: Book, kept: Option<&std::path::Path>, file: &std::path::Path| {
        book.journal.close().await;
        if let Some(kept) = kept {
            std::fs::copy(&path, kept).unwrap();
        }
        std::fs::copy(file, &path).unwrap();
        let book = book.restart();
        assert!(book.journal.found().is_old_copy());
        book
    };
    for who in 1..=3 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let before = rest(&book, FeedPlace::default(), 2).await.1;
    book.journal.close().await;
    std::fs::copy(&path, &backup).unwrap();
    let book = book.restart();
    for who in 4..=5 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let whole = rest(&book, FeedPlace::default(), 100).await.0;
    let book = put(book, Some(&newer), &backup).await;
    for who in 20..=29 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let (told, place) = rest(&book, before, 100).await;
    assert_eq!((told.len(), told[0].kind), (11, FeedKind::Restored), "he follows the old copy");
    let book = put(book, None, &newer).await;
    let (told, _) = rest(&book, place, 100).await;
    assert_eq!(heard(&told[..5]), heard(&whole));
    assert_eq!((told.len(), told[5].kind), (6, FeedKind::Restored));
}

#[tokio::test]
async fn a_place_of_another_history_is_not_gone_on_from() {
    let (book, other) = (Book::new().await, Book::new().await);
    book.accept(&[item(1, 1)]).await.unwrap();
    other.accept(&[item(2, 1)]).await.unwrap();
    let place = rest(&other, FeedPlace::default(), 10).await.1;
    assert_eq!(Feed::of(&book.journal).step(place, 10).await.err(), Some(NotTold::UnknownPlace));
    let beyond = RowMark { row: 1_000_000, ..place.heard };
    let place = FeedPlace { heard: beyond, ..place };
    assert_eq!(Feed::of(&other.journal).step(place, 10).await.err(), Some(NotTold::UnknownPlace));
}

#[tokio::test]
async fn a_chain_is_told_by_the_name_that_it_has_now() {
    let book = Book::in_a_file().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let pause = Pause { by: "ann".to_owned(), since_ms: NOW_MS, why: None };
    book.journal.pauses().set(Switch::Pause(vec![CHAIN]), pause).await.unwrap();
    let to = PlatformChainId(1_139);
    let renaming = Renaming { from: CHAIN, to, why: "moved".to_owned() };
    book.journal.rename(renaming).await.unwrap();
    let told = rest(&book, FeedPlace::default(), 10).await.0;
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|event| event.chain == Some(to)), "{told:?}");
}

/// What a follower of this file hears from `place` on.
fn told(conn: &Connection, mut place: FeedPlace) -> Vec<FeedEvent> {
    let mut all = Vec::new();
    loop {
        let step = step(reading(conn), place, 3).unwrap().unwrap();
        all.extend(step.events);
        place = step.reached;
        if !step.more {
            return all;
        }
    }
}

fn heard(events: &[FeedEvent]) -> Vec<(FeedPlace, FeedKind, i64)> {
    events.iter().map(|event| (event.place, event.kind, event.at_ms)).collect()
}

#[test]
fn a_follower_goes_on_from_every_place_after_every_later_version_is_put_in() {
    let room = copy_of(5);
    room.forge();
    let conn = Connection::open(config(&room).path).unwrap();
    let before = told(&conn, FeedPlace::default());
    assert!(before.len() > 10, "{before:?}");
    migrate(&conn, &LATER).unwrap();
    assert_eq!(heard(&told(&conn, FeedPlace::default())), heard(&before));
    for (event, rest) in before.iter().zip(1..) {
        assert_eq!(heard(&told(&conn, event.place)), heard(&before[rest..]), "{event:?}");
    }
}

#[tokio::test]
async fn a_follower_of_a_file_of_every_kept_version_goes_on_with_this_program() {
    for version in KEPT {
        let room = copy_of(version);
        let before = told(&Connection::open(config(&room).path).unwrap(), FeedPlace::default());
        let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
        book.journal.lane(lane()).take_up().await.unwrap();
        book.accept(&[item(20, 1)]).await.unwrap();
        for (event, heard_of) in before.iter().zip(1..) {
            let (after, _) = rest(&book, event.place, 3).await;
            let kinds: Vec<_> = after.iter().map(|event| event.kind).collect();
            let known = before[heard_of..].iter().map(|event| event.kind);
            let expected: Vec<_> = known.chain([FeedKind::Restored, FeedKind::Accepted]).collect();
            assert_eq!(kinds, expected, "version {version}, {:?}", event.place);
            let rows = after.iter().map(|event| event.place.heard.row);
            assert!(rows.is_sorted_by(|one, next| one < next));
        }
    }
}

#[tokio::test]
async fn a_follower_goes_on_when_a_backup_is_restored() {
    let book = Book::in_a_file().await;
    for who in 1..=3 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let (config, backup) = (config(&book.room), book.room.path().join("backup"));
    copies::back_up(&config.path, &backup, &mut |_, _| {}).unwrap();
    for who in 4..=6 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let (before, _) = rest(&book, FeedPlace::default(), 10).await;
    book.journal.close().await;
    let lost = book.room.path().join("lost");
    std::fs::rename(&config.path, &lost).unwrap();
    for beside in ["-wal", "-shm"] {
        std::fs::remove_file(format!("{}{beside}", config.path.display())).ok();
    }
    copies::restore(&config, &backup, &[], &mut |_, _| {}).unwrap();
    let book = book.restart();
    book.accept(&[item(7, 1)]).await.unwrap();
    let new = [FeedKind::Restored, FeedKind::Accepted];
    for (event, heard_of) in before.iter().zip(1..) {
        let (after, _) = rest(&book, event.place, 2).await;
        let kept = 3_usize.saturating_sub(heard_of);
        let expected: Vec<_> = std::iter::repeat_n(FeedKind::Accepted, kept).chain(new).collect();
        let kinds: Vec<_> = after.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, expected, "{heard_of} were heard");
    }
}
