//! What the client does about servers that want to be left alone, lose answers, or talk nonsense;
//! and that nothing it says holds a key.

use super::recorded::{Double, Lone, client, client_of, config, serving};
use crate::{ApiUnusable, Detail, Side, UnusableNode};
use axum::Router;
use config::TvmConfig;
use futures_util::future::join_all;
use node::{AskError, Fault, NoReply, NodeError, NodeId, Undialable};
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

const PATH: &str = "/wallet/getblock";
const SECRET: &str = "b3f1c9d2-api-key";

async fn ask(node: &Lone) -> Result<(), Fault> {
    let answer = node.api().block(Side::Full, None).await;
    answer.map(|_| ()).map_err(|error: AskError| error.fault)
}

fn breaks(node: &Lone) -> u64 {
    node.0.breaks(NodeId(0))
}

fn wait(answer: &Result<(), Fault>) -> Option<u64> {
    match answer {
        Err(Fault::ShutOut { wait }) => Some(wait.as_secs()),
        _ => None,
    }
}

#[tokio::test]
async fn a_server_that_shuts_us_out_is_not_asked_again_before_its_time() {
    let exceeded = r#"{"Error":"The key exceeds the frequency limit(15), and the query server is suspended for 30s"}"#;
    let denied = r#"{"Success":false,"Error":"The key exceeds the frequency limit(15), and the query server is suspended for 5 s","StatusCode":403}"#;
    let busy =
        r#"{"Error":"class java.lang.IllegalAccessException : lack of computing resources"}"#;
    for (status, body, seconds) in [
        (403, exceeded, 30),
        (200, denied, 5),
        (503, exceeded, 30),
        (429, "<html>", 1),
        (200, busy, 1),
    ] {
        let double = Arc::new(Double::default());
        serving(&double, async |url| {
            let api = client(url);
            double.says(PATH, status, body);
            assert_eq!(wait(&ask(&api).await), Some(seconds), "{body}");
            assert!(matches!(ask(&api).await, Err(Fault::ShutOut { .. })));
            assert!(matches!(
                api.broadcast(&[1]).await,
                Err(AskError { fault: Fault::ShutOut { .. }, .. })
            ));
            assert_eq!(double.asked.lock().len(), 1, "the others never left");
            assert_eq!(double.asked(PATH), 1);
            api.0.client(NodeId(0)).unwrap().forgive();
            double.says(PATH, 200, "{}");
            assert_eq!(ask(&api).await, Ok(()));
            assert_eq!(breaks(&api), 0, "its own word breaks nothing");
        })
        .await;
    }
}

#[tokio::test]
async fn the_time_in_a_header_counts_up_to_ten_minutes() {
    let double = Arc::new(Double::default());
    serving(&double, async |url| {
        for (header, seconds) in [("7", 7), ("86400", 600), ("tomorrow", 1)] {
            let api = client(url);
            *double.headers.lock() = vec![("retry-after", header.to_owned())];
            double.says(PATH, 429, "");
            assert_eq!(wait(&ask(&api).await), Some(seconds));
        }
    })
    .await;
}

#[tokio::test]
async fn what_makes_no_sense_is_told_from_what_is_refused() {
    let table = [
        (200, "", Fault::Garbled),
        (200, "[]", Fault::Garbled),
        (200, "null", Fault::Garbled),
        (200, "<html>busy</html>", Fault::Garbled),
        (200, r#"{"blockID":"00"#, Fault::Garbled),
        (200, r#"{"blockID":"00"}"#, Fault::Garbled),
        (500, "{}", Fault::Http(500)),
        (502, r#"{"Error":"x"}"#, Fault::Http(502)),
        (301, "", Fault::Http(301)),
        (403, "no such key", Fault::Http(403)),
        (413, "", Fault::Http(413)),
        (
            404,
            r#"{"Error":"this API is unavailable due to config"}"#,
            Fault::Node(NodeError::of("this API is unavailable due to config")),
        ),
        (
            200,
            "this API is closed because this node is a lite fullnode",
            Fault::Node(NodeError::of("this API is closed because this node is a lite fullnode")),
        ),
        (
            200,
            r#"{"Error":"id must be legal block hash."}"#,
            Fault::Node(NodeError::of("id must be legal block hash.")),
        ),
    ];
    let double = Arc::new(Double::default());
    serving(&double, async |url| {
        for (status, body, fault) in table {
            let api = client(url);
            double.says(PATH, status, body);
            assert_eq!(ask(&api).await, Err(fault.clone()), "{status} {body}");
            let broken = u64::from(!matches!(fault, Fault::Node(_)));
            assert_eq!(breaks(&api), broken);
        }
        double.says(PATH, 200, " { }\n");
        assert_eq!(ask(&client(url)).await, Ok(()));
    })
    .await;
}

#[tokio::test]
async fn each_side_is_asked_at_its_own_url_and_with_the_key() {
    let double = Arc::new(Double::default());
    serving(&double, async |url| {
        let (full, solidity) = (format!("{url}/a/"), format!("{url}/b?x=1"));
        let timeout = Duration::from_secs(20);
        let api = client_of(&shown(&full, &solidity, SECRET, timeout)).unwrap();
        for side in [Side::Full, Side::Solidity] {
            assert!(api.api().claimed(side, 3, Detail::Whole).await.is_err());
        }
        let asked: Vec<_> = double.asked.lock().iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(asked, ["/a/wallet/getblock", "/b/walletsolidity/getblock"]);
        assert!(double.asked.lock().iter().all(|(_, body)| body["id_or_num"] == "3"));
        assert!(double.keys.lock().iter().all(|key| key.as_deref() == Some(SECRET)));
    })
    .await;
}

#[tokio::test]
async fn nothing_that_is_said_holds_a_key_or_a_url() {
    let double = Arc::new(Double::default());
    serving(&double, async |url| {
        let full = format!("{url}/PATHSECRET/");
        let timeout = Duration::from_millis(500);
        let api = client_of(&shown(&full, url, SECRET, timeout)).unwrap();
        let quoting = format!(r#"{{"Error":"key {SECRET} at {url}/x PATHSECRET is bad"}}"#);
        double.says("/PATHSECRET/wallet/getblock", 200, &quoting);
        let mut said = format!("{:?} {:?}", api.0, api.0.client(NodeId(0)));
        said += &api.api().block(Side::Full, None).await.unwrap_err().to_string();
        let answer = format!(r#"{{"code":"SIGERROR","message":"{SECRET} {url}/"}}"#);
        double.says("/PATHSECRET/wallet/broadcasthex", 200, &answer);
        let answer = format!("{:?}", api.broadcast(&[1]).await);
        said += &answer;
        assert!(said.contains("SIGERROR") && said.contains("is bad"), "{said}");
        for secret in [SECRET, "PATHSECRET", "http:"] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_that_accepts_and_says_nothing_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let timeout = Duration::from_millis(100);
    let patient = config(&url, &url);
    let api = client_of(&TvmConfig { rpc_timeout: timeout, ..patient }).unwrap();
    assert_eq!(ask(&api).await, Err(Fault::Lost(NoReply::TimedOut)));
    drop(silent);
    assert_eq!(ask(&api).await, Err(Fault::Lost(NoReply::Refused)));
    assert_eq!(breaks(&api), 2);
}

#[test]
fn a_client_that_cannot_be_made_says_which_part_is_wrong() {
    let config = shown("http://a", "http://a", "line\nline", Duration::from_secs(1));
    let refused = client_of(&config).map(|_| ()).unwrap_err();
    let unusable = ApiUnusable { key: "full", problem: Undialable::Key };
    assert_eq!(refused, UnusableNode { place: 0, unusable });
    assert_eq!(refused.to_string(), "nodes[0].full: the API key cannot be sent in a header");
}

/// A node that is shown this key.
fn shown(full: &str, solidity: &str, key: &str, rpc_timeout: Duration) -> TvmConfig {
    let mut config = TvmConfig { rpc_timeout, ..config(full, solidity) };
    config.nodes[0].api_key = Some(key.to_owned().into());
    config
}

/// A node gives the 51st connection no answer, and others ask it too.
#[tokio::test]
async fn a_crowd_of_questions_does_not_crowd_the_node() {
    let (arrived, gate) = (watch::Sender::new((0_usize, 0_usize)), Semaphore::new(0));
    let shared = Arc::new((arrived, gate));
    let node = Arc::clone(&shared);
    let handler = async move || {
        let (arrived, gate) = &*node;
        arrived.send_modify(|(now, most)| {
            *now = now.saturating_add(1);
            *most = (*most).max(*now);
        });
        gate.acquire().await.unwrap().forget();
        arrived.send_modify(|(now, _)| *now = now.saturating_sub(1));
        "{}"
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = axum::serve(listener, Router::new().fallback(handler)).into_future();
    let api = client(&url);
    let crowd = join_all((0..40).map(async |_| ask(&api).await));
    let release = async {
        let (arrived, gate) = &*shared;
        arrived.subscribe().wait_for(|(now, _)| *now == 12).await.unwrap();
        gate.add_permits(40);
    };
    let all = async { tokio::join!(crowd, release).0 };
    let answers = tokio::select! {
        answers = all => answers,
        stopped = server => panic!("{stopped:?}"),
    };
    assert!(answers.len() == 40 && answers.iter().all(Result::is_ok));
    assert_eq!(shared.0.borrow().1, 12);
}
