//! The answers of a Signer with a journal of this size when it is asked whether all is well, and how long the gas
//! lasts: the program itself, with a chain of one node in this process.

use crate::book::{CONTRACT, LANE};
use crate::sample::Sample;
use alloy::primitives::{Address, U256};
use axum::serve;
use config::Config;
use host::clock::Clock;
use merchant_signer::app::{self, Machine, Sockets};
use node::Http;
use sandbox_chains::chain::{Chain, Header, Settings};
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Founding, Town, wallet};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Number of times that each question is asked.
const ASKED: usize = 200;

/// The three questions, by what is asked: readiness is what `merchant-signer status` asks.
pub(crate) struct Well {
    /// Time until the Signer is ready, ms.
    pub(crate) start_ms: f64,
    pub(crate) ready: Sample,
    pub(crate) metrics: Sample,
}

/// Starts a Signer on the journal at `path`, in which the account has used so many nonces, and asks it.
pub(crate) async fn ask(path: &Path, nonces: u64) -> Well {
    let signer = wallet("the signer of this year");
    let node = node(signer.address(), nonces);
    node.run(Duration::from_secs(1));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "it is aborted below")]
    let served = tokio::spawn(async move { serve(listener, eth::router(node)).await });
    let key = path.with_extension("key");
    std::fs::write(&key, alloy::hex::encode(signer.to_bytes())).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[journal]\npath = \"{path}\"\n\
         [callers.tests]\nkey = \"tests\"\nsecret = \"a secret of some length\"\n\
         [chains.139]\nname = \"sandbox\"\nfamily = \"evm\"\neip155_id = 31337\nrpc = [{url:?}]\n\
         contract = \"{CONTRACT}\"\nkey = \"file:{key}\"\ntest = true\n\
         [chains.139.fees]\nmax_fee_per_gas = \"500 gwei\"\nmax_priority_fee_per_gas = \"5 gwei\"\n\
         max_tx_cost = \"10 ether\"\n[chains.139.billing]\nprofile = \"reference\"\n\
         [chains.139.billing.constants]\nmerKey = \"{CONTRACT}\"\n",
        path = path.display(),
        key = key.display(),
    );
    let config = Config::from_toml(&config, &[]).unwrap();
    let begun = std::time::Instant::now();
    let running =
        app::start(config.clone(), Machine::real(&Http::new(config.outbound)), Sockets::default())
            .await
            .unwrap();
    let at = running.address;
    while !get(at, "/health/ready").await.starts_with("HTTP/1.1 200") {
        assert!(begun.elapsed() < Duration::from_mins(5), "{}", get(at, "/health/ready").await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let start_ms = begun.elapsed().as_secs_f64() * 1e3;
    let (mut ready, mut metrics) = (Sample::default(), Sample::default());
    for _ in 0..ASKED {
        assert!(ready.time(get(at, "/health/ready")).await.contains("\"status\":\"ready\""));
        let told = metrics.time(get(at, "/metrics")).await;
        assert!(told.contains("signer_billings_left{chain=\"139\"} "), "{told}");
    }
    running.shutdown().await;
    served.abort();
    Well { start_ms, ready, metrics }
}

/// A chain with the contract of the journal, on which its account has sent what the journal knows, and the one
/// of today nothing.
fn node(signer: Address, nonces: u64) -> Node<Evm> {
    let now = u64::try_from(Clock::MACHINE.unix_ms()).unwrap() / 1000;
    let rules = Evm { base_fee: Some(1_000_000_000), ..Evm::default() };
    let settings = Settings { lag: 2, ..Settings::default() };
    let genesis = Header {
        time_ms: (now - 600) * 1000,
        gas_limit: 30_000_000,
        price: 1_000_000_000,
        ..Header::default()
    };
    let node = Node::new(Chain::new(rules, settings, genesis, State::new(())));
    let wanted = Founding { biller: signer, decimals: 6, price: 1, people: 1, trial: 0 };
    let town = Town::found(&node, wanted);
    let code = node.chain().head_state().account(&town.billing).unwrap().code.clone();
    node.chain().edit_all(|state| {
        state.account_mut(CONTRACT).code.clone_from(&code);
        state.account_mut(LANE.signer).nonce = nonces;
        state.account_mut(signer).balance = U256::from(1_000_000_000_000_000_000_000_u128);
    });
    let behind_ms = (now * 1000).saturating_sub(node.chain().head().header.time_ms);
    let slots = behind_ms / node.chain().settings().slot_ms;
    node.skip(slots);
    node.steps(4);
    node
}

/// Requests a path and returns the answer, head and body.
async fn get(at: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let asked = format!("GET {path} HTTP/1.1\r\nHost: signer\r\nConnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).await.unwrap();
    told
}
