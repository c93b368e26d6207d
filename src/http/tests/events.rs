//! The feed is asked in words that it knows, and tells what the document says.

use super::*;
use billing::{ItemOutcome, Landed, TakenAsTold, Verdict};
use journal::Settlement;

#[tokio::test]
async fn the_feed_says_what_is_wrong_with_a_question() {
    let server = TestServer::new();
    let nowhere = server.ask_json("/PayTool/events").await.1["data"]["next"].clone();
    let nowhere = nowhere.as_str().unwrap();
    let mut parts: Vec<&str> = nowhere.split('.').collect();
    (parts[2], parts[3]) = ("9", "00000000");
    let beyond = parts.join(".");
    for (query, status, words) in [
        ("limit=0".to_owned(), 400, "limit is 1 to 500"),
        ("limit=501".to_owned(), 400, "limit is 1 to 500"),
        ("wait=26".to_owned(), 400, "wait is 0 to 25"),
        ("since=1".to_owned(), 400, "unknown field `since`"),
        ("wait=long".to_owned(), 400, "wait: a whole number of seconds"),
        ("after=7".to_owned(), 400, "no cursor"),
        ("after=1.00000000.1.0.0.0".to_owned(), 400, "no cursor"),
        ("after=1.00000000.1.00000000.0.00000000".to_owned(), 409, "another journal"),
        (format!("after={beyond}"), 409, "in no history"),
        (format!("after={nowhere}"), 200, "success"),
    ] {
        let (told, body) = server.ask_json(&format!("/PayTool/events?{query}")).await;
        assert_eq!(told.as_u16(), status, "{query}: {body}");
        assert!(body["msg"].as_str().unwrap().contains(words), "{query}: {body}");
    }
}

#[tokio::test]
async fn an_event_is_told_as_the_document_describes_it() {
    let server = TestServer::new();
    server.accept("one", B256::with_last_byte(1)).await;
    server.accept("two", B256::with_last_byte(2)).await;
    let (_, body) = server.ask_json("/PayTool/events?limit=1").await;
    let event = &body["data"]["events"][0];
    let document = document();
    for (told, named) in [(event, "Event"), (&event["charges"][0], "EventCharge")] {
        let described = schema(&document, named);
        let required: BTreeSet<_> = words(&described["required"]).into_iter().collect();
        assert_eq!(names(told), names(&described["properties"]), "{named}");
        assert_eq!(names(told), required, "{named}");
    }
    assert_eq!(
        (&event["event"], &event["requestId"], &event["txHash"], &event["charges"][0]["state"]),
        (&json!("accepted"), &json!("one"), &json!(B256::with_last_byte(1)), &json!("open"))
    );
    let next = body["data"]["next"].as_str().unwrap();
    assert_eq!(event["cursor"], next);
    let (_, body) = server.ask_json(&format!("/PayTool/events?after={next}")).await;
    let rest = body["data"]["events"].as_array().unwrap();
    assert_eq!((rest.len(), &rest[0]["requestId"]), (1, &json!("two")));
}

#[tokio::test]
async fn an_event_tells_what_was_taken_where_that_is_not_what_was_claimed() {
    let server = TestServer::new();
    let hash = B256::with_last_byte(1);
    let claimed = Some(Address::repeat_byte(0x52));
    let terms = ChargeTerms { plan_version: None, wallet: claimed, token: claimed };
    let batch = server.accept_of("one", hash, terms, &[1, 2]).await;
    let (amount, wallet) = (Some(U256::from(7)), Some(SIGNER));
    let taken = TakenAsTold { amount, wallet, token: Some(SIGNER) };
    let outcomes = vec![ItemOutcome::ChargedAsTold(taken), ItemOutcome::Charged];
    let landed = Landed { hash, block: BlockRef { number: 7, time: 0, hash: None }, record: None };
    let settlement = Settlement { batch, verdict: Verdict::Charged(landed, outcomes), guard_s: 0 };
    server.state.engine.journal.settle(vec![settlement], 2000).await.unwrap();
    let (_, body) = server.ask_json("/PayTool/events").await;
    let told = |event: usize, charge: usize| {
        let charge = &body["data"]["events"][event]["charges"][charge];
        ["chargedAmount", "chargedToken", "chargedWallet"].map(|field| charge[field].clone())
    };
    let (none, address) = ([Value::Null, Value::Null, Value::Null], json!(SIGNER.to_string()));
    assert_eq!(told(1, 0), [json!("7"), address.clone(), address], "{body}");
    assert_eq!((told(1, 1), told(0, 0), told(0, 1)), (none.clone(), none.clone(), none));
}

#[tokio::test]
async fn a_page_of_events_has_so_many_charges_and_no_more() {
    let server = TestServer::new();
    for (last, charges) in [(1, 400), (2, 400), (3, 400), (4, 1_001), (5, 1)] {
        let (hash, subscribes) = (
            B256::with_last_byte(last),
            (1..=charges).map(|one| i64::from(last) * 10_000 + one).collect::<Vec<_>>(),
        );
        server.accept_of(&last.to_string(), hash, ChargeTerms::default(), &subscribes).await;
    }
    let (mut pages, mut query) = (vec![], String::new());
    loop {
        let (_, body) = server.ask_json(&format!("/PayTool/events{query}")).await;
        let told = body["data"]["events"].as_array().unwrap();
        let of_event = |event: &Value| event["charges"].as_array().unwrap().len();
        if told.is_empty() {
            break;
        }
        pages.push(told.iter().map(of_event).collect::<Vec<_>>());
        query = format!("?after={}", body["data"]["next"].as_str().unwrap());
    }
    assert_eq!(pages, [vec![400, 400], vec![400], vec![1_001], vec![1]]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_he_asked_or_than_the_process_lives() {
    let server = TestServer::new();
    let began = tokio::time::Instant::now();
    let (status, body) = server.ask_json("/PayTool/events?wait=25").await;
    assert_eq!((status, &body["data"]["events"]), (StatusCode::OK, &json!([])));
    assert_eq!(began.elapsed().as_secs(), 25);
    server.state.closing.cancel();
    let began = tokio::time::Instant::now();
    server.ask_json("/PayTool/events?wait=25").await;
    assert_eq!(began.elapsed().as_secs(), 0);
}
