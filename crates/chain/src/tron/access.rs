//! The access that every part of the adapter shares: the account, the nodes and the configuration. It has no state of
//! its own.

use super::resources::EnergyRules;
use crate::confirm::{OPINIONS, too_few};
use crate::simulation::CallFailure;
use crate::{ChainError, OddAnswer, SigningAccount};
use ::node::{Fleet, NodeId};
use alloy::primitives::Address;
use billing::{BadField, Charge};
use config::TvmConfig;
use contract::Computed;
use std::sync::Arc;
use tron_node::{Api, CallError, CallRan, ConstantCall, DeploylessRead, Endpoints, NotRun};

/// Number of tries in all of a call that was stopped for want of time.
pub(super) const TRIES: usize = 3;

/// The longest life that nodes allow a transaction. java-tron:
/// common/.../core/Constant.java, `MAXIMUM_TIME_UNTIL_EXPIRATION`.
pub(super) const LONGEST_LIFE_MS: u64 = 86_400_000;

/// One account on a TRON chain, and the way to the chain. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) account: Arc<SigningAccount>,
    pub(super) fleet: Arc<Fleet<Endpoints>>,
    pub(super) config: Arc<TvmConfig>,
}

impl Access {
    /// Asks the best node.
    pub(super) fn api(&self) -> Api<'_> {
        Api::best(&self.fleet)
    }

    /// Asks this node.
    pub(super) fn api_of(&self, id: NodeId) -> Api<'_> {
        Api::of(&self.fleet, id)
    }

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

    /// Returns this machine's time, Unix ms.
    pub(super) fn now_ms(&self) -> i64 {
        self.account.clock.unix_ms()
    }

    /// Returns the time after the head's time within which a transaction can land, ms.
    pub(super) fn life_ms(&self) -> u64 {
        let life = u64::try_from(self.config.expiry.as_millis()).unwrap_or(u64::MAX);
        life.min(LONGEST_LIFE_MS)
    }

    /// Returns the configured margins and the ceiling of fee limits.
    pub(super) fn energy_rules(&self) -> EnergyRules {
        let fees = &self.config.fees;
        EnergyRules {
            energy_margin_percent: fees.energy_margin_percent.into(),
            drift_margin_percent: fees.drift_margin_percent.into(),
            energy_reserve: fees.energy_reserve,
            max_fee_limit: fees.max_fee_limit.0,
        }
    }

    /// Returns the values that the Signer itself puts into a call. The deadline counts from `head_time`, Unix seconds.
    pub(super) fn computed(&self, head_time: u64) -> Computed {
        let wait = self.config.billing.deadline.as_secs();
        Computed { deadline: head_time.saturating_add(wait), signer: self.signer() }
    }

    /// Returns the billing call for `charges`, with the deadline counted from `head_time`, Unix seconds.
    pub(super) fn calldata(&self, head_time: u64, charges: &[Charge]) -> Result<Vec<u8>, BadField> {
        self.account.profile.encode(charges, &self.computed(head_time))
    }

    /// Calls a contract on the state of the head, as the signing account would.
    pub(super) async fn call(
        &self,
        api: Api<'_>,
        contract: Address,
        data: &[u8],
    ) -> Result<CallRan, ChainError> {
        Ok(api.call(ConstantCall { owner: self.signer(), contract, data }).await?)
    }

    /// The same as [`Self::call`] where only the answer matters, over the JSON-RPC if there is one.
    pub(super) async fn ask(
        &self,
        api: Api<'_>,
        contract: Address,
        data: &[u8],
    ) -> Result<CallRan, ChainError> {
        Ok(api.call_for_answer(ConstantCall { owner: self.signer(), contract, data }).await?)
    }

    /// Runs creation code that only reads.
    pub(super) async fn read_deployless(
        &self,
        api: Api<'_>,
        code: &[u8],
    ) -> Result<CallRan, ChainError> {
        Ok(api.read_deployless(DeploylessRead { owner: self.signer(), code }).await?)
    }

    /// Returns the nodes to ask for second opinions: one node of each of up to three providers.
    pub(super) fn second_opinions(&self) -> Result<Vec<NodeId>, ChainError> {
        if !self.fleet.is_quorate() {
            return Err(too_few(&self.fleet));
        }
        Ok(self.fleet.fit().into_iter().take(OPINIONS).collect())
    }
}

impl From<NotRun> for ChainError {
    fn from(why: NotRun) -> Self {
        match why {
            NotRun::Asked(error) => error.into(),
            NotRun::Refused { code, words } => {
                let answer = OddAnswer::NotRun { code, words };
                Self::Node { question: "triggerconstantcontract", answer }
            }
        }
    }
}

impl From<CallError> for CallFailure {
    fn from(error: CallError) -> Self {
        Self { data: error.data.to_vec(), words: error.words }
    }
}
