//! What a node may say to a broadcast, and what may become of the answer: the hash is promised all
//! the same, the same bytes are offered again, and the charge is made once.

use super::*;
use sandbox_chains::faults::{Fault, On};

/// Refusals that the node did not come to: the transaction is not in its pool.
const REFUSALS: [(&str, &str); 15] = [
    ("SERVER_BUSY", "Server busy."),
    ("NO_CONNECTION", "No connection."),
    ("NOT_ENOUGH_EFFECTIVE_CONNECTION", "Effective connection:0 lt minEffectiveConnection:1"),
    ("BLOCK_UNSOLIDIFIED", "Block unsolidified."),
    ("TAPOS_ERROR", "Tapos check error."),
    ("BANDWITH_ERROR", "Account resource insufficient error."),
    ("SIGERROR", "Validate signature error: permission isn't exit"),
    ("TOO_BIG_TRANSACTION_ERROR", "Too big transaction."),
    ("TRANSACTION_EXPIRATION_ERROR", "Transaction expired"),
    ("CONTRACT_VALIDATE_ERROR", "Contract validate error : No contract or not a smart contract"),
    ("CONTRACT_EXE_ERROR", "Contract execute error : Not enough balance for energy"),
    ("DUP_TRANSACTION_ERROR", "Dup transaction."),
    ("DUP_TRANSACTION_ERROR", "Transaction already exists."),
    ("OTHER_ERROR", "Error: null"),
    ("THE_MOON_IS_FULL", ""),
];

fn mishaps() -> Vec<Fault> {
    let refusals = REFUSALS.iter().map(|(code, message)| Fault::refuse(code, message));
    let status = |status, body| Fault::status(status, body);
    let others = [
        Fault::PoolButNotRelay,
        Fault::ActThenHang,
        Fault::ActThenReset,
        Fault::Hang,
        Fault::Reset,
        Fault::ActTwice,
        Fault::ActThenDrop,
        Fault::ActThenTruncate,
        Fault::ActThenHtml,
        status(404, r#"{"Error":"this API is unavailable due to config"}"#),
        status(413, ""),
        status(500, "<html>oops</html>"),
        status(200, ""),
        status(200, r#"{"result":true,"code":"SUCCESS","txid":"00"}"#),
        status(200, r#"{"Error":"class java.lang.NullPointerException : null"}"#),
        Fault::Lite,
    ];
    refusals.chain(others).collect()
}

#[tokio::test]
async fn whatever_the_node_says_to_a_broadcast_is_no_verdict() {
    let mishaps = mishaps();
    // What is offered again would meet the mishap of the next one.
    let keys = "rebroadcast_interval = \"10m\"";
    let people = u64::try_from(mishaps.len()).unwrap();
    let scene = Scene::behind(founded(people, keys).await, 5_000).await;
    for (place, mishap) in mishaps.iter().enumerate() {
        scene.node().faults().add(On::Broadcast, mishap.clone());
        let heard = scene.post(place).await;
        assert_eq!(heard.code(), 1, "{mishap:?}: {heard:?}");
        assert_eq!(scene.node().faults().waiting(), 0, "{mishap:?} was met");
        let again = scene.post(place).await;
        assert_eq!(again.tx_hash(), heard.tx_hash(), "{mishap:?}");
    }
    // A restart takes up everything, and offers the same bytes again.
    let scene = scene.killed().await;
    scene.town.quiet(&scene.signer).await;
    assert_eq!(scene.landed(), mishaps.len());
    scene.ends_with(&vec![1; mishaps.len()]).await;
}

#[tokio::test]
async fn a_server_that_wants_to_be_left_alone_is_and_the_charge_is_made_all_the_same() {
    let suspended = r#"{"Error":"The key exceeds the frequency limit(1), and the query server is suspended for 1s"}"#;
    let limits = [
        Fault::RateLimit,
        Fault::status(429, ""),
        Fault::status(403, suspended),
        Fault::status(503, ""),
    ];
    let scene = Scene::set(4).await;
    for (place, limit) in limits.iter().enumerate() {
        scene.node().faults().add(On::Broadcast, limit.clone());
        let hash = scene.bill(place).await;
        scene.pooled(&hash).await;
        scene.node().step();
        scene.town.noticed().await;
    }
    for limit in &limits {
        scene.node().faults().set(On::Any, limit.clone());
        let heard = scene.post(0).await;
        assert_eq!(heard.code(), 1, "what is promised stays promised: {heard:?}");
        let asked = scene.signer.scheduler.get("/health/ready").await;
        assert!(matches!(asked.status, 200 | 503));
        scene.node().faults().clear();
        scene.town.noticed().await;
    }
    scene.town.quiet(&scene.signer).await;
    assert_eq!(scene.landed(), 4);
    scene.ends_with(&[1; 4]).await;
}

#[tokio::test]
async fn a_broadcast_that_arrives_late_and_twice_is_one_payment() {
    use crate::world::proxy::{Act, SEND};
    let scene = Scene::set(1).await;
    scene.town.proxy.fault(SEND, Act::Delay(Duration::from_millis(1500)));
    let hash = scene.bill(0).await;
    scene.town.proxy.heal();
    scene.pooled(&hash).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}
