//! A billing is found by its hashes, by the names of requests, and by its number where that is said.

use super::*;

#[tokio::test]
async fn a_billing_is_found_by_its_hash_and_by_any_request_id() {
    let server = TestServer::new();
    let (hash, looks_like_a_hash) = (B256::repeat_byte(0xAA), "bb".repeat(32));
    server.accept("run/1", hash).await;
    server.accept(&looks_like_a_hash, B256::repeat_byte(0xCC)).await;
    let bare = hex::encode(hash);
    for (id, subscribe) in [
        (hash.to_string().as_str(), 0xAA),
        (&bare, 0xAA),
        ("run%2F1", 0xAA),
        (&looks_like_a_hash, 0xCC),
    ] {
        let (status, found) = server.ask_json(&format!("/PayTool/billings/{id}")).await;
        assert_eq!(status, StatusCode::OK, "{id}");
        let [report] = &found["data"].as_array().unwrap()[..] else { panic!("{id}: {found}") };
        fits(report, "Report");
        fits(&report["subscriptions"][0], "Outcome");
        assert_eq!(report["subscriptions"][0]["subscribeId"], subscribe, "{id}");
        assert_eq!(report["subscriptions"][0]["state"], "open");
    }
    for id in [&"dd".repeat(32), "run", "0x", "%ff", "billing:3", "billing:", "billing:x"] {
        let (status, found) = server.ask_json(&format!("/PayTool/billings/{id}")).await;
        assert_eq!((status, &found["data"]), (StatusCode::NOT_FOUND, &Value::Null), "{id}");
        assert_eq!(found["code"], 0);
    }
}

#[tokio::test]
async fn a_request_name_that_is_a_number_and_did_not_arrive_is_not_found() {
    let server = TestServer::new();
    server.accept("1001", B256::repeat_byte(0xAA)).await;
    server.accept("billing:1", B256::repeat_byte(0xBB)).await;
    server.accept("run", B256::repeat_byte(0xCC)).await;
    for (id, subscribe) in
        [("1001", 0xAA), ("billing:1", 0xBB), ("billing:2", 0xBB), ("billing:3", 0xCC)]
    {
        let (_, found) = server.ask_json(&format!("/PayTool/billings/{id}")).await;
        assert_eq!(found["data"][0]["subscriptions"][0]["subscribeId"], subscribe, "{id}");
    }
    let (status, _) = server.ask_json("/PayTool/billings/1").await;
    assert_eq!(status, StatusCode::NOT_FOUND, "the journal has a billing of this number");
}
