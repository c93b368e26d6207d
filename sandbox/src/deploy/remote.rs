//! A local node that somebody else runs, as a ground for a town: anvil, Hardhat, `geth --dev`. It is asked over
//! JSON-RPC, and its own first account pays for everything.

use crate::demo::Error;
use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718 as _;
use alloy::primitives::{Address, B256, Bytes, TxKind, U64, U256};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use reqwest::Client;
use sandbox_chains::town::{Call, Ground};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Handle;

/// Gas for a call, and for the largest deployment.
const CALL_GAS: u64 = 400_000;
const DEPLOY_GAS: u64 = 8_000_000;

/// Amount that each account gets: ten ether (wei).
const PURSE: u128 = 10_000_000_000_000_000_000;

/// Number of times to ask whether a transaction is in a block, and the time between them.
const TRIES: u32 = 300;
const BETWEEN: Duration = Duration::from_millis(100);

/// The node. Used off the runtime's threads.
pub(super) struct Remote {
    client: Client,
    url: String,
    chain_id: u64,
    /// The node signs for it.
    rich: Address,
    runtime: Handle,
}

impl Remote {
    /// Asks a node who it is.
    pub(super) async fn at(url: &str) -> Result<Self, Error> {
        let (client, runtime) = (Client::builder().no_proxy().build()?, Handle::current());
        let mut node =
            Self { client, url: url.to_owned(), chain_id: 0, rich: Address::ZERO, runtime };
        let id: U64 = node.ask("eth_chainId", json!([])).await?;
        let accounts: Vec<Address> = node.ask("eth_accounts", json!([])).await?;
        let rich = accounts.first().ok_or_else(|| {
            format!(
                "the node at {url} has no account of its own that could pay: this is for a local node, such as anvil. \
                 If a running sandbox has this port, stop it, or name another node with --rpc"
            )
        })?;
        (node.chain_id, node.rich) = (id.to(), *rich);
        Ok(node)
    }

    /// Number of transactions that an account has made.
    pub(super) async fn transactions(&self, of: Address) -> Result<u64, Error> {
        let count: U64 = self.ask("eth_getTransactionCount", json!([of, "latest"])).await?;
        Ok(count.to())
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, Error> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let sent = self.client.post(&self.url).header("content-type", "application/json");
        let answer = sent.body(body.to_string()).send().await.map_err(|why| {
            format!(
                "no node answers at {}: start one, such as `anvil --block-time 1` ({why})",
                self.url
            )
        })?;
        let answer: Value = serde_json::from_slice(&answer.bytes().await?)?;
        match answer.get("result") {
            Some(result) => Ok(serde_json::from_value(result.clone())?),
            None => Err(format!("{method}: {}", answer["error"]).into()),
        }
    }

    /// Asks the node, and ends the command with a panic on an error that the trait cannot return.
    fn must<T: DeserializeOwned>(&self, method: &str, params: Value) -> T {
        let answered = self.runtime.block_on(self.ask(method, params));
        answered.unwrap_or_else(|why| panic!("the node at {} does not do it: {why}", self.url))
    }

    /// Sends it, signed by its own sender.
    fn submit(&self, from: &PrivateKeySigner, to: TxKind, input: Bytes, gas_limit: u64) -> B256 {
        let nonce: U64 = self.must("eth_getTransactionCount", json!([from.address(), "pending"]));
        let tx = TxEip1559 {
            chain_id: self.chain_id,
            nonce: nonce.to(),
            gas_limit,
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 1_000_000_000,
            to,
            input,
            ..TxEip1559::default()
        };
        let signature = from.sign_hash_sync(&tx.signature_hash()).expect("a key signs any digest");
        let raw = Bytes::from(TxEnvelope::from(tx.into_signed(signature)).encoded_2718());
        self.must("eth_sendRawTransaction", json!([raw]))
    }

    /// Waits until it is in a block, where it must have succeeded.
    fn included(&self, id: B256) -> Value {
        for _ in 0..TRIES {
            let receipt: Value = self.must("eth_getTransactionReceipt", json!([id]));
            if !receipt.is_null() {
                assert_eq!(
                    receipt["status"], "0x1",
                    "a transaction of the deployment failed: {receipt}"
                );
                return receipt;
            }
            std::thread::sleep(BETWEEN);
        }
        panic!("the node makes no block: anvil needs --block-time 1, or no --no-mining")
    }
}

impl Ground for Remote {
    fn chain_id(&self) -> u64 {
        self.chain_id
    }

    fn endow(&self, accounts: &[Address]) {
        let value = U256::from(PURSE);
        let send = |to: &Address| {
            self.must("eth_sendTransaction", json!([{"from": self.rich, "to": to, "value": value}]))
        };
        let sent: Vec<B256> = accounts.iter().map(send).collect();
        for id in sent {
            self.included(id);
        }
    }

    fn deploy(&self, from: &PrivateKeySigner, creation: Bytes) -> Address {
        let receipt = self.included(self.submit(from, TxKind::Create, creation, DEPLOY_GAS));
        serde_json::from_value(receipt["contractAddress"].clone()).expect("a deployment creates")
    }

    fn execute(&self, calls: Vec<Call>) {
        let send = |call: Call| self.submit(&call.from, TxKind::Call(call.to), call.data, CALL_GAS);
        let sent: Vec<B256> = calls.into_iter().map(send).collect();
        for id in sent {
            self.included(id);
        }
    }

    fn view(&self, to: Address, data: Bytes) -> Bytes {
        self.must("eth_call", json!([{"to": to, "data": data}, "latest"]))
    }
}
