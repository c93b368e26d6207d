//! The ledger is asked in words that it knows, and in no others.

use super::*;

#[tokio::test]
async fn the_ledger_says_what_is_wrong_with_a_question() {
    let server = TestServer::new();
    for (query, words) in [
        ("limit=7&subscribeID=1", "unknown field `subscribeID`"),
        ("limit=7&subscribeId=one", "the query is wrong: subscribeId: a whole number"),
        ("from=2026-01-01", "the query is wrong: from: Unix seconds, such as 1767225600"),
        ("userHash=0x12", "userHash: 64 hex digits, with or without 0x"),
        ("limit=7&limit=7", "duplicate field `limit`"),
        ("state=paid", "state is one of open, charged"),
        ("reason=POOR", "reason is one of INVALID_ENTRY, "),
        ("order=up", "order: unknown variant `up`, expected `oldest` or `newest`"),
        ("wallet=0xEe", "wallet is an address"),
        ("limit=0", "limit is 1 to 1000"),
        ("limit=1001", "limit is 1 to 1000"),
        ("after=7", "no cursor"),
        ("after=1.00000000.1.0", "another journal"),
        ("after=1.00000000.1.r7", "another journal"),
        ("after=1.00000000.1.x7", "no cursor"),
    ] {
        let (status, body) = server.ask_json(&format!("/PayTool/charges?{query}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}: {body}");
        assert!(body["msg"].as_str().unwrap().contains(words), "{query}: {body}");
    }
    let (status, body) = server.ask_json("/PayTool/charges").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["data"], json!({"charges": [], "next": null}));
}
