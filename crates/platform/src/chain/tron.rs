//! The TRON chain of the sandbox.

use super::{Chain, Event, Family, Landed, Point, Recorded, Refused, Sent, Whereabouts};
use alloy::primitives::{Address, B256, Bytes, Log, U256};
use alloy::signers::local::PrivateKeySigner;
use parking_lot::Mutex;
use prost::Message as _;
use sandbox_chains::chain::{Block, Orphans};
use sandbox_chains::faults::{Fault, On};
use sandbox_chains::town::Ground as _;
use sandbox_chains::tron::calls::{Question, Seen};
use sandbox_chains::tron::proto::Transaction;
use sandbox_chains::tron::tvm::Ending;
use sandbox_chains::tron::tx::Tx;
use sandbox_chains::tron::{Tron, TronNode, Wallet};
use std::sync::Arc;

/// The most that a transaction may burn (sun): the maximum that TRON allows.
const FEE_LIMIT: i64 = 1_000_000_000;
/// Time within which a transaction can land (ms of block time).
const LIFE_MS: u64 = 600_000;
/// Coins that a transfer without data moves (sun): enough for a sweep.
const GIFT: i64 = 200_000_000;
/// The name of the chain parameter with the price of energy (sun).
const ENERGY_FEE: &str = "getEnergyFee";

/// The chain, and a number that tells equal calls apart.
#[derive(Clone, Debug)]
pub(crate) struct TronChain {
    pub(crate) node: TronNode,
    switch: Arc<Mutex<Switch>>,
}

#[derive(Debug)]
struct Switch {
    salt: i64,
    down: bool,
    usual_price: i64,
}

impl TronChain {
    pub(crate) fn new(node: TronNode) -> Self {
        let usual_price = node.node().chain().family().params.get(ENERGY_FEE);
        let salt = i64::try_from(node.node().chain().head().header.time_ms).unwrap_or_default();
        Self { node, switch: Arc::new(Mutex::new(Switch { salt, down: false, usual_price })) }
    }
}

fn point(block: &Block<Tron>) -> Point {
    let header = &block.header;
    Point { number: header.number, id: block.id, time_ms: header.time_ms }
}

fn decode(raw: &[u8]) -> Option<Tx> {
    Transaction::decode(raw).ok().map(Tx::new)
}

impl Chain for TronChain {
    fn family(&self) -> Family {
        Family::Tron
    }

    fn chain_id(&self) -> u64 {
        self.node.chain_id()
    }

    fn head(&self) -> Point {
        point(self.node.node().chain().head())
    }

    fn solid(&self) -> Point {
        point(self.node.node().chain().solid())
    }

    fn point(&self, number: u64) -> Option<Point> {
        self.node.node().chain().block(number).map(|block| point(block))
    }

    fn recorded(&self, number: u64) -> Option<Recorded> {
        let chain = self.node.node().chain();
        let block = chain.block(number)?;
        let txs = block.body.iter().map(|included| included.tx.encode()).collect();
        let (forks, price) = (block.header.fork, block.header.price);
        Some(Recorded { point: point(block), forks, price, txs })
    }

    fn replay(&self, block: &Recorded) -> bool {
        let mut chain = self.node.node().chain();
        let txs = block.txs.iter().filter_map(|raw| decode(raw)).collect();
        if block.price > 0 {
            let price = i64::try_from(block.price).unwrap_or(i64::MAX);
            chain.family_mut().params.set(ENERGY_FEE, price);
        }
        chain.replay(block.point.time_ms, block.forks, txs).id == block.point.id
    }

    fn events(&self, number: u64) -> Vec<Event> {
        let chain = self.node.node().chain();
        let body = chain.block(number).map(|block| block.body.as_slice()).unwrap_or_default();
        let good = body.iter().filter(|included| included.receipt.succeeded());
        let logs = good.flat_map(|included| {
            let tx = included.tx.id;
            included.receipt.logs.iter().map(move |log| (tx, log.clone()))
        });
        (0..)
            .zip(logs)
            .map(|(index, (tx, log)): (u64, (B256, Log))| Event { tx, index, log })
            .collect()
    }

    fn find(&self, hash: &B256) -> Whereabouts {
        let chain = self.node.node().chain();
        match chain.find(hash) {
            Some(place) => {
                let succeeded = place.included().receipt.succeeded();
                Whereabouts::Landed(Landed { point: point(&place.block), succeeded })
            }
            None if chain.pool().get(hash).is_some() => Whereabouts::Waiting,
            None => Whereabouts::Unknown,
        }
    }

    fn sign(&self, from: &PrivateKeySigner, to: Address, data: Bytes) -> Sent {
        let mut wallet = Wallet::new(&from.to_bytes()).expect("a key is a key");
        let salt = {
            let mut switch = self.switch.lock();
            switch.salt += 1;
            switch.salt
        };
        (wallet.fee_limit, wallet.life_ms, wallet.salt) = (FEE_LIMIT, LIFE_MS, salt);
        let tx = if data.is_empty() {
            wallet.transfer(&self.node, to, GIFT)
        } else {
            wallet.call(&self.node, to, data)
        };
        Sent { hash: tx.id, raw: tx.encode() }
    }

    fn send(&self, raw: &[u8]) -> Result<(), Refused> {
        let tx = decode(raw).ok_or_else(|| Refused("not a transaction".to_owned()))?;
        self.node.broadcast(tx).map_err(|refusal| Refused(refusal.message))
    }

    fn is_dead(&self, raw: &[u8]) -> bool {
        let Some(tx) = decode(raw) else { return true };
        let chain = self.node.node().chain();
        let expires_ms = u64::try_from(tx.raw().expiration).unwrap_or_default();
        chain.solid().header.time_ms >= expires_ms && chain.find(&tx.id).is_none()
    }

    fn view(&self, to: Address, data: Bytes) -> Result<Bytes, Refused> {
        let question = Question { to: Some(to), data, ..Question::default() };
        let done = self.node.ask(Seen::NEWEST, &question);
        let done = done.map_err(|refused| Refused(format!("{refused:?}")))?;
        if done.ending == Ending::Success { Ok(done.output) } else { Err(Refused(done.message)) }
    }

    fn next_ms(&self) -> u64 {
        self.node.node().chain().next_header().time_ms
    }

    fn slot_ms(&self) -> u64 {
        self.node.node().chain().settings().slot_ms
    }

    fn step(&self, now_ms: u64) {
        let late_ms = now_ms.saturating_sub(self.next_ms());
        self.node.skip(late_ms / self.slot_ms());
        self.node.step();
    }

    fn reorg(&self, depth: u64, orphans: Orphans) -> u64 {
        u64::try_from(self.node.reorg(depth, orphans).len()).unwrap_or(u64::MAX)
    }

    fn set_price(&self, price: Option<u64>) {
        let usual = self.switch.lock().usual_price;
        let price = price.map_or(usual, |price| i64::try_from(price).unwrap_or(i64::MAX));
        self.node.set_param(ENERGY_FEE, price);
    }

    fn is_down(&self) -> bool {
        self.switch.lock().down
    }

    fn set_down(&self, down: bool) {
        self.switch.lock().down = down;
        self.node.faults().clear();
        if down {
            self.node.faults().set(On::Any, Fault::Reset);
        }
    }

    fn coins(&self, who: Address) -> U256 {
        self.node.node().chain().head_state().balance(&who)
    }
}
