//! The handling of a transaction that is broadcast to the node, check by check in the order of the reference node.

use super::execute;
use super::family::Tron;
use super::node::{TronNode, dry_run};
use super::refusal::{Code, Refusal};
use super::signature;
use super::tx::Tx;
use crate::chain::Chain;
use crate::state::State;
use revm::primitives::Address;

/// Bytes that a transaction may have with room for its result.
const MOST_BYTES: u64 = 500 * 1024;
/// The room for a result.
const RESULT_BYTES: u64 = 128;

impl TronNode {
    /// Broadcasts a transaction: into the pool, or why not.
    pub fn broadcast(&self, tx: Tx) -> Result<(), Refusal> {
        self.broadcast_behind(0, tx)
    }

    /// The same at a node that is `lag` blocks behind: it does not know newer reference blocks.
    pub(super) fn broadcast_behind(&self, lag: u64, tx: Tx) -> Result<(), Refusal> {
        let mut chain = self.node().chain();
        self.reachable(&chain, &tx)?;
        if tx.raw().contract.is_empty() {
            return Err(Refusal::contract("No contract!"));
        }
        let head = chain.head().header.clone();
        let expiration = u64::try_from(tx.raw().expiration).unwrap_or(0);
        if expiration < chain.family().next_slot(&head) {
            return Err(Refusal::expired());
        }
        let session = self.session(&mut chain);
        signed(&session.state, &tx)?;
        Tron::check_tapos(&tx, head.number.saturating_sub(lag), &*chain)?;
        let size = tx.size() + RESULT_BYTES;
        if size > MOST_BYTES {
            let text = format!(
                "Too big transaction with result, TxId {}, the size is {size} bytes, maxTxSize {MOST_BYTES}",
                hex::encode(tx.id)
            );
            return Err(Refusal::new(Code::TooBigTransactionError, text));
        }
        Tron::check_window(&tx, &head)?;
        let contracts = tx.raw().contract.len();
        if contracts != 1 {
            let id = hex::encode(tx.id);
            let text = format!(
                "tx {id} contract size should be exactly 1, this is extend feature ,actual :{contracts}"
            );
            return Err(Refusal::contract(&text));
        }
        if chain.pool().get(&tx.id).is_some() || chain.find(&tx.id).is_some() {
            return Err(Refusal::duplicate());
        }
        let mut after = State::clone(&session.state);
        let info = execute::apply(&dry_run(&chain), &mut after, &tx)?;
        self.pool(&mut chain, tx, after, info.ret());
        Ok(())
    }

    /// The checks that look at the node, not at the transaction.
    fn reachable(&self, chain: &Chain<Tron>, tx: &Tx) -> Result<(), Refusal> {
        let options = self.options();
        let waiting = chain.head().header.number - chain.solid().header.number;
        if options.max_unsolidified.is_some_and(|most| waiting > most) {
            return Err(Refusal::new(Code::BlockUnsolidified, "Block unsolidified."));
        }
        if options.lonely {
            return Err(Refusal::new(Code::NoConnection, "No connection."));
        }
        if chain.pool().len() > options.max_pending {
            return Err(Refusal::new(Code::ServerBusy, "Server busy."));
        }
        if options.trx_cache && !self.seen.lock().insert(tx.id) {
            return Err(Refusal::new(Code::DupTransactionError, "Transaction already exists."));
        }
        Ok(())
    }
}

fn signed(state: &State<super::ledger::Ledger>, tx: &Tx) -> Result<(), Refusal> {
    // an owner that is no address has no account, and the permission of an account that does not exist is its own key
    let owner = tx.owner().unwrap_or(Address::ZERO);
    let permission = state.ledger().permission(&owner, tx.permission_id());
    let permission = permission.ok_or_else(|| Refusal::signature("permission isn't exit"))?;
    signature::check(&tx.id, &tx.message.signature, &permission)
        .map_err(|text| Refusal::signature(&text))
}
