//! A chain that is made here: its states, blocks, committees and signatures, hashed by code of its own, and told in the
//! form of a beacon node. Its forks come one a period: Capella in period 0, Deneb in 1, Electra in 2, Fulu in 3.

use alloy::primitives::{B256, hex};
use beacon::answer::{Answer, Bootstrap, FinalityUpdate, Update};
use beacon::network::{Fork, ForkName, Network};
use blst::min_pk::{AggregateSignature, SecretKey, Signature};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) const PERIOD: u64 = 8192;
pub(crate) type Node = [u8; 32];

/// The members of eight periods. Those of the ninth are those of the first, and so on.
static COMMITTEES: LazyLock<Vec<Vec<SecretKey>>> = LazyLock::new(|| {
    let member = |period: u64, place: u64| {
        let seed = [period.to_le_bytes(), place.to_le_bytes(), [7; 8], [9; 8]].concat();
        SecretKey::key_gen(&seed, &[]).unwrap()
    };
    (0..8).map(|period| (0..512).map(|place| member(period, place)).collect()).collect()
});

/// The committees as a node tells them.
static TOLD: LazyLock<Vec<Value>> =
    LazyLock::new(|| COMMITTEES.iter().map(|members| told(members)).collect());

fn told(members: &[SecretKey]) -> Value {
    let key = |member: &SecretKey| hex::encode_prefixed(member.sk_to_pk().to_bytes());
    let keys: Vec<String> = members.iter().map(key).collect();
    json!({ "pubkeys": keys, "aggregate_pubkey": keys[0] })
}

pub(crate) fn committee(period: u64) -> Value {
    TOLD[usize::try_from(period % 8).unwrap()].clone()
}

pub(crate) fn network() -> Network {
    let fork = |name, epoch, version| Fork { name, epoch, version: [version, 0, 0, 1] };
    Network {
        genesis_validators_root: B256::repeat_byte(0x55),
        genesis_time: 1_700_000_000,
        seconds_per_slot: 12,
        forks: vec![
            fork(ForkName::Capella, 0, 3),
            fork(ForkName::Deneb, 256, 4),
            fork(ForkName::Electra, 512, 5),
            fork(ForkName::Fulu, 768, 6),
        ],
    }
}

/// The name of the fork of a slot, as a node tells it.
pub(crate) fn version(slot: u64) -> &'static str {
    ["capella", "deneb", "electra", "fulu"][usize::try_from(slot / PERIOD).unwrap().min(3)]
}

pub(crate) fn hash(left: Node, right: Node) -> Node {
    Sha256::digest([left, right].concat()).into()
}

/// A tree of which only some nodes are given. All others are filled in.
pub(crate) struct Tree(pub(crate) BTreeMap<u64, Node>);

impl Tree {
    pub(crate) fn node(&self, at: u64) -> Node {
        let below = |given: &u64| (0..64).any(|up| given >> up == at);
        if let Some(node) = self.0.get(&at) {
            *node
        } else if self.0.keys().any(below) {
            hash(self.node(2 * at), self.node(2 * at + 1))
        } else {
            Sha256::digest(at.to_le_bytes()).into()
        }
    }

    pub(crate) fn branch(&self, mut at: u64) -> Value {
        let mut branch = vec![];
        while at > 1 {
            branch.push(hex::encode_prefixed(self.node(at ^ 1)));
            at /= 2;
        }
        json!(branch)
    }
}

/// The root over leaves of which zeros follow the last.
fn root(leaves: &[Node]) -> Node {
    let half = leaves.len().next_power_of_two() / 2;
    match leaves {
        [] => Node::default(),
        [only] => *only,
        // A part without leaves is as deep as its sibling, and all zeros.
        _ => hash(root_as_deep(&leaves[..half], half), root_as_deep(&leaves[half..], half)),
    }
}

fn root_as_deep(leaves: &[Node], width: usize) -> Node {
    let filled = [leaves, &vec![Node::default(); width - leaves.len()]].concat();
    root(&filled)
}

fn leaf(bytes: &[u8]) -> Node {
    let mut node = Node::default();
    node[..bytes.len()].copy_from_slice(bytes);
    node
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn number(value: &Value) -> Node {
    leaf(&value.as_str().unwrap().parse::<u64>().unwrap().to_le_bytes())
}

fn chunks(value: &Value) -> Node {
    root(&bytes(value).chunks(32).map(leaf).collect::<Vec<_>>())
}

pub(crate) fn header_root(header: &Value) -> Node {
    let field = |name: &str| leaf(&bytes(&header[name]));
    root(&[
        number(&header["slot"]),
        number(&header["proposer_index"]),
        field("parent_root"),
        field("state_root"),
        field("body_root"),
    ])
}

pub(crate) fn committee_root(committee: &Value) -> Node {
    let keys = committee["pubkeys"].as_array().unwrap();
    let keys: Vec<Node> = keys.iter().map(chunks).collect();
    hash(root(&keys), chunks(&committee["aggregate_pubkey"]))
}

fn execution_root(header: &Value) -> Node {
    let field = |name: &str| leaf(&bytes(&header[name]));
    let extra = bytes(&header["extra_data"]);
    let length = leaf(&[u8::try_from(extra.len()).unwrap()]);
    let fee: u64 = header["base_fee_per_gas"].as_str().unwrap().parse().unwrap();
    let mut leaves = vec![
        field("parent_hash"),
        field("fee_recipient"),
        field("state_root"),
        field("receipts_root"),
        chunks(&header["logs_bloom"]),
        field("prev_randao"),
        number(&header["block_number"]),
        number(&header["gas_limit"]),
        number(&header["gas_used"]),
        number(&header["timestamp"]),
        hash(leaf(&extra), length),
        leaf(&fee.to_le_bytes()),
        field("block_hash"),
        field("transactions_root"),
        field("withdrawals_root"),
    ];
    if !header["blob_gas_used"].is_null() {
        leaves.extend([number(&header["blob_gas_used"]), number(&header["excess_blob_gas"])]);
    }
    root(&leaves)
}

fn told_hash(name: &str, slot: u64, salt: u8) -> String {
    hex::encode_prefixed(Sha256::digest(format!("{name} {slot} {salt}")))
}

fn execution(slot: u64, salt: u8) -> Value {
    let hash = |name| told_hash(name, slot, salt);
    let mut header = json!({
        "parent_hash": hash("parent"), "fee_recipient": format!("0x{}", "ab".repeat(20)),
        "state_root": hash("state"), "receipts_root": hash("receipts"),
        "logs_bloom": format!("0x{}", "0102030405060708".repeat(32)),
        "prev_randao": hash("randao"), "block_number": (slot + 1000).to_string(),
        "gas_limit": "45000000", "gas_used": "12345678",
        "timestamp": (1_700_000_000 + 12 * slot).to_string(), "extra_data": "0x6d616465",
        "base_fee_per_gas": "7000000001", "block_hash": hash("block"),
        "transactions_root": hash("transactions"), "withdrawals_root": hash("withdrawals"),
    });
    if slot >= PERIOD {
        header["blob_gas_used"] = json!("131072");
        header["excess_blob_gas"] = json!("77");
    }
    header
}

/// A header with some of its fields replaced.
fn merged(mut header: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().into_iter().flatten() {
        header[name] = value.clone();
    }
    header
}

/// A block whose state knows of its period's committees and of the header that it made final.
pub(crate) struct Block {
    pub(crate) told: Value,
    pub(crate) state: Tree,
}

impl Block {
    /// A block in whose state both committees and the final root stand at these places.
    pub(crate) fn new(
        slot: u64,
        salt: u8,
        finalized: Node,
        committees: [&Value; 2],
        places: [u64; 3],
    ) -> Self {
        Self::carrying(&execution(slot, salt), slot, salt, finalized, committees, places)
    }

    fn carrying(
        execution: &Value,
        slot: u64,
        salt: u8,
        finalized: Node,
        committees: [&Value; 2],
        places: [u64; 3],
    ) -> Self {
        let [current, next] = committees.map(committee_root);
        let [at_current, at_next, at_final] = places;
        let state =
            Tree(BTreeMap::from([(at_current, current), (at_next, next), (at_final, finalized)]));
        let body = Tree(BTreeMap::from([(25, execution_root(execution))]));
        let beacon = json!({
            "slot": slot.to_string(), "proposer_index": "4711",
            "parent_root": told_hash("header", slot, salt),
            "state_root": hex::encode_prefixed(state.node(1)),
            "body_root": hex::encode_prefixed(body.node(1)),
        });
        let branch = body.branch(25);
        let told = json!({ "beacon": beacon, "execution": execution, "execution_branch": branch });
        Self { told, state }
    }

    /// A block that executes this one.
    fn of(slot: u64, salt: u8, execution: &Value) -> Self {
        let period = slot / PERIOD;
        let committees = [&committee(period), &committee(period + 1)];
        Self::carrying(execution, slot, salt, Node::default(), committees, places(slot))
    }

    pub(crate) fn root(&self) -> Node {
        header_root(&self.told["beacon"])
    }
}

/// The places of both committees and of the final root in the state of a slot.
pub(crate) fn places(slot: u64) -> [u64; 3] {
    if slot < 2 * PERIOD { [54, 55, 105] } else { [86, 87, 169] }
}

/// The start at a slot with these committees, and the root that a caller would trust.
pub(crate) fn bootstrap_of(slot: u64, committees: [&Value; 2]) -> (B256, Value) {
    let block = Block::new(slot, 0, Node::default(), committees, places(slot));
    starting(&block, slot, committees[0])
}

/// The same with the usual committees, and with these fields of the execution header in the place of those made up.
pub(crate) fn bootstrap_that(slot: u64, executes: &Value) -> (B256, Value) {
    let block = Block::of(slot, 0, &merged(execution(slot, 0), executes));
    starting(&block, slot, &committee(slot / PERIOD))
}

fn starting(block: &Block, slot: u64, current: &Value) -> (B256, Value) {
    let data = json!({
        "header": block.told, "current_sync_committee": current,
        "current_sync_committee_branch": block.state.branch(places(slot)[0]),
    });
    (block.root().into(), json!({ "version": version(slot), "data": data }))
}

pub(crate) fn bootstrap(slot: u64) -> (B256, Value) {
    bootstrap_that(slot, &json!({}))
}

/// An update to be made: which slots, how many signers, under which fork.
#[derive(Clone)]
pub(crate) struct Claim {
    pub(crate) attested: u64,
    pub(crate) finalized: u64,
    pub(crate) signature: u64,
    pub(crate) signers: usize,
    /// The period whose committee signs.
    pub(crate) signed_by: u64,
    pub(crate) fork_version: [u8; 4],
    pub(crate) genesis: Node,
    /// The places in the attested state.
    pub(crate) places: [u64; 3],
    /// Makes another finalized block at the same slot.
    pub(crate) salt: u8,
    pub(crate) next: Value,
    /// Fields of the finalized block's execution header in the place of those that are made up.
    pub(crate) executes: Value,
}

impl Claim {
    /// An honest claim of a period: finalized at this offset in it, attested 64 slots later, signed two slots later.
    pub(crate) fn at(period: u64, offset: u64) -> Self {
        let finalized = period * PERIOD + offset;
        let fork_version = [u8::try_from(period.min(3) + 3).unwrap(), 0, 0, 1];
        Self {
            attested: finalized + 64,
            finalized,
            signature: finalized + 66,
            signers: 480,
            signed_by: period,
            fork_version,
            genesis: [0x55; 32],
            places: places(finalized + 64),
            salt: 0,
            next: committee(period + 1),
            executes: json!({}),
        }
    }

    pub(crate) fn update(&self) -> Value {
        let finalized = if self.finalized == 0 {
            Block { told: Block::of(0, 0, &execution(0, 0)).told, state: Tree(BTreeMap::new()) }
        } else {
            let execution = merged(execution(self.finalized, self.salt), &self.executes);
            Block::of(self.finalized, self.salt, &execution)
        };
        let committees = [&committee(self.attested / PERIOD), &self.next];
        let attested = Block::new(self.attested, 0, finalized.root(), committees, self.places);
        let [_, at_next, at_final] = self.places;
        let data = json!({
            "attested_header": attested.told, "finalized_header": finalized.told,
            "next_sync_committee": self.next,
            "next_sync_committee_branch": attested.state.branch(at_next),
            "finality_branch": attested.state.branch(at_final),
            "sync_aggregate": self.sign(attested.root()),
            "signature_slot": self.signature.to_string(),
        });
        json!({ "version": version(self.attested), "data": data })
    }

    pub(crate) fn finality(&self) -> Value {
        let mut told = self.update();
        told["data"].as_object_mut().unwrap().retain(|name, _| !name.starts_with("next_sync"));
        told
    }

    fn sign(&self, header: Node) -> Value {
        let fork = hash(leaf(&self.fork_version), self.genesis);
        let domain = leaf(&[&[7, 0, 0, 0], &fork[..28]].concat());
        let message = hash(header, domain);
        let members = &COMMITTEES[usize::try_from(self.signed_by % 8).unwrap()];
        let mut bits = [0_u8; 64];
        let suite = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";
        // Absent are those in front, so that the order of the bits matters.
        let sign = |(place, member): (usize, &SecretKey)| {
            bits[place / 8] |= 1 << (place % 8);
            member.sign(&message, suite, &[])
        };
        let signed: Vec<Signature> =
            members.iter().enumerate().skip(512 - self.signers).map(sign).collect();
        let all: Vec<&Signature> = signed.iter().collect();
        let sum = AggregateSignature::aggregate(&all, false).unwrap().to_signature();
        json!({
            "sync_committee_bits": hex::encode_prefixed(bits),
            "sync_committee_signature": hex::encode_prefixed(sum.to_bytes()),
        })
    }
}

pub(crate) fn read_bootstrap(told: &Value) -> Answer<Bootstrap> {
    serde_json::from_value(told.clone()).unwrap()
}

pub(crate) fn read_update(told: &Value) -> Answer<Update> {
    serde_json::from_value(told.clone()).unwrap()
}

pub(crate) fn read_finality(told: &Value) -> Answer<FinalityUpdate> {
    serde_json::from_value(told.clone()).unwrap()
}
