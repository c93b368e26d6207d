//! Two nodes that tell different records of one final block, and go on doing so: nothing is concluded, and
//! after ten minutes a person is called, by the names of both. The Signer runs inside the test here,
//! whose clock is moved.

use crate::world::anvil::{Family, Mining};
use crate::world::lies::{failed_on_tron, reverted};
use crate::world::proxy::{Act, Proxy};
use crate::world::town::{Founding, Town};
use ::node::Http;
use config::Config;
use door::serve;
use merchant_signer::app::{Assembled, Machine, Sockets, assemble};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::subscriber::DefaultGuard;

on_both_families![nodes_that_dispute_a_record_for_ten_minutes_are_both_named];

/// What was logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn kept(&self) -> DefaultGuard {
        let log = self.clone();
        let writes = tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        tracing::subscriber::set_default(writes.finish())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

/// The town's Signer, whose watchers look when they are told to.
struct Inside {
    signer: Assembled,
    url: String,
}

impl Inside {
    async fn of(town: &Town) -> Self {
        let text = std::fs::read_to_string(town.installation.path().join("signer.toml")).unwrap();
        let key = town.installation.path().join("evm.key");
        let text = text.replace("file:evm.key", &format!("file:{}", key.display()));
        let config = Config::from_toml(&text, &town.installation.environment()).unwrap();
        let policy = config.http.connection_policy();
        let http = Http::default();
        let machine = Machine::real(&http);
        let signer = assemble(config, machine, &mut Sockets::default()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = TaskTracker::new();
        let (router, stop) = (signer.router.clone(), CancellationToken::new());
        server.spawn(serve(listener, router, policy, None, stop));
        Self { signer, url }
    }

    async fn looks(&self) {
        for watcher in &self.signer.watchers {
            watcher.look().await;
        }
    }

    async fn says(&self, path: &str) -> String {
        reqwest::get(format!("{}{path}", self.url)).await.unwrap().text().await.unwrap()
    }

    async fn health(&self) -> Value {
        let health: Value = serde_json::from_str(&self.says("/health/ready").await).unwrap();
        health["chains"][0].clone()
    }
}

/// Two nodes of one chain, of which the second has its own idea of how a charge went that is final for
/// both.
async fn two_records(family: Family) -> (Town, Vec<Proxy>, String) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::on(family) };
    let (town, proxies) = Town::with_nodes(2, founding).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    match family {
        Family::Evm => {
            proxies.iter().for_each(Proxy::tells_no_block);
            proxies[1].fault("eth_getTransactionReceipt", Act::Rewrite(reverted));
        }
        Family::Tron => proxies[1].fault("gettransactioninfobyid", Act::Rewrite(failed_on_tron)),
    }
    (town, proxies, hash)
}

/// Whether the metrics name a node in a dispute.
fn is_disputed(metrics: &str) -> bool {
    let gauges = metrics.lines().filter(|line| line.starts_with("signer_disputed_batches{"));
    gauges.into_iter().any(|gauge| !gauge.ends_with(" 0"))
}

async fn nodes_that_dispute_a_record_for_ten_minutes_are_both_named(family: Family) {
    let (town, proxies, hash) = two_records(family).await;
    let log = Log::default();
    let _kept = log.kept();
    let inside = Inside::of(&town).await;
    let disputes = "told different records";
    for _ in 0..120 {
        town.anvil.mine(1).await;
        inside.looks().await;
    }
    let health = inside.health().await;
    assert_eq!(health["undecided"], 1, "nothing follows of it: {health}");
    assert_eq!(health["disputed"], json!([]), "it may pass: {health}");
    assert!(!log.text().contains(disputes), "{}", log.text());
    assert!(!is_disputed(&inside.says("/metrics").await));

    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(10)).await;
    tokio::time::resume();
    inside.looks().await;
    let health = inside.health().await;
    let nodes = [0, 1].map(|at| health["nodes"][at]["node"].as_str().unwrap().to_owned());
    assert_eq!(health["undecided"], 1, "nor after ten minutes: {health}");
    assert_eq!(health["disputed"], json!([{"batch": 1, "nodes": nodes}]), "{health}");
    for at in [0, 1] {
        let caught = health["nodes"][at]["caught"].as_str().unwrap_or_default();
        assert!(caught.contains("disagreed with the others"), "{health}");
    }
    let metrics = inside.says("/metrics").await;
    let log = log.text();
    let line = log.lines().find(|line| line.contains(disputes)).expect("it is in the log");
    for node in &nodes {
        let gauge = format!("signer_disputed_batches{{chain=\"139\",node=\"{node}\"}} 1");
        assert!(metrics.contains(&gauge), "{metrics}");
        assert!(line.contains("ERROR") && line.contains(node.as_str()), "{line}");
    }

    // They agree again, and all of it is over.
    proxies[1].heal();
    inside.looks().await;
    let health = inside.health().await;
    assert_eq!((&health["undecided"], &health["disputed"]), (&json!(0), &json!([])), "{health}");
    assert!(!is_disputed(&inside.says("/metrics").await));
    inside.signer.engine.journal.close().await;
    let signer = town.signer().await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}
