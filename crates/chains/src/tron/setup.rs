//! The starting state of a test or a demonstration: funds, stakes and contracts out of nowhere, without blocks or
//! bills.

use super::execute::install;
use super::ledger::{Deployed, Permission, Usage};
use super::meter::Meter;
use super::node::TronNode;
use super::tvm::{self, Call, Ending, Outcome};
use revm::database_interface::DatabaseCommit;
use revm::primitives::{Address, Bytes, U256};
use revm::state::Bytecode;

/// Energy of a call that nobody pays.
const PLENTY: u64 = 10_000_000_000;

impl TronNode {
    /// Sets an account's balance (sun), and activates it if it is not.
    pub fn fund(&self, who: Address, sun: u64) {
        self.node().chain().edit_all(|state| {
            if state.ledger().account(&who).is_none() {
                state.ledger_mut().activate(who, 0);
            }
            state.account_mut(who).balance = U256::from(sun);
        });
    }

    /// Sets an account's stakes (sun) for bandwidth and for energy.
    pub fn stake(&self, who: Address, net: u64, energy: u64) {
        self.node().chain().edit_all(|state| {
            let account = state.ledger_mut().account_mut(who);
            (account.net_stake, account.energy_stake) = (net, energy);
        });
    }

    /// Leaves an account this much of its free bandwidth used (bytes).
    pub fn use_free_bandwidth(&self, who: Address, used: u64) {
        let mut chain = self.node().chain();
        let at_ms = chain.head().header.time_ms;
        chain
            .edit_all(|state| state.ledger_mut().account_mut(who).free_net = Usage { used, at_ms });
    }

    /// Makes an account one of the genesis block: no date, only its own key.
    pub fn make_genesis(&self, who: Address) {
        self.node().chain().edit_all(|state| {
            let account = state.ledger_mut().account_mut(who);
            (account.created_ms, account.owner) = (None, None);
            account.active.clear();
        });
    }

    /// Replaces an account's first active permission (id 2).
    pub fn set_active(&self, who: Address, permission: Permission) {
        self.node()
            .chain()
            .edit(|state| state.ledger_mut().account_mut(who).active = vec![permission]);
    }

    /// Replaces an account's owner permission.
    pub fn set_owner(&self, who: Address, permission: &Permission) {
        self.node().chain().edit_all(|state| {
            state.ledger_mut().account_mut(who).owner = Some(permission.clone());
        });
    }

    /// Deploys creation code at a chosen address; None if it fails.
    pub fn deploy_at(
        &self,
        at: Address,
        origin: Address,
        name: &str,
        bytecode: &[u8],
    ) -> Option<()> {
        let code = Bytes::from(bytecode.to_vec());
        let done = self.run_free(&Call {
            from: origin,
            to: at,
            value: 0,
            data: Bytes::new(),
            energy: PLENTY,
            code: Some(code),
        });
        if done.ending != Ending::Success {
            return None;
        }
        self.node().chain().edit_all(|state| {
            let account = state.account_mut(at);
            account.code = Some(Bytecode::new_legacy(done.output.clone()));
            account.nonce = 1;
            let contract = Deployed {
                origin,
                percent: 100,
                origin_energy_limit: 10_000_000,
                name: name.to_owned(),
                bytecode: bytecode.to_vec(),
                ..Deployed::default()
            };
            install(state, at, contract);
        });
        Some(())
    }

    /// Calls a contract as anybody, keeps what a success changes, and bills nobody.
    pub fn impersonate(&self, from: Address, to: Address, data: impl Into<Bytes>) -> Outcome {
        self.run_free(&Call { from, to, value: 0, data: data.into(), energy: PLENTY, code: None })
    }

    fn run_free(&self, call: &Call) -> Outcome {
        let mut chain = self.node().chain();
        let head = chain.head().header.clone();
        let done = {
            let setting = chain.family().setting(&head, head.time_ms, &*chain);
            tvm::run(chain.head_state(), &*chain, &setting.scene, call, Meter::default())
        };
        if done.ending == Ending::Success {
            chain.edit_all(|state| state.commit(done.changes.clone()));
        }
        done
    }
}
