//! A real EVM chain in a process of its own, and a small client that speaks to it.
//!
//! The chain dies with its handle. A step that goes wrong panics with what the node said.

mod control;

use super::patience::PATIENCE;
use std::{
    io::{BufRead as _, BufReader},
    ops::Deref,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use alloy::{
    primitives::{Address, B256, Bytes, U256},
    rpc::{
        client::{BatchRequest, RpcClient},
        types::{TransactionReceipt, TransactionRequest},
    },
    sol_types::SolCall,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Enough for a batch of a hundred, and under the cap of EIP-7825.
const GAS: u64 = 16_000_000;

/// How long to wait before anvil is told to make a block.
const OVERSLEPT: Duration = Duration::from_secs(5);

/// When blocks are made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Mining {
    /// One block per transaction, at once.
    #[default]
    EachTransaction,
    /// One block every so many seconds.
    EverySeconds(u64),
    /// Only when a test says so. Set the world up first: see [`Rpc::set_automine`].
    OnRequest,
}

/// How a chain differs from the usual one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) mining: Mining,
    /// Passed on to anvil as they are.
    pub(crate) extra: Vec<String>,
}

/// The two families of chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Family {
    #[default]
    Evm,
    Tron,
}

/// A running chain. `finalized` is two blocks behind the head.
#[derive(Debug)]
pub(crate) struct Anvil {
    /// None where something else speaks anvil's dialect.
    process: Option<Child>,
    rpc: Rpc,
    pub(crate) url: String,
    /// Ten rich accounts that the node signs for.
    pub(crate) accounts: Vec<Address>,
}

impl Anvil {
    /// A chain that mines each transaction at once.
    pub(crate) async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let mut command = Command::new(binary());
        command.args(["--port", "0", "--slots-in-an-epoch", "1"]);
        match options.mining {
            Mining::EachTransaction => {}
            Mining::EverySeconds(seconds) => {
                command.args(["--block-time", &seconds.to_string()]);
            }
            Mining::OnRequest => {
                command.arg("--no-mining");
            }
        }
        let mut process = command
            .args(options.extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("anvil starts");
        let url = listening(&mut process);
        let rpc = Rpc::new(&url);
        let accounts = rpc.call("eth_accounts", json!([])).await;
        Self { process: Some(process), rpc, url, accounts }
    }

    /// A chain of another make, as it comes: tests/node/chains.mjs knows them. `url` is the node's own; what a test
    /// does to the chain goes past that.
    pub(crate) async fn of_make(make: &str) -> Self {
        let mut process = Command::new("node")
            .args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/node/chains.mjs"), make])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (url, dialect) = line.trim().split_once(' ').expect("it says where it listens");
        let rpc = Rpc::new(dialect);
        let accounts = rpc.call("eth_accounts", json!([])).await;
        Self { process: Some(process), rpc, url: url.to_owned(), accounts }
    }

    /// A chain of another kind that speaks the same dialect.
    pub(crate) async fn elsewhere(url: &str, family: Family) -> Self {
        let rpc = Rpc { family, ..Rpc::new(url) };
        let accounts = rpc.call("eth_accounts", json!([])).await;
        Self { process: None, rpc, url: url.to_owned(), accounts }
    }

    /// A client that can outlive this borrow.
    pub(crate) fn rpc(&self) -> Rpc {
        self.rpc.clone()
    }
}

impl Deref for Anvil {
    type Target = Rpc;

    fn deref(&self) -> &Rpc {
        &self.rpc
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill().ok();
            process.wait().ok();
        }
    }
}

/// Where npm puts the binary. The launcher package `@foundry-rs/anvil` needs a postinstall step and is
/// not used. The lock file has the Linux binary alone; elsewhere it is one
/// `npm install --no-save --ignore-scripts @foundry-rs/anvil-<os>-<arch>@1.7.1` in `tests/node`.
fn binary() -> PathBuf {
    let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/node/node_modules/@foundry-rs/anvil-{os}-{arch}/bin/anvil"));
    assert!(path.exists(), "run ./test once: it installs anvil ({} is missing)", path.display());
    path
}

/// The address that anvil says it listens on. The rest of its output must be read as well, or it
/// blocks on a full pipe.
fn listening(process: &mut Child) -> String {
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let url = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("Listening on ").map(|at| format!("http://{at}")))
        .expect("anvil says where it listens");
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    url
}

/// What a node said no with.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
    /// Revert data, where there is any.
    pub(crate) data: Bytes,
}

/// A JSON-RPC client for tests. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Rpc {
    client: RpcClient,
    family: Family,
}

impl Rpc {
    pub(crate) fn new(url: &str) -> Self {
        Self { client: RpcClient::new_http(url.parse().unwrap()), family: Family::Evm }
    }

    pub(crate) async fn try_call<T>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, Refusal>
    where
        T: DeserializeOwned + Send + Sync + Unpin + std::fmt::Debug + 'static,
    {
        self.client.request(method, params).await.map_err(|error| {
            let said =
                error.as_error_resp().unwrap_or_else(|| panic!("{method} got no answer: {error}"));
            Refusal {
                code: said.code,
                message: said.message.to_string(),
                data: said.as_revert_data().unwrap_or_default(),
            }
        })
    }

    pub(crate) async fn call<T>(&self, method: &'static str, params: Value) -> T
    where
        T: DeserializeOwned + Send + Sync + Unpin + std::fmt::Debug + 'static,
    {
        self.try_call(method, params)
            .await
            .unwrap_or_else(|refusal| panic!("{method}: {refusal:?}"))
    }

    /// The same method many times, in one HTTP request. The order of execution is the node's choice.
    pub(crate) async fn many<T>(&self, method: &'static str, params: Vec<Value>) -> Vec<T>
    where
        T: DeserializeOwned + Send + Sync + Unpin + std::fmt::Debug + 'static,
    {
        if params.is_empty() {
            return vec![];
        }
        let mut batch = BatchRequest::new(&self.client);
        let waiting: Vec<_> = params
            .iter()
            .map(|params| batch.add_call::<_, T>(method, params).expect("params are JSON"))
            .collect();
        batch.await.unwrap_or_else(|error| panic!("a batch of {method}: {error}"));
        let mut answers = vec![];
        for answer in waiting {
            answers.push(answer.await.unwrap_or_else(|error| panic!("{method}: {error}")));
        }
        answers
    }

    // Sending. The node signs, for its own accounts and for every address when it impersonates.

    /// Sends and waits for the receipt, whatever the outcome.
    pub(crate) async fn send(&self, transaction: TransactionRequest) -> TransactionReceipt {
        self.send_all(vec![transaction]).await.remove(0)
    }

    /// Sends without an order among them, so from different senders, and waits for all receipts.
    pub(crate) async fn send_all(
        &self,
        transactions: Vec<TransactionRequest>,
    ) -> Vec<TransactionReceipt> {
        let params = transactions
            .into_iter()
            .map(|transaction| {
                // A limit of one's own spares the node an estimate.
                let gas = transaction.gas.unwrap_or(GAS);
                json!([TransactionRequest { gas: Some(gas), ..transaction }])
            })
            .collect();
        let hashes: Vec<B256> = self.many("eth_sendTransaction", params).await;
        self.receipts(&hashes).await
    }

    /// Waits until every transaction is in a block.
    pub(crate) async fn receipts(&self, hashes: &[B256]) -> Vec<TransactionReceipt> {
        let started = std::time::Instant::now();
        let mut nudge = started + OVERSLEPT;
        loop {
            let asked = hashes.iter().map(|hash| json!([hash])).collect();
            let found: Vec<Option<TransactionReceipt>> =
                self.many("eth_getTransactionReceipt", asked).await;
            if let Some(receipts) = found.iter().cloned().collect() {
                return receipts;
            }
            let waiting = found.iter().filter(|receipt| receipt.is_none()).count();
            assert!(started.elapsed() < PATIENCE, "{waiting} were not mined in {PATIENCE:?}");
            // Automine can sleep through some of a crowd. The next block has those that fit in it, so a large crowd
            // may need several.
            if std::time::Instant::now() > nudge {
                self.mine(1).await;
                nudge += OVERSLEPT;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a contract call that must succeed.
    pub(crate) async fn execute<C: SolCall>(
        &self,
        from: Address,
        to: Address,
        call: &C,
    ) -> TransactionReceipt {
        self.execute_all(vec![(from, to, call.abi_encode().into())]).await.remove(0)
    }

    /// Puts a contract call into the pool and does not wait for a block.
    pub(crate) async fn submit<C: SolCall>(&self, from: Address, to: Address, call: &C) {
        let asked = transaction(from, to, call.abi_encode().into()).gas_limit(GAS);
        self.call::<B256>("eth_sendTransaction", json!([asked])).await;
    }

    /// Sends contract calls from different senders, all of which must succeed.
    pub(crate) async fn execute_all(
        &self,
        calls: Vec<(Address, Address, Bytes)>,
    ) -> Vec<TransactionReceipt> {
        let transactions =
            calls.iter().map(|(from, to, data)| transaction(*from, *to, data.clone())).collect();
        let receipts = self.send_all(transactions).await;
        for ((from, to, data), receipt) in calls.into_iter().zip(&receipts) {
            if !receipt.status() {
                let why = self.simulate(from, to, data, GAS).await;
                panic!("a call from {from} to {to} reverted; now it says {why:?}");
            }
        }
        receipts
    }

    /// Reads from a contract.
    pub(crate) async fn view<C: SolCall>(&self, to: Address, call: &C) -> C::Return {
        self.view_as(Address::ZERO, to, call).await
    }

    /// What a call would return to this caller, without sending it.
    pub(crate) async fn view_as<C: SolCall>(
        &self,
        from: Address,
        to: Address,
        call: &C,
    ) -> C::Return {
        let answer = self
            .simulate(from, to, call.abi_encode().into(), GAS)
            .await
            .unwrap_or_else(|refusal| panic!("{}: {refusal:?}", C::SIGNATURE));
        C::abi_decode_returns(&answer).expect("the contract answers in its own ABI")
    }

    /// The revert data of a call that must fail.
    pub(crate) async fn refusal<C: SolCall>(&self, from: Address, to: Address, call: &C) -> Bytes {
        match self.simulate(from, to, call.abi_encode().into(), GAS).await {
            Ok(answer) => panic!("{} succeeded: {answer}", C::SIGNATURE),
            Err(refusal) => refusal.data,
        }
    }

    pub(crate) async fn simulate(
        &self,
        from: Address,
        to: Address,
        data: Bytes,
        gas: u64,
    ) -> Result<Bytes, Refusal> {
        let asked = transaction(from, to, data).gas_limit(gas);
        self.try_call("eth_call", json!([asked, "latest"])).await
    }

    pub(crate) async fn estimate(&self, from: Address, to: Address, data: Bytes) -> u64 {
        let asked = json!([transaction(from, to, data)]);
        self.call::<U256>("eth_estimateGas", asked).await.to()
    }
}

fn transaction(from: Address, to: Address, data: Bytes) -> TransactionRequest {
    TransactionRequest::default().from(from).to(to).input(data.into())
}
