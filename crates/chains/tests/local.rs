//! The nodes answer this machine alone, and no page of another host.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use sandbox_chains::chain::{Chain, Header, Settings};
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::serve::Ports;
use sandbox_chains::state::State;
use sandbox_chains::tron::{Tron, TronNode};
use tokio_util::task::TaskTracker;

async fn status(url: &str, headers: &[(&str, &str)]) -> u16 {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
    let mut request = reqwest::Client::new().post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_name_that_was_bent_to_this_machine_and_a_foreign_page_are_refused() {
    let genesis = Header { gas_limit: 30_000_000, price: 1, ..Header::default() };
    let chain = Chain::new(Evm::default(), Settings::default(), genesis, State::new(()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let evm = format!("http://{}", listener.local_addr().unwrap());
    let router = eth::router(Node::new(chain));
    TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
    let tron =
        TronNode::new(Tron::default().with_witnesses(1), 1_795_253_256_000, 2, State::default());
    let doors = tron.serve(Ports::default()).await.unwrap();
    let full = format!("{}/wallet/getnowblock", doors.full);
    for url in [&evm, &doors.jsonrpc, &full] {
        assert_eq!(status(url, &[]).await, 200, "{url}");
        assert_eq!(status(url, &[("host", "evil.example")]).await, 421, "{url}");
        assert_eq!(status(url, &[("origin", "http://evil.example")]).await, 403, "{url}");
    }
}
