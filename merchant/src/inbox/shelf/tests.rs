use super::*;
use crate::inbox::incoming::Incoming;
use crate::inbox::onward::Push;
use crate::inbox::outcome::{Billed, Doubt, Looked, Next};
use crate::inbox::{EventDesk, EventFilter};

fn event(key: &str, stream: &str, tx_hash: Option<&str>) -> Incoming {
    Incoming {
        key: key.to_owned(),
        stream: stream.to_owned(),
        kind: "SubscriptionBilling".to_owned(),
        body: format!(r#"{{"key":"{key}","huge":18446744073709551617}}"#),
        received_s: 1,
        tx_hash: tx_hash.map(str::to_owned),
    }
}

struct Case {
    folder: tempfile::TempDir,
    shelf: Shelf,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (shelf, _) = Shelf::open(&folder.path().join("i.db")).unwrap();
        Self { folder, shelf }
    }

    async fn keep(&self, one: Incoming) -> Kept {
        self.shelf.keep(vec![one], 0).await.unwrap().remove(0)
    }

    /// The events after the one at this position.
    async fn after(&self, position: usize) -> Vec<Row> {
        let mut rows = self.shelf.after(None, 1000).await.unwrap().unwrap();
        rows.split_off(position)
    }

    async fn fed(&self) -> Vec<i64> {
        self.after(0).await.into_iter().map(|row| row.id).collect()
    }
}

fn charged(tx_hash: &str) -> Verdict {
    Verdict::Told { billed: Billed::Charged, tx_hash: tx_hash.to_owned() }
}

fn later(next_ms: i64) -> Verdict {
    Verdict::LookAt { next_ms, doubt: Doubt::default() }
}

#[tokio::test]
async fn an_event_is_kept_once_and_every_delivery_is_counted() {
    let case = Case::new();
    assert_eq!(case.keep(event("a", "s", None)).await, Kept::New);
    assert_eq!(case.keep(event("a", "s", None)).await, Kept::Repeat);
    let other = Incoming { body: r#"{"key":"other"}"#.to_owned(), ..event("a", "s", None) };
    assert_eq!(case.keep(other).await, Kept::Conflict);
    let rows = case.after(0).await;
    assert_eq!((rows.len(), rows[0].deliveries, rows[0].conflicts), (1, 3, 1));
    let told = serde_json::to_string(&rows[0]).unwrap();
    assert!(told.contains(r#""payload":{"key":"a","huge":18446744073709551617}"#), "{told}");
}

#[tokio::test]
async fn what_the_chain_has_not_decided_is_not_told_and_holds_its_stream() {
    let case = Case::new();
    case.keep(event("register", "order/1", None)).await;
    case.keep(event("billing", "order/1", Some("0xA"))).await;
    case.keep(event("cancel", "order/1", None)).await;
    case.keep(event("other", "order/2", None)).await;
    assert_eq!(case.fed().await, [1, 4]);
    let unchecked = case.shelf.unchecked(0).await.unwrap();
    assert_eq!(unchecked.iter().map(|one| one.id).collect::<Vec<_>>(), [2]);
    let look = |verdict| case.shelf.looked(vec![(unchecked[0].clone(), verdict)]);
    look(later(1000)).await.unwrap();
    assert!(case.shelf.unchecked(999).await.unwrap().is_empty());
    look(charged("0xA")).await.unwrap();
    assert_eq!(case.fed().await, [1, 4, 2, 3], "places are given in the order of being told");
    let rows = case.after(2).await;
    let told = serde_json::to_value(&rows[0]).unwrap();
    assert_eq!(told["outcome"]["state"], "charged");
}

#[tokio::test]
async fn one_stream_goes_in_order_and_others_go_on() {
    let case = Case::new();
    for (key, stream) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        case.keep(event(key, stream, None)).await;
    }
    let first = case.shelf.parcels(0, 10).await.unwrap();
    assert_eq!(first.iter().map(|parcel| parcel.row.id).collect::<Vec<_>>(), [1, 3]);
    case.shelf.pushed(&first[0], Push::Dead, "500".to_owned(), 0).await.unwrap();
    case.shelf.pushed(&first[1], Push::Again(1000), "500".to_owned(), 0).await.unwrap();
    assert!(case.shelf.parcels(0, 10).await.unwrap().is_empty(), "a dead event holds its stream");
    let later = case.shelf.parcels(1000, 10).await.unwrap();
    assert_eq!((later[0].row.id, later[0].tries), (3, 1));
    case.shelf.pushed(&later[0], Push::Delivered, "200".to_owned(), 0).await.unwrap();
    // A person looks, and has it sent again.
    let path = case.folder.path().join("i.db");
    assert!(EventDesk::open(&path).unwrap().replay(1).unwrap());
    let replayed = case.shelf.parcels(1000, 10).await.unwrap();
    assert!(replayed[0].row.id == 1 && replayed[0].row.is_replay);
    case.shelf.pushed(&replayed[0], Push::Delivered, "200".to_owned(), 0).await.unwrap();
    let next = case.shelf.parcels(1000, 10).await.unwrap();
    assert_eq!(next.iter().map(|parcel| parcel.row.id).collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn people_see_the_newest_events_first_of_all_and_page_both_ways() {
    let case = Case::new();
    for n in 1..=5 {
        case.keep(event(&format!("e{n}"), "s", None)).await;
    }
    let desk = EventDesk::open(&case.folder.path().join("i.db")).unwrap();
    let seen = |after, before| -> Vec<i64> {
        let filter = EventFilter { after, before, limit: 2, dead: false };
        desk.list(filter).unwrap().iter().map(|line| line.id).collect()
    };
    assert_eq!(seen(None, None), [4, 5]);
    assert_eq!(seen(None, Some(4)), [2, 3]);
    assert_eq!(seen(Some(0), None), [1, 2]);
    assert_eq!(seen(Some(2), None), [3, 4]);
    assert_eq!(seen(Some(1), Some(3)), [2]);
}

#[tokio::test]
async fn many_at_once_share_commits_and_none_is_lost() {
    let case = Case::new();
    let keeps = (0..500).map(|n| {
        let shelf = case.shelf.clone();
        async move { shelf.keep(vec![event(&n.to_string(), "s", None)], 0).await.unwrap() }
    });
    let kept = futures_util::future::join_all(keeps).await;
    assert!(kept.iter().all(|kept| *kept == [Kept::New]));
    assert_eq!(case.after(0).await.len(), 500);
    case.shelf.beyond(499).await.unwrap();
}

impl Case {
    /// Where a reader is who has read everything.
    async fn end(&self) -> Place {
        let last = self.after(0).await.pop().unwrap();
        Place { position: last.position.unwrap(), digest: last.place.unwrap() }
    }

    /// What a reader at this place is told.
    async fn behind(&self, place: &Place) -> Option<Vec<i64>> {
        let rows = self.shelf.after(Some(place.clone()), 100).await.unwrap()?;
        Some(rows.into_iter().map(|row| row.id).collect())
    }

    async fn keep_all(&self, keys: &[&str]) {
        for key in keys {
            self.keep(event(key, key, None)).await;
        }
    }
}

#[tokio::test]
async fn a_place_is_good_in_its_own_feed_and_in_no_other() {
    let case = Case::new();
    case.keep_all(&["a", "b"]).await;
    let read = case.end().await;
    assert_eq!(read.to_string().parse(), Ok(read.clone()));
    case.keep_all(&["c"]).await;
    assert_eq!(case.behind(&read).await, Some(vec![3]));

    // A new file took the same events, and another one in the place of the second.
    for keys in [&["a", "b", "c"], &["a", "x", "c"]] {
        let other = Case::new();
        other.keep_all(&keys[..1]).await;
        assert_eq!(other.behind(&read).await, None, "its end is before the place");
        other.keep_all(&keys[1..]).await;
        assert_eq!(other.behind(&read).await, None, "its numbers have caught up");
    }
}

#[tokio::test]
async fn a_reader_of_what_an_older_copy_has_forgotten_is_told_so() {
    let case = Case::new();
    case.keep_all(&["a"]).await;
    let before = case.end().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("i.db");
    let live = case.folder.path().join("i.db");
    rusqlite::Connection::open(&live)
        .unwrap()
        .execute("VACUUM INTO ?1", [path.display().to_string()])
        .unwrap();
    case.keep_all(&["b", "c"]).await;
    let forgotten = case.end().await;

    let (copy, _) = Shelf::open(&path).unwrap();
    let copy = Case { folder, shelf: copy };
    copy.keep_all(&["c", "b"]).await;
    assert_eq!(copy.behind(&before).await, Some(vec![2, 3]), "both files have this place");
    assert_eq!(copy.behind(&forgotten).await, None, "the same events in another order");
}

#[tokio::test]
async fn an_event_has_one_name_in_every_file() {
    let mut names = vec![];
    for before in [&[][..], &["x", "y"]] {
        let case = Case::new();
        case.keep_all(before).await;
        case.keep_all(&["a"]).await;
        names.push(case.after(before.len()).await[0].event_id.clone());
    }
    assert_eq!(names[0], names[1]);
    assert_ne!(names[0], {
        let case = Case::new();
        case.keep_all(&["b"]).await;
        case.after(0).await[0].event_id.clone()
    });
}

impl Case {
    /// The only event that is due for a look.
    async fn due(&self, now_ms: i64) -> Unchecked {
        let mut due = self.shelf.unchecked(now_ms).await.unwrap();
        assert_eq!(due.len(), 1, "{due:?}");
        due.remove(0)
    }

    async fn looked(&self, one: Unchecked, verdict: Verdict) -> Vec<Billed> {
        self.shelf.looked(vec![(one, verdict)]).await.unwrap()
    }
}

const HOUR: i64 = 3_600_000;
const YEAR: i64 = 8760 * HOUR;

/// A Signer that was put back from a backup does not know the transaction at first.
#[tokio::test]
async fn an_event_that_has_waited_long_is_not_given_up_at_the_first_answer() {
    let case = Case::new();
    case.keep(event("billing", "order/1", Some("0xA"))).await;
    let mut now_ms = 2 * HOUR;
    for _ in 0..2 {
        let one = case.due(now_ms).await;
        let Next::Wait(doubt) = one.doubt.after(Looked::Missing, now_ms, HOUR) else {
            panic!("it is given up after {:?}", one.doubt);
        };
        assert_eq!(doubt.missing_ms, Some(2 * HOUR), "the first answer that says so");
        now_ms += HOUR / 2;
        case.looked(one, Verdict::LookAt { next_ms: now_ms, doubt }).await;
    }
    let one = case.due(now_ms).await;
    assert_eq!(one.doubt.after(Looked::Missing, now_ms, HOUR), Next::Tell(Billed::Unknown));
    assert_eq!(case.looked(one, charged("0xA")).await, [Billed::Charged]);
}

#[tokio::test]
async fn one_charge_proves_one_event() {
    let case = Case::new();
    let spelled = [("0xA", "order/1"), ("0Xa", "order/2"), ("0xB", "order/3")];
    for (key, stream) in spelled {
        let body = r#"{"subscribeId":7}"#.to_owned();
        case.keep(Incoming { body, ..event(key, stream, Some(key)) }).await;
    }
    let mut told = vec![];
    for one in case.shelf.unchecked(0).await.unwrap() {
        let tx_hash = one.tx_hash.clone();
        told.extend(case.looked(one, charged(&tx_hash.to_ascii_lowercase())).await);
    }
    let proven = told.iter().filter(|billed| **billed == Billed::Charged).count();
    assert_eq!((told.len(), proven), (3, 2), "{told:?}");
    assert!(told.iter().any(|billed| matches!(billed, Billed::Unproven { .. })), "{told:?}");
}

#[tokio::test]
async fn a_clock_that_was_a_year_ahead_for_a_minute_holds_nothing_up() {
    let case = Case::new();
    case.keep(event("billing", "order/1", Some("0xA"))).await;
    let one = case.due(YEAR).await;
    case.looked(one, later(YEAR + LONGEST_PAUSE_MS)).await;
    let one = case.due(0).await;
    case.looked(one, later(LONGEST_PAUSE_MS)).await;
    assert!(case.shelf.unchecked(0).await.unwrap().is_empty(), "a pause is waited for");

    case.keep(event("register", "order/2", None)).await;
    let parcels = case.shelf.parcels(YEAR, 9).await.unwrap();
    case.shelf.pushed(&parcels[0], Push::Again(12 * HOUR), "500".to_owned(), YEAR).await.unwrap();
    let parcels = case.shelf.parcels(0, 9).await.unwrap();
    assert_eq!(parcels.len(), 1);
    case.shelf.pushed(&parcels[0], Push::Again(12 * HOUR), "500".to_owned(), 0).await.unwrap();
    assert!(case.shelf.parcels(0, 9).await.unwrap().is_empty(), "a pause is waited for");
}

#[tokio::test]
async fn an_order_is_who_the_platform_says_and_waits_for_that_no_longer_than_it_has_to() {
    let case = Case::new();
    let body = |order: &str| format!(r#"{{"subscribeId":1,"outTradeNo":"{order}"}}"#);
    for order in ["a", "b"] {
        let stream = format!("order/{order}");
        case.keep(Incoming { body: body(order), ..event(order, &stream, Some("0xA")) }).await;
    }
    for one in case.shelf.unchecked(0).await.unwrap() {
        case.looked(one, later(LONGEST_PAUSE_MS)).await;
    }
    case.shelf.orders(vec![("a".to_owned(), 7), ("c".to_owned(), 8)]).await.unwrap();
    let one = case.due(0).await;
    assert_eq!((one.stream.as_str(), one.about.subscription), ("order/a", Some(7)));
    case.looked(one, later(LONGEST_PAUSE_MS)).await;
    case.shelf.orders(vec![("a".to_owned(), 7)]).await.unwrap();
    assert!(case.shelf.unchecked(0).await.unwrap().is_empty(), "it says nothing new");
}

#[tokio::test]
async fn a_file_of_an_earlier_program_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("i.db");
    let earlier = Store::open(&path, &SHAPE).unwrap();
    let sql = "INSERT INTO event (key, stream, kind, body, received_s, stored_ms, tx_hash)
               VALUES ('k', 'order/1', 'SubscriptionBilling', '{\"subscribeId\":7}', 1, 1, '0xA')";
    earlier.conn().execute_batch(sql).unwrap();
    drop(earlier);
    for _ in 0..2 {
        let (shelf, _) = Shelf::open(&path).unwrap();
        let due = shelf.unchecked(0).await.unwrap();
        assert_eq!((due.len(), due[0].doubt), (1, Doubt::default()));
        drop(shelf);
        // Its thread lets go of the file a moment later.
        while matches!(Store::open(&path, &SHAPE), Err(StoreError::Held(_))) {
            tokio::task::yield_now().await;
        }
    }
    let (shelf, _) = Shelf::open(&path).unwrap();
    let due = shelf.unchecked(0).await.unwrap();
    assert_eq!(
        shelf.looked(vec![(due[0].clone(), charged("0xA"))]).await.unwrap(),
        [Billed::Charged]
    );
}
