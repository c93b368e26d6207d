//! Calls that are asked about and never sent, as the signing account would make them.

use super::TronChain;
use crate::trial::CallFailure;
use crate::{ChainError, OddAnswer};
use alloy::primitives::Address;
use tron_node::{Api, CallError, CallRan, ConstantCall, DeploylessRead, NotRun};

/// Number of tries in all of a call that was stopped for want of time.
pub(super) const TRIES: usize = 3;

impl TronChain {
    /// Calls a contract on the state of the head, as the signing account would.
    pub(super) async fn call(
        &self,
        api: Api<'_>,
        contract: Address,
        data: &[u8],
    ) -> Result<CallRan, ChainError> {
        let call = ConstantCall { owner: self.account.facts.signer, contract, data };
        Ok(api.call(call).await?)
    }

    /// Runs creation code that only reads.
    pub(super) async fn read_deployless(
        &self,
        api: Api<'_>,
        code: &[u8],
    ) -> Result<CallRan, ChainError> {
        let read = DeploylessRead { owner: self.account.facts.signer, code };
        Ok(api.read_deployless(read).await?)
    }

    /// The same as [`Self::call`] where only the answer matters, over the JSON-RPC if there is one.
    pub(super) async fn ask(
        &self,
        api: Api<'_>,
        contract: Address,
        data: &[u8],
    ) -> Result<CallRan, ChainError> {
        let call = ConstantCall { owner: self.account.facts.signer, contract, data };
        Ok(api.call_for_answer(call).await?)
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
