//! Blocks that no honest node can prove, and nodes that lie about blocks that others prove.

use super::recorded::{CHAIN_ID, config, exchanges};
use crate::{BlockReader, Endpoints, Side, fleet};
use alloy::primitives::{Address, B256};
use async_trait::async_trait;
use config::{RpcUrl, TvmNode};
use k256::ecdsa::SigningKey;
use node::{Dial, Exchange, Fleet, NoReply, NodeId, Reply, Target, Undialable};
use parking_lot::Mutex;
use prost::Message as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use tron_primitives::address::{prefixed, to_hex};
use tron_primitives::block::{ProvenBlock, merkle_root};
use tron_primitives::messages::{HeaderRaw, Ret, Transaction};
use tron_primitives::result::ContractResult;

const NUMBER: u64 = 500;

/// A field of a later java-tron, which the HTTP API does not show: number 14, value 1.
const HIDDEN_FIELD: [u8; 2] = [14 << 3, 1];

fn sha(bytes: &[u8]) -> B256 {
    B256::from_slice(&Sha256::digest(bytes))
}

/// A true block with these transactions, each with the word for how it went, as an honest node shows it. `more` stands
/// behind the first transaction, where no answer shows it.
fn block(holds: &[(u8, &str)], more: &[u8]) -> Value {
    let (mut leaves, mut shown) = (vec![], vec![]);
    for (seed, word) in holds {
        let (raw_data, signature) = (vec![*seed; 90], vec![vec![*seed; 65]]);
        // The number of a word that is not known here.
        let contract_ret = ContractResult::of_word(word).map_or(16, ContractResult::number);
        let ret = vec![Ret { contract_ret, ..Ret::default() }];
        shown.push(json!({
            "txID": hex::encode(sha(&raw_data)), "raw_data_hex": hex::encode(&raw_data),
            "signature": [hex::encode(&signature[0])], "ret": [{ "contractRet": word }],
        }));
        let message = Transaction { raw_data, signature, ret }.encode_to_vec();
        let behind: &[u8] = if leaves.is_empty() { more } else { &[] };
        leaves.push(sha(&[&message, behind].concat()));
    }
    let key = SigningKey::from_slice(&[0x77; 32]).unwrap();
    let maker = Address::from_public_key(key.verifying_key());
    let (root, parent) = (merkle_root(leaves), B256::repeat_byte(3));
    let raw = HeaderRaw {
        timestamp: 9_000,
        tx_trie_root: root.to_vec(),
        parent_hash: parent.to_vec(),
        number: i64::try_from(NUMBER).unwrap(),
        witness_address: prefixed(maker).to_vec(),
        ..HeaderRaw::default()
    };
    let mut id = sha(&raw.encode_to_vec());
    let (signature, recovery) = key.sign_prehash_recoverable(id.as_slice()).unwrap();
    id[..8].copy_from_slice(&NUMBER.to_be_bytes());
    json!({
        "blockID": hex::encode(id),
        "block_header": {
            "raw_data": {
                "number": NUMBER, "timestamp": 9_000, "txTrieRoot": hex::encode(root),
                "parentHash": hex::encode(parent), "witness_address": to_hex(maker),
            },
            "witness_signature": hex::encode([&signature.to_bytes()[..], &[recovery.to_byte()]].concat()),
        },
        "transactions": shown,
    })
}

/// The same without its last transaction.
fn hiding(block: &Value) -> Value {
    let mut block = block.clone();
    block["transactions"].as_array_mut().unwrap().pop();
    block
}

/// The one block that each host tells.
#[derive(Clone, Debug, Default)]
struct World(Arc<Mutex<HashMap<String, Value>>>);

#[derive(Debug)]
struct Host(World, String);

impl Dial for World {
    fn dial(&self, target: Target<'_>) -> Result<Arc<dyn Exchange>, Undialable> {
        Ok(Arc::new(Host(self.clone(), target.url.host())))
    }

    fn seed(&self) -> u64 {
        0
    }
}

#[async_trait]
impl Exchange for Host {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Reply, NoReply> {
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let genesis =
            exchanges().iter().find(|one| one.asked == asked && one.path == "/wallet/getblock");
        let told = self.0.0.lock().get(&self.1).cloned().unwrap();
        let body = match genesis {
            Some(genesis) => genesis.sent.clone(),
            None if path.ends_with("getblockbylimitnext") => json!({ "block": [told] }).to_string(),
            None => told.to_string(),
        };
        Ok(Reply { status: 200, retry_after: None, body: body.into_bytes() })
    }

    async fn get(&self, _: &str, _: &[(&str, u64)]) -> Result<Reply, NoReply> {
        Err(NoReply::Refused)
    }
}

struct Town {
    world: World,
    fleet: Arc<Fleet<Endpoints>>,
    reader: BlockReader,
}

/// Providers that tell these blocks.
async fn town(told: &[&Value]) -> Town {
    let world = World::default();
    let mut config = config("http://none", "http://none");
    assert_eq!(config.chain_id, CHAIN_ID);
    config.nodes.clear();
    for (place, told) in told.iter().enumerate() {
        let host = format!("node{place}.example");
        let url = RpcUrl::parse(&format!("http://{host}")).unwrap();
        world.0.lock().insert(host, (*told).clone());
        config.nodes.push(TvmNode {
            full: url.clone(),
            solidity: url,
            jsonrpc: None,
            api_key: None,
        });
    }
    let fleet = Arc::new(fleet(&world, &config).unwrap());
    for (_, verified) in fleet.verify_all().await {
        verified.unwrap();
    }
    Town { reader: BlockReader::new(Arc::clone(&fleet)), world, fleet }
}

impl Town {
    async fn agreed(&self) -> Option<ProvenBlock> {
        self.reader.agreed(NUMBER).await
    }

    /// Returns true if the node proves its block.
    async fn proves(&self, node: usize) -> bool {
        self.reader.block(NodeId(node), Side::Full, NUMBER).await.is_some()
    }

    fn tells(&self, node: usize, block: &Value) {
        self.world.0.lock().insert(format!("node{node}.example"), block.clone());
    }

    /// The nodes that are not believed any more.
    fn caught(&self) -> Vec<usize> {
        let fit = self.fleet.fit();
        let all = 0..self.fleet.clients().count();
        all.filter(|node| !fit.contains(&NodeId(*node))).collect()
    }
}

/// Each kind of block that an honest node cannot prove.
fn unprovable() -> [Value; 2] {
    let hidden = block(&[(1, "SUCCESS"), (2, "REVERT")], &HIDDEN_FIELD);
    let word = block(&[(1, "SUCCESS"), (2, "REVERT"), (3, "OF_A_LATER_NODE")], &[]);
    [hidden, word]
}

#[tokio::test]
async fn a_block_that_no_answer_proves_convicts_nobody() {
    for told in unprovable() {
        let town = town(&[&told, &told]).await;
        for node in [0, 1, 0] {
            assert!(!town.proves(node).await);
            let range = NUMBER..NUMBER + 2;
            assert!(town.reader.blocks(NodeId(node), Side::Full, range).await.is_err());
        }
        assert_eq!(town.caught(), [0; 0]);
    }
}

/// They could hide a transaction so.
#[tokio::test]
async fn such_a_block_decides_nothing_however_many_tell_it_alike() {
    for told in unprovable() {
        let town = town(&[&told, &told, &told]).await;
        assert_eq!(town.agreed().await, None);
        assert_eq!(town.caught(), [0; 0]);
        let mut renamed = told.clone();
        renamed["transactions"][0]["txID"] = json!(hex::encode([9; 32]));
        town.tells(1, &renamed);
        assert_eq!(town.agreed().await, None);
        assert_eq!(town.caught(), [1], "an id that does not follow from its bytes is a lie");
    }
}

#[tokio::test]
async fn whoever_hides_a_transaction_is_caught_by_another_answer_before_or_after() {
    let honest = block(&[(1, "SUCCESS"), (2, "SUCCESS")], &[]);
    for order in [[0, 1], [1, 0]] {
        let town = town(&[&honest, &hiding(&honest)]).await;
        for node in order {
            assert_eq!(town.proves(node).await, node == 0);
        }
        assert_eq!(town.caught(), [1], "{order:?}");
    }
}

#[tokio::test]
async fn two_who_hide_the_same_are_not_believed_where_a_third_proves_the_block() {
    let honest = block(&[(1, "SUCCESS"), (2, "SUCCESS")], &[]);
    for proves in 0..3 {
        let mut told = [&honest, &honest, &honest];
        let lie = hiding(&honest);
        for (place, told) in told.iter_mut().enumerate() {
            if place != proves {
                *told = &lie;
            }
        }
        let town = town(&told).await;
        assert_eq!(town.agreed().await, None);
        let liars: Vec<usize> = (0..3).filter(|place| *place != proves).collect();
        assert_eq!(town.caught(), liars);
    }
}

#[tokio::test]
async fn a_header_that_does_not_prove_itself_is_a_lie_by_itself() {
    let mut told = block(&[(1, "SUCCESS")], &[]);
    told["block_header"]["raw_data"]["timestamp"] = json!(9_001);
    let town = town(&[&told]).await;
    assert!(!town.proves(0).await);
    assert_eq!(town.caught(), [0]);
}
