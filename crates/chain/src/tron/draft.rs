//! A billing transaction that lacks its place in the lane and its signature, and how it gets them.

use super::TronChain;
use super::head::TronHead;
use super::resources::{
    EnergyRules, ONE_CHARGE, ONE_CHARGE_BYTES, Spend, bandwidth, budget, fee_limit,
};
use super::spends::SpendOf;
use super::transaction::{RefBlock, Unsigned, sign};
use crate::promises::SetAside;
use crate::signing::SigningContext;
use crate::{ChainError, Draft, Estimate, SealError};
use alloy::primitives::{Address, U256};
use async_trait::async_trait;
use billing::{Attempt, BadField, Charge, Signed};
use contract::{Computed, Profile};
use journal::{Durable, Sealed};
use policy::Meant;
use std::fmt;
use std::sync::Arc;

/// The longest life that nodes allow a transaction. java-tron:
/// common/.../core/Constant.java, `MAXIMUM_TIME_UNTIL_EXPIRATION`.
const LONGEST_LIFE_MS: u64 = 86_400_000;

/// The most calldata that fits in a transaction that nodes take (500 KiB, results included), with
/// 2 KiB left for the rest of it. java-tron: common/.../core/Constant.java, `TRANSACTION_MAX_BYTE_SIZE`.
const MAX_CALLDATA: usize = (500 << 10) - (2 << 10);

impl TronChain {
    /// Drafts the billing of `good`. Asks the node nothing when the last look is young and the
    /// estimate holds for `good`; else the call is run once more.
    pub(super) async fn compose(
        &self,
        good: &[Charge],
        estimate: &Estimate,
    ) -> Result<TronDraft, ChainError> {
        let head = self.current().await?;
        head.timely(self.account.clock.unix_ms())?;
        let data = self.calldata(&head, good).map_err(|bad| ChainError::CallFails(bad.into()))?;
        if data.len() > MAX_CALLDATA {
            let fits = good.len().saturating_mul(MAX_CALLDATA).checked_div(data.len());
            return Err(ChainError::BatchTooLarge { max: fits.unwrap_or(0) });
        }
        // As on EVM: a contract that reports per item does no more for some of a batch than for all
        // of it. One that reverts as a whole has to be seen to pass with exactly these.
        let fewer = self.account.profile.per_item() && good.len() < estimate.charges;
        let holds = estimate.used > 0 && (good.len() == estimate.charges || fewer);
        let estimate = if holds { estimate.clone() } else { self.measure(good).await? };
        let profile = Arc::clone(&self.account.profile);
        let call = ContractCall { to: self.account.facts.contract, data, profile, instead: None };
        let draft = self.draft_of(&head, call, &estimate, good.len())?;
        *self.last_draft.lock() = LastDraft { estimate, size: draft.spend.size };
        Ok(draft)
    }

    /// Returns the possible cost of an ordinary batch now: one like the last that was drafted.
    pub(super) fn ordinary(&self, head: &TronHead) -> Spend {
        let last = self.last_draft.lock();
        let fee_limit = fee_limit(&last.estimate, &head.prices, self.energy_rules());
        Spend { fee_limit, size: last.size }
    }

    /// A call of the contract that builds on what is irrevocable at `head`, and dies by its time.
    pub(super) fn draft_of(
        &self,
        head: &TronHead,
        call: ContractCall,
        estimate: &Estimate,
        charges: usize,
    ) -> Result<TronDraft, ChainError> {
        let budget = budget(estimate, charges, &head.prices, self.energy_rules())?;
        let unsigned = Unsigned {
            owner: self.account.facts.signer,
            contract: call.to,
            data: call.data,
            ref_block: RefBlock::to(head.solid.id),
            expiration_ms: head.newest.time_ms.saturating_add(self.life_ms()),
            timestamp_ms: head.newest.time_ms,
            fee_limit: budget.fee_limit,
        };
        let size = unsigned.signed_size().map_err(|why| ChainError::CallFails(why.into()))?;
        let spend = Spend { fee_limit: budget.fee_limit, size };
        let promised = (SpendOf::draft(spend), call.instead);
        let needed = self.parts.fleet.needed();
        let reserved = self.promises.reserve(promised, &head.means, needed)?;
        let bandwidth = bandwidth(size).saturating_mul(head.prices.bandwidth);
        let cost = U256::from(budget.fee_limit).saturating_add(U256::from(bandwidth));
        let (profile, signing) = (call.profile, self.account.signing()?);
        Ok(TronDraft { unsigned, cost, spend, reserved, profile, signing })
    }

    /// The billing call for `charges`, with the deadline counted from the head's time.
    pub(super) fn calldata(
        &self,
        head: &TronHead,
        charges: &[Charge],
    ) -> Result<Vec<u8>, BadField> {
        self.account.profile.encode(charges, &self.computed(head))
    }

    /// Returns the values that the Signer itself puts into a call.
    pub(super) fn computed(&self, head: &TronHead) -> Computed {
        let wait = self.parts.config.billing.deadline.as_secs();
        let deadline = head.pulse.head_time.saturating_add(wait);
        Computed { deadline, signer: self.account.facts.signer }
    }

    /// Returns the time after the head's time within which a transaction can land, ms.
    pub(super) fn life_ms(&self) -> u64 {
        let life = u64::try_from(self.parts.config.expiry.as_millis()).unwrap_or(u64::MAX);
        life.min(LONGEST_LIFE_MS)
    }

    pub(super) fn energy_rules(&self) -> EnergyRules {
        let fees = &self.parts.config.fees;
        EnergyRules {
            energy_margin_percent: fees.energy_margin_percent.into(),
            drift_margin_percent: fees.drift_margin_percent.into(),
            energy_reserve: fees.energy_reserve,
            max_fee_limit: fees.max_fee_limit.0,
        }
    }
}

/// The estimate and size of the last billing that was drafted: the next is taken to be like it.
#[derive(Debug)]
pub(super) struct LastDraft {
    pub(super) estimate: Estimate,
    /// Size of the transaction, bytes.
    size: usize,
}

/// Before the first: like one charge.
impl Default for LastDraft {
    fn default() -> Self {
        Self { estimate: ONE_CHARGE, size: ONE_CHARGE_BYTES }
    }
}

/// The address that a transaction calls, and the input of the call.
pub(super) struct ContractCall {
    pub(super) to: Address,
    pub(super) data: Vec<u8>,
    /// The profile by which the data is read before it is signed.
    pub(super) profile: Arc<Profile>,
    /// The place whose earlier attempts are dead, if it is for another attempt.
    pub(super) instead: Option<u64>,
}

/// All of a transaction but its place in the lane.
pub(super) struct TronDraft {
    /// With the time that it was drafted at as its timestamp.
    pub(super) unsigned: Unsigned,
    /// The fee limit, and the bandwidth if none of it is free, sun.
    cost: U256,
    spend: Spend,
    /// The money that is set aside for it.
    reserved: SetAside<SpendOf>,
    /// The profile by which the call is read before it is signed.
    profile: Arc<Profile>,
    signing: Arc<SigningContext>,
}

/// Without the calldata, which can be long.
impl fmt::Debug for TronDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TronDraft")
            .field("contract", &self.unsigned.contract)
            .field("expiration_ms", &self.unsigned.expiration_ms)
            .field("fee_limit", &self.unsigned.fee_limit)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Draft for TronDraft {
    fn gas_required(&self) -> u64 {
        self.unsigned.fee_limit
    }

    fn cost(&self) -> U256 {
        self.cost
    }

    async fn seal(&self, position: u64, meant: &Meant<'_>) -> Result<Sealed, SealError> {
        let signed = self.signed(position, meant).await?;
        Ok(Sealed::new(position, meant.items, signed))
    }

    fn committed(&self, position: u64, attempt: &Durable<Attempt>) {
        let hash = attempt.get().signed.hash;
        self.reserved.signed(position, |_| SpendOf::signed(hash, self.spend));
    }
}

impl TronDraft {
    /// There is no nonce to tell two equal calls apart, so the position goes into the timestamp,
    /// which nodes do not look at: no two positions share a transaction id.
    pub(super) async fn signed(
        &self,
        position: u64,
        meant: &Meant<'_>,
    ) -> Result<Signed, SealError> {
        let timestamp_ms = self.unsigned.timestamp_ms.saturating_add(position);
        let unsigned = Unsigned { timestamp_ms, ..self.unsigned.clone() };
        sign(&unsigned, (&self.signing, &self.profile), meant).await
    }
}
