//! The figures of a long ledger come in several answers, each of a short time.

use super::*;
use crate::http::charges::JournalName;
use crate::http::figures::{FiguresLook, FiguresQuery};
use crate::http::purpose::Purpose;
use crate::telemetry::ANYBODY;
use std::time::Instant;

#[tokio::test]
async fn a_slot_of_many_batches_is_added_up_in_several_answers() {
    let server = TestServer::new();
    for number in 0..150_u64 {
        let hash = B256::from(U256::from(number + 1));
        server.accept(&number.to_string(), hash).await;
    }
    let ledger = server.state.ledger();
    let look = FiguresLook {
        name: JournalName::of(&ledger.journal).await.unwrap(),
        ledger,
        kept: &server.state.figures,
        caller: "viewer",
        chains: None,
        ends: Instant::now(),
    };
    let asked = FiguresQuery { from: 0, until: 7200, step: 3600 };
    let mut answers = 0;
    let told = loop {
        answers += 1;
        let told = look.add_up(asked).await.unwrap();
        if told.until > asked.from {
            break told;
        }
        assert!(told.slots.is_empty(), "no slot is told in part");
        assert!(answers < 9, "each answer comes further");
    };
    assert_eq!(
        (answers, told.until),
        (3, 3600),
        "64 batches a step, and nothing more in that time"
    );
    let open: Vec<u64> = told.slots.iter().map(|slot| slot.states["open"]).collect();
    assert_eq!(open, [150], "each batch once");

    let stranger = FiguresLook { caller: "other", ..look };
    assert_eq!(stranger.add_up(asked).await.unwrap().until, 0, "it goes on with nothing of others");
}

#[tokio::test(start_paused = true)]
async fn who_looks_through_the_ledger_twice_waits_for_a_third_look_alone() {
    let server = TestServer::new();
    let state = &server.state;
    let scan = || state.budgets.permit(Purpose::Scan, ANYBODY, tokio::time::Instant::now());
    let _at_work = [scan().await.unwrap(), scan().await.unwrap()];
    for path in ["/page/figures?from=0&until=1&step=1", "/PayTool/charges?state=failed"] {
        let began = tokio::time::Instant::now();
        let (status, told) = server.ask_json(path).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{path}: {told}");
        assert!(told["msg"].as_str().unwrap().contains("looks through the ledger"), "{told}");
        assert_eq!(began.elapsed(), limits().request_deadline, "{path}");
    }
    for path in ["/PayTool/charges?subscribeId=7", "/PayTool/charges?state=open"] {
        assert_eq!(server.ask_json(path).await.0, StatusCode::OK, "{path}");
    }
}
