//! The transactions that a restored copy has forgotten, and the places that show them: each pool that answers holds
//! what was in a block or, on EVM, in any pool when the copy came back. If every pool is blind, no Signer can know
//! of them.

use crate::dice::Fault;
use crate::world::{Side, World};
use alloy::consensus::Transaction as _;
use alloy::primitives::{B256, keccak256};
use sandbox_chains::eth::pool;
use sandbox_chains::evm::{Evm, decode};
use sandbox_chains::node::Node;
use sandbox_chains::tron::TronNode;
use sandbox_chains::tron::tx::Tx as TronTx;

/// So many blocks behind the newest one is everybody.
const EVERYBODY: u64 = 20;

impl World {
    /// From now on, those of these transactions that are on EVM and can be seen anywhere stay to be seen.
    pub(crate) fn keep_in_sight(&mut self, raws: &[Vec<u8>]) {
        for tx in raws.iter().filter_map(|raw| decode(raw)) {
            let hash = *tx.tx_hash();
            let seen = |node: &Node<Evm>| {
                let chain = node.chain();
                let recent = chain.head().header.number.saturating_sub(EVERYBODY);
                let landed = chain.find(&hash).map(|place| place.block.header.number);
                chain.pool().get(&hash).is_some() || landed.is_some_and(|number| number >= recent)
            };
            let known = self.in_sight.iter().any(|one| *one.tx_hash() == hash);
            if !known && (seen(&self.evm.truth) || self.evm.members.iter().any(seen)) {
                self.in_sight.push(tx);
            }
        }
        self.show();
        for tx in raws.iter().filter_map(|raw| TronTx::decode(raw).ok()) {
            self.pass_on_landed(&tx);
        }
    }

    /// A TRON node that is late holds in its pool what is in a block that it has not heard of.
    fn pass_on_landed(&self, tx: &TronTx) {
        let hash = tx.id;
        let landed = |node: &TronNode| node.node().chain().find(&hash).is_some();
        if !landed(&self.tron.truth) {
            return;
        }
        for node in self.tron.members.iter().filter(|node| !landed(node)) {
            // A node takes nothing twice, and nothing that has expired.
            node.broadcast(tx.clone()).ok();
        }
    }

    /// Passes what is kept in sight to every node that has lost it, the lower places first.
    pub(crate) fn show(&mut self) {
        self.in_sight.sort_by_key(|tx| tx.nonce());
        for node in self.evm.members.iter().chain([&self.evm.truth]) {
            let mut chain = node.chain();
            for tx in &self.in_sight {
                if chain.find(tx.tx_hash()).is_none() && chain.pool().get(tx.tx_hash()).is_none() {
                    // Another one may have taken its place.
                    Evm::admit(&mut chain, tx.clone()).ok();
                }
            }
        }
    }

    /// In half of the worlds that know full blocks, what waits when a copy came back waits on.
    pub(crate) fn hold_what_waits(&mut self) {
        if self.dice.faults && self.dice.knows(Fault::LastSlot) && self.dice.one_in(2) {
            self.evm.hold(self.now_ms);
            self.tron.hold(self.now_ms);
        }
    }

    /// Returns true if no transaction waits behind a gap, which no count of pending transactions shows.
    pub(crate) fn waits_without_a_gap(&self) -> bool {
        self.evm.members.iter().chain([&self.evm.truth]).all(|node| {
            let chain = node.chain();
            chain
                .pool()
                .iter()
                .all(|one| one.tx.nonce() < pool::next_nonce(&chain, &one.tx.signer()))
        })
    }

    /// Returns true if a caller who sends these bytes brings back a transaction that nobody can see. On TRON a
    /// journal that is known to be an old copy waits until such bytes can land no more.
    pub(crate) fn is_out_of_sight(&self, side: Side, raw: &[u8]) -> bool {
        match side {
            Side::Evm => {
                let hash = keccak256(raw);
                self.forgotten.contains(&hash)
                    && !self.in_sight.iter().any(|one| *one.tx_hash() == hash)
            }
            Side::Tron => {
                let Ok(tx) = TronTx::decode(raw) else { return false };
                self.watch.buried.contains(&tx.id)
                    || self.watch.marked
                        && self.forgotten.contains(&tx.id)
                        && !self.tron_shows(&tx.id)
            }
        }
    }

    /// Another journal comes. If the one that is there has a fitting mark, the Signer on it may have billed in the
    /// place of the TRON transactions that it has forgotten and that no node shows: their bytes stay lost.
    pub(crate) fn bury_what_no_node_shows(&mut self) {
        if self.watch.marked {
            let lost = self.forgotten.iter().filter(|id| !self.tron_shows(id)).copied();
            let lost: Vec<_> = lost.collect();
            self.watch.buried.extend(lost);
        }
    }

    /// Returns true if some TRON node has this transaction in a block or in its pool.
    fn tron_shows(&self, id: &B256) -> bool {
        self.tron.members.iter().any(|node| {
            let chain = node.node().chain();
            chain.find(id).is_some() || chain.pool().get(id).is_some()
        })
    }
}
