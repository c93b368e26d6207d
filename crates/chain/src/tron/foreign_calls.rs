//! Calls of the account that the journal does not know, read from the bytes in blocks and pools, and their effects.

use super::access::Access;
use super::head::{TronHead, seconds};
use crate::profiles::KnownProfiles;
use crate::{ChainError, Unanswered};
use ::node::NodeId;
use alloy::primitives::{Address, B256, Log};
use billing::{BlockRef, Execution, Foreign, ForeignEffect, ItemOutcome, Landed, Opaque, Slot};
use contract::FinalTx;
use prost::Message as _;
use tron_node::{CallResult, Side, TronBlock};
use tron_primitives::address::{prefixed, unprefixed};
use tron_primitives::block::ProvenTransaction;
use tron_primitives::messages::{Raw, TRIGGER, TriggerSmartContract};
use tron_testimony::conclude::{LOGS_WITHIN, Record, record};

/// A call of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnCall {
    pub(super) to: Address,
    data: Vec<u8>,
    /// The time until which it can land, Unix ms of blocks.
    pub(super) expires_ms: u64,
}

/// Reads the call of a transaction of `owner`; none if the transaction calls no contract, or is another's. Reads
/// loosely: a call that we would not sign may have charged somebody all the same.
pub(super) fn call_by(owner: Address, raw_data: &[u8]) -> Option<OwnCall> {
    let raw = Raw::decode(raw_data).ok()?;
    let expires_ms = u64::try_from(raw.expiration).unwrap_or_default();
    let calls = raw.contract.into_iter().filter(|contract| contract.kind == TRIGGER);
    let mut calls = calls.filter_map(|contract| {
        TriggerSmartContract::decode(contract.parameter?.value.as_slice()).ok()
    });
    let call = calls.find(|call| call.owner_address == prefixed(owner))?;
    Some(OwnCall { to: unprefixed(&call.contract_address)?, data: call.data, expires_ms })
}

fn landed(sent: &ProvenTransaction, block: &TronBlock) -> Landed {
    let block = BlockRef { number: block.number, time: seconds(block.time_ms), hash: None };
    Landed { hash: sent.id(), block, record: None }
}

/// Returns a transaction of the account, whatever its effect.
pub(super) fn use_of_the_account(sent: &ProvenTransaction, block: &TronBlock) -> Foreign {
    Foreign::Opaque(landed(sent, block))
}

/// Finds the effects of the account's calls in irrevocable blocks.
#[derive(Debug)]
pub(super) struct ForeignCalls {
    pub(super) access: Access,
}

impl ForeignCalls {
    /// Returns a transaction of the account, if it may have charged somebody. Fails while too few nodes tell its logs
    /// alike, and it is too early to do without them.
    pub(super) async fn read(
        &self,
        sent: &ProvenTransaction,
        call: &OwnCall,
        block: &TronBlock,
        head: &TronHead,
    ) -> Result<Option<Foreign>, ChainError> {
        let id = sent.id();
        let result = CallResult::of_ending(sent.ending()).ok_or(Unanswered::Untold(id))?;
        let profiles = &self.access.account.profiles;
        let effect = match self.agreed_logs(id, block.number, result).await {
            Some(logs) => {
                let succeeded = result == CallResult::Succeeded;
                let tx = FinalTx { call: Some((call.to, &call.data)), succeeded, logs: &logs };
                profiles.effect(None::<&Slot>, tx)
            }
            None if head.solid.number < block.number.saturating_add(LOGS_WITHIN) => {
                return Err(Unanswered::Untold(id).into());
            }
            None => without_logs(profiles, call, result),
        };
        let charges = effect != Ok(ForeignEffect::Other);
        Ok(charges.then(|| Foreign::new(0, landed(sent, block), effect)))
    }

    /// Returns the logs of a transaction that enough nodes tell alike, with the result that its block proves.
    async fn agreed_logs(&self, id: B256, block: u64, result: CallResult) -> Option<Vec<Log>> {
        let told = |node: NodeId| self.record_in(node, id, block);
        let agreed = self.access.fleet.agreed("about what a transaction did", told).await.ok();
        agreed.filter(|record| record.result == result).map(|record| record.logs)
    }

    /// Reads one node's record of a transaction in this block, on either side of the node.
    async fn record_in(&self, node: NodeId, id: B256, block: u64) -> Option<Record> {
        for side in [Side::Solidity, Side::Full] {
            let info = self.access.api_of(node).info(side, id).await.ok().flatten();
            if let Some(info) = info.filter(|info| info.block == block) {
                return record(info);
            }
        }
        None
    }
}

/// Returns the effect of a transaction of which no logs are told. A transaction that succeeded has charged
/// everybody whom its call names, or may have; the effect of a call to another contract is not known at all.
fn without_logs(
    profiles: &KnownProfiles,
    call: &OwnCall,
    result: CallResult,
) -> Result<ForeignEffect, Opaque> {
    if result == CallResult::Failed {
        return Ok(ForeignEffect::Other);
    }
    if !profiles.bills_through(call.to) {
        return Err(Opaque);
    }
    let items = profiles.charged_by(call.to, &call.data).ok_or(Opaque)?;
    let unproven = items.iter().map(|_| ItemOutcome::Unproven).collect();
    let execution = Execution::Succeeded(unproven);
    Ok(ForeignEffect::Billed { contract: call.to, items, execution })
}

#[cfg(test)]
mod tests;
