use super::*;
use crate::inbox::incoming::Incoming;
use crate::inbox::onward::Push;
use crate::inbox::outcome::Billed;

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

    async fn fed(&self) -> Vec<i64> {
        self.shelf.after(0, 100).await.unwrap().into_iter().map(|row| row.id).collect()
    }
}

#[tokio::test]
async fn an_event_is_kept_once_and_every_delivery_is_counted() {
    let case = Case::new();
    assert_eq!(case.keep(event("a", "s", None)).await, Kept::New);
    assert_eq!(case.keep(event("a", "s", None)).await, Kept::Repeat);
    let other = Incoming { body: r#"{"key":"other"}"#.to_owned(), ..event("a", "s", None) };
    assert_eq!(case.keep(other).await, Kept::Conflict);
    let rows = case.shelf.after(0, 10).await.unwrap();
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
    look(Verdict::LookAt(1000)).await.unwrap();
    assert!(case.shelf.unchecked(999).await.unwrap().is_empty());
    look(Verdict::Told(Billed::Charged)).await.unwrap();
    assert_eq!(case.fed().await, [1, 4, 2, 3], "places are given in the order of being told");
    let rows = case.shelf.after(2, 1).await.unwrap();
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
    assert!(crate::inbox::EventDesk::open(&path).unwrap().replay(1).unwrap());
    let replayed = case.shelf.parcels(1000, 10).await.unwrap();
    assert!(replayed[0].row.id == 1 && replayed[0].row.is_replay);
    case.shelf.pushed(&replayed[0], Push::Delivered, "200".to_owned(), 0).await.unwrap();
    let next = case.shelf.parcels(1000, 10).await.unwrap();
    assert_eq!(next.iter().map(|parcel| parcel.row.id).collect::<Vec<_>>(), [2]);
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
    assert_eq!(case.shelf.after(0, 1000).await.unwrap().len(), 500);
    case.shelf.beyond(499).await.unwrap();
}
