//! The Ethereum chain of the sandbox.

use super::{Chain, Event, Family, Landed, Point, Recorded, Refused, Sent, Whereabouts};
use alloy::consensus::{SignableTransaction as _, Transaction as _, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718 as _;
use alloy::primitives::{Address, B256, Bytes, Log, TxKind, U256};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use parking_lot::RwLock;
use sandbox_chains::chain::{Block, Orphans};
use sandbox_chains::eth;
use sandbox_chains::evm::{Evm, decode};
use sandbox_chains::node::Node;
use sandbox_chains::town::Ground as _;
use std::sync::Arc;

/// Gas for a call of a contract.
const CALL_GAS: u64 = 1_000_000;
/// Gas for a transfer of coins.
const COINS_GAS: u64 = 21_000;
/// The tip of the platform's own transactions (wei).
const TIP: u128 = 1_000_000_000;
/// Coins that a transfer without data moves (wei): enough for a sweep.
const GIFT: u64 = 100_000_000_000_000_000;

/// The chain, and whether its node answers.
#[derive(Clone, Debug)]
pub(crate) struct EvmChain {
    pub(crate) node: Node<Evm>,
    pub(crate) down: Arc<RwLock<bool>>,
}

impl EvmChain {
    pub(crate) fn new(node: Node<Evm>) -> Self {
        Self { node, down: Arc::default() }
    }
}

fn point(block: &Block<Evm>) -> Point {
    let header = &block.header;
    Point { number: header.number, id: block.id, time_ms: header.time_ms }
}

impl Chain for EvmChain {
    fn family(&self) -> Family {
        Family::Evm
    }

    fn chain_id(&self) -> u64 {
        self.node.chain_id()
    }

    fn head(&self) -> Point {
        point(self.node.chain().head())
    }

    fn solid(&self) -> Point {
        point(self.node.chain().solid())
    }

    fn point(&self, number: u64) -> Option<Point> {
        self.node.chain().block(number).map(|block| point(block))
    }

    fn recorded(&self, number: u64) -> Option<Recorded> {
        let chain = self.node.chain();
        let block = chain.block(number)?;
        let txs = block.body.iter().map(|included| included.tx.inner().encoded_2718());
        let (forks, price) = (block.header.fork, block.header.price);
        Some(Recorded { point: point(block), forks, price, txs: txs.collect() })
    }

    fn replay(&self, block: &Recorded) -> bool {
        let mut chain = self.node.chain();
        let txs = block.txs.iter().filter_map(|raw| decode(raw)).collect();
        let usual = chain.family().base_fee;
        chain.family_mut().base_fee = Some(block.price);
        let made = chain.replay(block.point.time_ms, block.forks, txs);
        chain.family_mut().base_fee = usual;
        made.id == block.point.id
    }

    fn events(&self, number: u64) -> Vec<Event> {
        let chain = self.node.chain();
        let body = chain.block(number).map(|block| block.body.as_slice()).unwrap_or_default();
        let logs = body.iter().flat_map(|included| {
            let tx = *included.tx.tx_hash();
            included.receipt.result.logs().iter().map(move |log| (tx, log.clone()))
        });
        (0..)
            .zip(logs)
            .map(|(index, (tx, log)): (u64, (B256, Log))| Event { tx, index, log })
            .collect()
    }

    fn find(&self, hash: &B256) -> Whereabouts {
        let chain = self.node.chain();
        match chain.find(hash) {
            Some(place) => {
                let succeeded = place.included().receipt.result.is_success();
                Whereabouts::Landed(Landed { point: point(&place.block), succeeded })
            }
            None if chain.pool().get(hash).is_some() => Whereabouts::Waiting,
            None => Whereabouts::Unknown,
        }
    }

    fn sign(&self, from: &PrivateKeySigner, to: Address, data: Bytes) -> Sent {
        let chain = self.node.chain();
        let coins = data.is_empty();
        let tx = TxEip1559 {
            chain_id: chain.family().chain_id,
            nonce: eth::pool::next_nonce(&chain, &from.address()),
            gas_limit: if coins { COINS_GAS } else { CALL_GAS },
            max_fee_per_gas: u128::from(chain.head().header.price) * 2 + TIP,
            max_priority_fee_per_gas: TIP,
            to: TxKind::Call(to),
            value: if coins { U256::from(GIFT) } else { U256::ZERO },
            input: data,
            ..TxEip1559::default()
        };
        let signature = from.sign_hash_sync(&tx.signature_hash()).expect("a key signs any digest");
        let signed = TxEnvelope::from(tx.into_signed(signature));
        Sent { hash: *signed.tx_hash(), raw: signed.encoded_2718() }
    }

    fn send(&self, raw: &[u8]) -> Result<(), Refused> {
        let sent = eth::pool::send(&mut self.node.chain(), raw);
        sent.map(|_| ()).map_err(|error| Refused(error.message))
    }

    fn is_dead(&self, raw: &[u8]) -> bool {
        let Some(tx) = decode(raw) else { return true };
        let chain = self.node.chain();
        chain.solid_state().nonce(&tx.signer()) > tx.nonce() && chain.find(tx.tx_hash()).is_none()
    }

    fn view(&self, to: Address, data: Bytes) -> Result<Bytes, Refused> {
        Ok(self.node.view(to, data))
    }

    fn next_ms(&self) -> u64 {
        self.node.chain().next_header().time_ms
    }

    fn slot_ms(&self) -> u64 {
        self.node.chain().settings().slot_ms
    }

    fn step(&self, now_ms: u64) {
        let mut chain = self.node.chain();
        let late_ms = now_ms.saturating_sub(chain.next_header().time_ms);
        let slots = late_ms / chain.settings().slot_ms;
        chain.miss(slots);
        chain.step();
    }

    fn reorg(&self, depth: u64, orphans: Orphans) -> u64 {
        u64::try_from(self.node.reorg(depth, orphans).len()).unwrap_or(u64::MAX)
    }

    fn set_price(&self, price: Option<u64>) {
        self.node.chain().family_mut().base_fee = price;
    }

    fn is_down(&self) -> bool {
        *self.down.read()
    }

    fn set_down(&self, down: bool) {
        *self.down.write() = down;
    }

    fn coins(&self, who: Address) -> U256 {
        self.node.chain().head_state().balance(&who)
    }
}
