//! Where the benchmark happens: anvil with one block a second, a contract that can be billed again
//! and again, the Signer as a release binary, and the script that it is compared with.

use crate::world::anvil::{Anvil, Mining, Options, Rpc};
use crate::world::contracts::{self, AnyToken, PlainCharge, Token, deploy, somebody};
use crate::world::proxy::Proxy;
use crate::world::signer::{CALLER, EVM_PATH, Installation, SECRET, Scheduler, Signer};
use crate::world::town;
use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::sol_types::{SolCall as _, SolValue as _};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Which service a load goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Signer,
    Naive,
}

impl Kind {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Signer => EVM_PATH,
            Self::Naive => "/",
        }
    }
}

/// How the Signer reads from contracts: through a multicall or one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    Together,
    Apart,
}

pub(crate) struct Stage {
    pub(crate) anvil: Anvil,
    /// One for each node that the Signer knows.
    pub(crate) proxies: Vec<Proxy>,
    contract: Address,
    multicall: Address,
    token: Address,
    users: Vec<(B256, Address)>,
    /// What the Signer is told of the chain.
    config: String,
}

impl Stage {
    /// The Signer speaks to the node directly.
    pub(crate) async fn set(users: usize, keys: &str) -> Self {
        let usual = "poll_interval = \"1s\"\nrebroadcast_interval = \"10s\"";
        Self::build(users, &format!("{usual}\n{keys}"), Reads::Together, 0).await
    }

    /// The Signer speaks to so many nodes through proxies that count, and looks at the head so rarely
    /// that a request is alone on the wire.
    pub(crate) async fn counting(users: usize, reads: Reads, nodes: usize) -> Self {
        Self::build(users, "poll_interval = \"60s\"", reads, nodes).await
    }

    /// The Signer speaks to so many nodes through proxies, and looks at the head as usual.
    pub(crate) async fn through_proxies(users: usize, nodes: usize) -> Self {
        let usual = "poll_interval = \"1s\"\nrebroadcast_interval = \"10s\"";
        Self::build(users, usual, Reads::Together, nodes).await
    }

    /// `nodes` counts proxies between the Signer and the chain; none when it speaks to it directly.
    async fn build(users: usize, keys: &str, reads: Reads, nodes: usize) -> Self {
        let gas = ["--gas-limit", "300000000", "--order", "fifo"].map(str::to_owned).to_vec();
        let anvil = Anvil::with(Options { mining: Mining::EverySeconds(1), extra: gas }).await;
        anvil.set_automine(true).await;
        let rpc = anvil.rpc();
        let token = Token::deploy(&rpc, contracts::Kind::Plain, 6).await.address;
        let arguments = (token, somebody("payee")).abi_encode();
        let contract = deploy(&rpc, "PlainCharge", arguments).await;
        let deployed = deploy(&rpc, "Multicall3", vec![]).await;
        let multicall = match reads {
            Reads::Together => deployed,
            Reads::Apart => Address::repeat_byte(0xEE),
        };
        let users: Vec<_> = (0..users)
            .map(|n| (keccak256(format!("user {n}")), somebody(&format!("user {n}"))))
            .collect();
        let wallets: Vec<_> = users.iter().map(|(_, wallet)| *wallet).collect();
        rpc.fund(&wallets).await;
        // Anvil's automine misses some of a larger crowd.
        for crowd in users.chunks(100) {
            enrol(&rpc, crowd, token, contract).await;
        }
        let rich = json!([town::signer_address(), U256::from(10_u128.pow(24))]);
        drop::<Value>(rpc.call("anvil_setBalance", rich).await);
        anvil.set_automine(false).await;
        drop::<Value>(rpc.call("evm_setIntervalMining", json!([1])).await);
        let mut proxies = Vec::new();
        for _ in 0..nodes {
            proxies.push(Proxy::before(&anvil.url).await);
        }
        let urls: Vec<&str> = proxies.iter().map(|proxy| proxy.url.as_str()).collect();
        let urls = if urls.is_empty() { anvil.url.clone() } else { urls.join(" ") };
        let keys = format!("max_in_flight = 100000\n{keys}");
        let chain = town::paper::chain(&urls, contract, multicall, &keys);
        let profile = "[chains.139.billing]\ncall = \"charge(bytes32[] userHash, uint256[] amount)\"\n\
                       charged = \"event Charged(bytes32 indexed userHash, uint256 amount)\"\nperiod = \"period\"\n";
        let config = format!("{chain}{profile}");
        Self { anvil, proxies, contract, multicall, token, users, config }
    }

    /// The `n`th request for `size` users. Those that are under way together are for different
    /// users, as a scheduler's are; each is for a period of its own.
    pub(crate) fn batch(&self, size: usize, n: usize) -> Value {
        let groups = self.users.len() / size;
        let (from, period) = ((n % groups) * size, n + 1);
        let entries: Vec<_> = self.users[from..from + size]
            .iter()
            .zip(from..)
            .map(|((hash, wallet), id)| {
                json!({"subscribeId": id, "chainId": town::CHAIN, "planId": 1, "planVersion": 1,
                       "userHash": hash, "userWallet": wallet, "tokenAddress": self.token,
                       "period": period, "amount": 1_000_000})
            })
            .collect();
        Value::Array(entries)
    }

    /// A Signer of this program, on a journal of its own.
    pub(crate) async fn signer(&self) -> Running {
        Running::on(self.installation(None)).await
    }

    /// A place for a Signer with a journal of its own: for this program, or for an earlier one.
    pub(crate) fn installation(&self, earlier: Option<&Path>) -> Installation {
        let installation = match earlier {
            None => Installation::new(&self.config),
            Some(program) => {
                let bytes = std::fs::read(program).unwrap();
                let known = |line: &&str| !is_newer(line, &bytes);
                let config: Vec<&str> = self.config.lines().filter(known).collect();
                Installation::of(program.to_owned(), &(config.join("\n") + "\n"))
            }
        };
        let installation = installation.env("SIGNER__LOG__FILTER", "info");
        town::put_key(&installation);
        installation
    }

    /// The script, with the same key and contract.
    pub(crate) fn naive(&self) -> Naive {
        let script = format!("{}/tests/bench/naive/server.mjs", env!("CARGO_MANIFEST_DIR"));
        let mut process = Command::new("node")
            .arg(script)
            .env("RPC_URL", &self.anvil.url)
            .env("PRIVATE_KEY", format!("0x{}", town::KEY))
            .env("CONTRACT", self.contract.to_string())
            .env("MULTICALL", self.multicall.to_string())
            .env("PORT", "0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        let url = lines
            .find_map(|line| line.strip_prefix("listening on ").map(str::to_owned))
            .expect("the script says where it listens");
        let client = reqwest::Client::new();
        let scheduler =
            Scheduler { url, key: CALLER.into(), secret: SECRET.into(), client, path: "/" };
        Naive { process, scheduler }
    }

    pub(crate) async fn snapshot(&self) -> String {
        self.anvil.call("evm_snapshot", json!([])).await
    }

    /// Puts the chain back, so that the next contender finds the same.
    pub(crate) async fn revert(&self, snapshot: &str) {
        let reverted: bool = self.anvil.call("evm_revert", json!([snapshot])).await;
        assert!(reverted, "the chain goes back");
        drop::<Value>(self.anvil.call("anvil_dropAllTransactions", json!([])).await);
    }
}

/// Keys of the stage's configuration that earlier programs do not have, and do without.
const NEWER: [&str; 2] = ["clock_tolerance", "idle_poll_interval"];

/// Returns true if a line of the configuration has a key that a program has never heard of.
fn is_newer(line: &str, program: &[u8]) -> bool {
    let knows = |key: &str| program.windows(key.len()).any(|bytes| bytes == key.as_bytes());
    let named = NEWER.iter().find(|key| line.starts_with(**key));
    named.is_some_and(|key| !program.starts_with(b"#!") && !knows(key))
}

/// A Signer at work, and the place that it works in.
pub(crate) struct Running {
    signer: Signer,
    _room: Installation,
}

impl Running {
    pub(crate) async fn on(room: Installation) -> Self {
        let signer = room.start().await;
        // A chain that was put back has no final block for a moment.
        signer.ready().await;
        Self { signer, _room: room }
    }
}

impl Deref for Running {
    type Target = Signer;

    fn deref(&self) -> &Signer {
        &self.signer
    }
}

/// Tokens, an approval and a place in the contract for each.
async fn enrol(rpc: &Rpc, crowd: &[(B256, Address)], token: Address, contract: Address) {
    let mint = |wallet| AnyToken::mintCall { to: wallet, value: U256::MAX >> 16 }.abi_encode();
    let approve = AnyToken::approveCall { spender: contract, value: U256::MAX }.abi_encode();
    let join = |hash, wallet| PlainCharge::setWalletCall { userHash: hash, wallet }.abi_encode();
    let mints = crowd.iter().map(|(_, wallet)| (*wallet, token, mint(*wallet).into()));
    rpc.execute_all(mints.collect()).await;
    let approvals = crowd.iter().map(|(_, wallet)| (*wallet, token, approve.clone().into()));
    rpc.execute_all(approvals.collect()).await;
    let joins = crowd.iter().map(|(hash, w)| (*w, contract, join(*hash, *w).into()));
    rpc.execute_all(joins.collect()).await;
}

/// The script, running.
pub(crate) struct Naive {
    process: Child,
    pub(crate) scheduler: Scheduler,
}

impl Drop for Naive {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
