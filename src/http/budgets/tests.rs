//! The budgets of callers: each has its own, and a look through the ledger waits for its turn.

use super::*;
use crate::http::tests::limits;
use std::time::Duration;

fn in_seconds(seconds: u64) -> Instant {
    Instant::now().checked_add(Duration::from_secs(seconds)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_third_look_through_the_ledger_waits_for_its_turn_and_no_other_caller_does() {
    let budgets = Budgets::new(&limits());
    let scan = |caller| budgets.permit(Purpose::Scan, caller, in_seconds(10));
    let (first, _second) = (scan("viewer").await.unwrap(), scan("viewer").await.unwrap());
    let began = Instant::now();
    scan("operator").await.unwrap();
    budgets.permit(Purpose::Ask, "viewer", began).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO, "neither is in the way of the other");

    let used_up = scan("viewer").await.unwrap_err();
    assert_eq!((began.elapsed().as_secs(), used_up.what), (10, CallerBudget::Scans));
    assert!(used_up.to_string().contains("looks through the ledger"), "{used_up}");

    let (third, ()) = tokio::join!(scan("viewer"), async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop(first);
    });
    third.unwrap();
    assert_eq!(began.elapsed().as_secs(), 13, "as soon as one is given back");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_turn_and_hangs_up_takes_none() {
    let budgets = Budgets::new(&limits());
    let scan = || budgets.permit(Purpose::Scan, "viewer", in_seconds(10));
    let at_work = [scan().await.unwrap(), scan().await.unwrap()];
    for _ in 0..2 * QUESTIONS {
        let waiting = tokio::time::timeout(Duration::from_millis(1), scan()).await;
        assert!(waiting.is_err(), "it waits, and then nobody wants it any more");
    }
    drop(at_work);
    let began = Instant::now();
    scan().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}
