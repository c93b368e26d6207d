//! The walk over a list that changes under it.

use super::*;
use crate::types::SubscriptionId;
use std::cell::RefCell;
use std::collections::BTreeSet;

const SIZE: usize = 10;

fn page(list: &[i64], number: u64, count: Option<u64>) -> Page<Chargeable> {
    let at = usize::try_from(number.saturating_sub(1)).unwrap().saturating_mul(SIZE);
    let shown = list.iter().skip(at).take(SIZE);
    let entry = |id: &i64| {
        let raw = RawValue::from_string(format!(r#"{{"subscribeId":{id}}}"#)).unwrap();
        Ok(Full::from_raw(raw).unwrap())
    };
    Page { count, size: Some(10), list: shown.map(entry).collect() }
}

/// Walks a list that `change` works on before every page, with the count that `count` tells of it.
fn ids(
    list: Vec<i64>,
    change: impl Fn(&mut Vec<i64>),
    count: impl Fn(usize) -> Option<u64>,
) -> (Vec<i64>, usize) {
    let (list, requests) = (RefCell::new(list), RefCell::new(vec![]));
    let fetch = |number| {
        let mut list = list.borrow_mut();
        change(&mut list);
        requests.borrow_mut().push(number);
        let found = page(&list, number, count(list.len()));
        async move { Ok(found) }
    };
    let mut walk = Walk {
        fetch,
        seen: HashSet::new(),
        ready: VecDeque::new(),
        next: Next::Begin,
        passes: 0,
        fresh: 0,
    };
    let mut ids = vec![];
    futures_util::FutureExt::now_or_never(async {
        while let Some(entry) = walk.entry().await {
            ids.push(entry.unwrap().subscribe_id.0);
        }
    })
    .unwrap();
    let requests = requests.borrow().len();
    (ids, requests)
}

/// Walks a list of which every first page is like this one.
fn walked(list: &[i64], count: u64) -> Vec<Result<i64, CallError>> {
    let fetch = |number| {
        let found = page(list, number, Some(count));
        async move { Ok(found) }
    };
    let all = futures_util::StreamExt::collect::<Vec<_>>(walk(fetch));
    let all = futures_util::FutureExt::now_or_never(all).unwrap();
    all.into_iter().map(|entry| entry.map(|entry| entry.subscribe_id.0)).collect()
}

#[test]
fn a_page_without_a_list_and_an_empty_one_of_a_list_that_is_not_are_errors() {
    for text in [r#"{"count":3}"#, r#"{"count":0,"list":null}"#, r#"{"list":{}}"#, "{}", "null"] {
        assert!(serde_json::from_str::<Page<Chargeable>>(text).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<Page<Chargeable>>(r#"{"count":0,"list":[]}"#).is_ok());
    let told = walked(&[], 3);
    assert!(matches!(told.as_slice(), [Err(CallError::Unreadable { .. })]), "{told:?}");
    assert!(walked(&[], 0).is_empty());
}

#[test]
fn a_count_that_is_late_once_is_no_error() {
    let late = std::cell::Cell::new(true);
    let (ids, requests) = ids(vec![], |_| {}, |_| Some(u64::from(late.replace(false))));
    assert_eq!((ids.len(), requests), (0, 2));
}

fn truth(length: usize) -> Option<u64> {
    u64::try_from(length).ok()
}

fn each_once(ids: &[i64], expected: impl IntoIterator<Item = i64>) {
    let set: BTreeSet<_> = ids.iter().copied().collect();
    assert_eq!(set.len(), ids.len(), "an entry came twice");
    assert_eq!(set, expected.into_iter().collect());
}

#[test]
fn a_list_that_stands_still_comes_whole_and_once() {
    for length in [0, 1, 9, 10, 11, 100, 101] {
        let (ids, requests) = ids((0..length).collect(), |_| {}, truth);
        each_once(&ids, 0..length);
        assert!(
            requests
                <= usize::try_from(length)
                    .unwrap()
                    .div_ceil(SIZE)
                    .saturating_add(2)
                    .saturating_mul(2),
            "{requests}"
        );
    }
    assert_eq!(ids(vec![1], |_| {}, truth).1, 1);
}

#[test]
fn a_list_that_shrinks_from_the_front_loses_nothing_that_stays() {
    let (ids, _) = ids((0..100).collect(), |list| drop(list.drain(..2)), truth);
    let stays = 60..100;
    assert!(stays.into_iter().all(|id| ids.contains(&id)), "{ids:?}");
}

#[test]
fn a_list_that_grows_at_the_front_loses_nothing_that_was_there() {
    let next = RefCell::new(1000);
    let grow = |list: &mut Vec<i64>| {
        let mut next = next.borrow_mut();
        if *next < 1020 {
            list.insert(0, *next);
            *next = next.saturating_add(1);
        }
    };
    let (ids, _) = ids((0..100).collect(), grow, truth);
    each_once(&ids, (0..100).chain(1000..1020));
}

#[test]
fn a_count_that_lies_hides_nothing() {
    for lie in [None, Some(0), Some(1), Some(37), Some(1_000_000_000)] {
        let (ids, requests) = ids((0..95).collect(), |_| {}, |_| lie);
        each_once(&ids, 0..95);
        assert!(requests < 200, "{lie:?}: {requests}");
    }
}

#[test]
fn of_many_that_come_and_go_nobody_comes_twice_and_nobody_is_missed_by_two_walks() {
    const MANY: i64 = 20_000;
    let dice = RefCell::new(1_u64);
    let throw = |below: usize| {
        let mut dice = dice.borrow_mut();
        *dice =
            dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*dice >> 33).unwrap() % below
    };
    let (gone, came) = (RefCell::new(BTreeSet::new()), RefCell::new(vec![]));
    // Between two pages somebody is charged, or falls due, somewhere in the list.
    let change = |list: &mut Vec<i64>| match throw(8) {
        0 => drop(gone.borrow_mut().insert(list.remove(throw(list.len())))),
        1 => {
            let mut came = came.borrow_mut();
            let id = MANY + i64::try_from(came.len()).unwrap();
            came.push(id);
            list.insert(throw(list.len()), id);
        }
        _ => {}
    };
    let lie = |length: usize| [truth(length), truth(throw(length)), None][throw(3)];
    let (first, _) = ids((0..MANY).collect(), change, lie);
    let stays = |id: &i64| !gone.borrow().contains(id);
    let between: Vec<i64> = (0..MANY).chain(came.borrow().iter().copied()).filter(stays).collect();
    let (second, _) = ids(between.clone(), change, lie);
    let mut known = BTreeSet::new();
    for walk in [first, second] {
        let length = walk.len();
        let walk: BTreeSet<i64> = walk.into_iter().collect();
        assert_eq!(walk.len(), length, "an entry came twice");
        known.extend(walk);
    }
    let missed: Vec<_> =
        between.into_iter().filter(stays).filter(|id| !known.contains(id)).collect();
    assert!(missed.is_empty(), "{missed:?}");
    assert!(gone.borrow().len() > 500 && came.borrow().len() > 500);
}

#[test]
fn an_entry_that_cannot_be_read_is_told_and_hides_no_other() {
    let text = r#"{"count":3,"page":1,"size":500,"list":[{"subscribeId":1},{"subscribeId":"x"},{"subscribeId":3}]}"#;
    let page: Page<Chargeable> = serde_json::from_str(text).unwrap();
    assert!(matches!(page.list[1], Err(CallError::Entry { page: 1, .. })));
    assert_eq!(page.list[2].as_ref().unwrap().subscribe_id, SubscriptionId(3));
    let bare: Page<Chargeable> =
        serde_json::from_str(r#"[{"subscribeId":1,"more":1e400}]"#).unwrap();
    assert_eq!(bare.list[0].as_ref().unwrap().fields()["more"].get(), "1e400");
}

#[test]
fn an_id_may_have_both_of_its_names_and_no_two_values() {
    let entry =
        |text: &str| serde_json::from_str::<Chargeable>(text).map(|entry| entry.subscribe_id.0);
    assert_eq!(entry(r#"{"subscribeId":1,"subscriptionId":"1"}"#).unwrap(), 1);
    assert_eq!(entry(r#"{"subscriptionId":2}"#).unwrap(), 2);
    assert!(entry(r#"{"subscribeId":1,"subscriptionId":2}"#).is_err());
    assert!(entry("{}").is_err());
    let listed: Subscription =
        serde_json::from_str(r#"{"subscribeId":1,"subscriptionId":1}"#).unwrap();
    assert_eq!(listed.subscription_id, Some(SubscriptionId(1)));
}
