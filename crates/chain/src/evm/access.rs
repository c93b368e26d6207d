//! The access that every part of the adapter shares: the account, the nodes and the configuration. It has no state of
//! its own.

use super::gas::GasRules;
use crate::SigningAccount;
use ::node::{Fleet, JsonRpc};
use alloy::primitives::Address;
use billing::{BadField, Charge};
use config::{EvmConfig, Replacement};
use contract::Computed;
use evm_blocks::FinalChain;
use std::sync::Arc;

/// One account on an EVM chain, and the way to the chain. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) account: Arc<SigningAccount>,
    pub(super) fleet: Arc<Fleet<JsonRpc>>,
    pub(super) config: Arc<EvmConfig>,
    /// The final blocks that were agreed on.
    pub(super) final_chain: Arc<FinalChain>,
}

impl Access {
    /// Returns the account that signs.
    pub(super) fn signer(&self) -> Address {
        self.account.facts.signer
    }

    /// Returns the billing contract.
    pub(super) fn contract(&self) -> Address {
        self.account.facts.contract
    }

    /// Returns the chain's name in logs.
    pub(super) fn chain(&self) -> &str {
        &self.account.facts.name
    }

    /// Returns the number of providers that have to agree.
    pub(super) fn needed(&self) -> usize {
        self.fleet.needed()
    }

    /// Returns the number of raises of a bid for which its ceilings should leave room.
    pub(super) fn raises(&self) -> usize {
        match self.config.replacement {
            Replacement::Off => 0,
            Replacement::On { most, .. } => most.saturating_sub(1),
        }
    }

    /// Returns the rules for gas limits, while a block may use `block_gas`.
    pub(super) fn gas_rules(&self, block_gas: u64) -> GasRules {
        GasRules {
            margin_percent: self.config.gas_margin_percent.into(),
            reserve: self.config.gas_reserve,
            most: self.config.gas_limit_cap.min(block_gas),
        }
    }

    /// Returns the billing call for `charges`, with the deadline counted from `head_time`, Unix seconds.
    pub(super) fn calldata(&self, head_time: u64, charges: &[Charge]) -> Result<Vec<u8>, BadField> {
        let deadline = head_time.saturating_add(self.config.billing.deadline.as_secs());
        let computed = Computed { deadline, signer: self.signer() };
        self.account.profile.encode(charges, &computed)
    }
}
