//! A billing transaction that lacks its nonce and signature, and how it gets them.

use super::EvmChain;
use super::fees::{Bid, allowed, cost, first_bid};
use super::gas::{GasRules, ONE_CHARGE, gas_limit};
use super::head::EvmHead;
use super::in_flight::{self, PlaceCost, Reserved};
use super::preflight::EvmPreflight;
use crate::signing::SigningContext;
use crate::simulation::{Measure, Simulated, Simulator as _, note};
use crate::{CallFault, ChainError, Draft, Estimate, SealError, SealFault};
use alloy::consensus::{Transaction, TxEip1559, TxEnvelope, TxLegacy};
use alloy::eips::{Decodable2718, Encodable2718};
use alloy::primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use async_trait::async_trait;
use billing::{Attempt, AttemptKind, Charge, Opinion, Signed};
use config::Replacement;
use contract::Profile;
use journal::{Durable, Sealed};
use policy::Meant;
use std::fmt;
use std::sync::Arc;

/// The most calldata that fits in a transaction that nodes take, bytes, with 1 KiB left for the rest
/// of it. geth: core/txpool/legacypool/legacypool.go, `txMaxSize` = 4 * 32 KiB.
pub(super) const MAX_CALLDATA: usize = (128 << 10) - (1 << 10);

impl EvmChain {
    /// Drafts the billing of `good`. Asks the node nothing when the last look is young and the
    /// estimate holds for `good`; else it runs the call once more.
    pub(super) async fn compose(
        &self,
        good: &[Charge],
        estimate: &Estimate,
    ) -> Result<EvmDraft, ChainError> {
        let head = self.current().await?;
        self.timely(&head)?;
        let calldata =
            self.calldata(&head, good).map_err(|bad| ChainError::CallFails(bad.into()))?;
        if calldata.len() > MAX_CALLDATA {
            let fits = good.len().saturating_mul(MAX_CALLDATA).checked_div(calldata.len());
            return Err(ChainError::BatchTooLarge { max: fits.unwrap_or(0) });
        }
        // A contract that reports per item does no more for some of a batch than for all of it. One
        // that reverts as a whole has to be seen to pass with exactly these.
        let fewer = self.account.profile.per_item() && good.len() < estimate.charges;
        let holds = estimate.used > 0 && (good.len() == estimate.charges || fewer);
        let estimate =
            if holds { estimate.clone() } else { self.measure(Arc::clone(&head), good).await? };
        let gas_limit = match gas_limit(&estimate, good.len(), self.gas_rules(&head)) {
            Ok(limit) => limit,
            Err(too_large) => {
                let trial = EvmPreflight {
                    chain: self,
                    view: self.view_at(&head).await?,
                    head,
                    charges: good,
                };
                return Err(self.tried(&trial, &(0..good.len()).collect(), too_large).await);
            }
        };
        let fees = &self.parts.config.fees;
        let bid = first_bid(&head.market, fees, self.raises())?;
        let cost = cost(gas_limit, bid);
        allowed(cost, AttemptKind::Bill, fees)?;
        let surcharge = self.data_fee.of(calldata.len());
        let (holdings, needed) = (head.holdings(), self.parts.fleet.needed());
        let total = cost.saturating_add(surcharge);
        let place_cost = PlaceCost::of_draft(bid, total);
        let reserved = Some(self.in_flight.reserve(place_cost, None, &holdings, needed)?);
        *self.last_estimate.lock() = estimate;
        let call = EvmCall {
            to: self.account.facts.contract,
            calldata: calldata.into(),
            profile: Arc::clone(&self.account.profile),
        };
        Ok(EvmDraft { surcharge, reserved, ..self.draft_of(call, gas_limit, bid)? })
    }

    pub(super) fn gas_rules(&self, head: &EvmHead) -> GasRules {
        let config = &self.parts.config;
        GasRules {
            margin_percent: config.gas_margin_percent.into(),
            reserve: config.gas_reserve,
            most: config.gas_limit_cap.min(head.block_gas),
        }
    }

    /// Returns the gas that an ordinary batch may use: as much as the last that was drafted, and no more than a
    /// transaction may use now.
    pub(super) fn ordinary_gas(&self, head: &EvmHead) -> u64 {
        let rules = self.gas_rules(head);
        gas_limit(&self.last_estimate.lock(), 1, rules).unwrap_or(rules.most)
    }

    /// Returns the cost that an ordinary batch may reach at this price, wei.
    pub(super) fn ordinary_cost(&self, head: &EvmHead, bid: Bid) -> U256 {
        cost(self.ordinary_gas(head), bid).saturating_add(self.data_fee.last())
    }

    /// An error where not even one charge of such a batch fits in a transaction.
    pub(super) fn could_use_gas(&self, head: &EvmHead) -> Result<(), ChainError> {
        let alone = self.last_estimate.lock().alone(&ONE_CHARGE);
        gas_limit(&alone, 1, self.gas_rules(head)).map(drop)
    }

    /// Returns the number of raises of a bid for which its ceilings should leave room.
    pub(super) fn raises(&self) -> usize {
        match self.parts.config.replacement {
            Replacement::Off => 0,
            Replacement::On { most, .. } => most.saturating_sub(1),
        }
    }

    async fn measure(&self, head: Arc<EvmHead>, good: &[Charge]) -> Result<Estimate, ChainError> {
        let trial =
            EvmPreflight { chain: self, view: self.view_at(&head).await?, head, charges: good };
        let all = (0..good.len()).collect();
        let (used, answer) = match trial.run(&all, Measure::Usage).await? {
            Simulated::Passed { used, answer } => (used, answer),
            Simulated::Failed(failure) => {
                return Err(self.unexplained(&trial, all, &failure).await?);
            }
        };
        let mut opinions = vec![Opinion::Passes; good.len()];
        note(&self.account.profile, &mut opinions, &all, &answer)?;
        if opinions.iter().all(|opinion| *opinion == Opinion::Passes) {
            return Ok(Estimate { used, charges: good.len() });
        }
        Err(CallFault::Together.into())
    }
}

/// The address that a transaction calls, and the input of the call.
pub(super) struct EvmCall {
    pub(super) to: Address,
    pub(super) calldata: Bytes,
    /// The profile by which the calldata is read before it is signed.
    pub(super) profile: Arc<Profile>,
}

/// All of a transaction but the nonce.
pub(super) struct EvmDraft {
    /// The id that EIP-155 binds the signature to.
    pub(super) chain_id: u64,
    /// The address that the transaction calls.
    pub(super) to: Address,
    pub(super) calldata: Bytes,
    pub(super) gas_limit: u64,
    pub(super) bid: Bid,
    /// The amount that another chain may charge on top for the transaction's data, wei; 0 for a replacement, where
    /// it was counted before.
    pub(super) surcharge: U256,
    /// The money that is set aside for it; none for a replacement, whose place has its money.
    pub(super) reserved: Option<Reserved>,
    /// The profile by which the call is read before it is signed.
    pub(super) profile: Arc<Profile>,
    pub(super) signing: Arc<SigningContext>,
}

/// Without the calldata, which can be long.
impl fmt::Debug for EvmDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvmDraft")
            .field("chain_id", &self.chain_id)
            .field("to", &self.to)
            .field("gas_limit", &self.gas_limit)
            .field("bid", &self.bid)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Draft for EvmDraft {
    fn gas_required(&self) -> u64 {
        self.gas_limit
    }

    fn cost(&self) -> U256 {
        cost(self.gas_limit, self.bid).saturating_add(self.surcharge)
    }

    async fn seal(&self, position: u64, meant: &Meant<'_>) -> Result<Sealed, SealError> {
        let signed = self.signed(position, meant).await?;
        Ok(Sealed::new(position, meant.items, signed))
    }

    fn committed(&self, _position: u64, attempt: &Durable<Attempt>) {
        if let Some(reserved) = &self.reserved {
            let signed = &attempt.get().signed;
            in_flight::signed(reserved, signed.hash, &signed.raw);
        }
    }
}

impl EvmDraft {
    /// The signed transaction, read again.
    async fn signed(&self, position: u64, meant: &Meant<'_>) -> Result<Signed, SealError> {
        let (envelope, digest) = match self.bid {
            Bid::Dynamic { max_fee, tip } => {
                self.sign(
                    TxEip1559 {
                        chain_id: self.chain_id,
                        nonce: position,
                        gas_limit: self.gas_limit,
                        max_fee_per_gas: max_fee,
                        max_priority_fee_per_gas: tip,
                        to: TxKind::Call(self.to),
                        value: U256::ZERO,
                        access_list: alloy::eips::eip2930::AccessList::default(),
                        input: self.calldata.clone(),
                    },
                    meant,
                )
                .await?
            }
            Bid::Legacy { price } => {
                self.sign(
                    TxLegacy {
                        chain_id: Some(self.chain_id),
                        nonce: position,
                        gas_price: price,
                        gas_limit: self.gas_limit,
                        to: TxKind::Call(self.to),
                        value: U256::ZERO,
                        input: self.calldata.clone(),
                    },
                    meant,
                )
                .await?
            }
        };
        let raw = envelope.encoded_2718();
        self.check(&raw, position, (digest, *envelope.signature()))?;
        Ok(Signed { hash: keccak256(&raw), raw, gas_required: self.gas_limit })
    }

    /// Reads the final bytes as a node would, and compares them with what was meant. The key has
    /// recovered the signer of `signed` already, so the same digest and signature have that signer.
    fn check(&self, raw: &[u8], position: u64, signed: (B256, Signature)) -> Result<(), SealError> {
        let tx = TxEnvelope::decode_2718_exact(raw).map_err(|_| SealFault::Unread)?;
        let same = [
            ("chain id", tx.chain_id() == Some(self.chain_id)),
            ("receiver", tx.kind() == TxKind::Call(self.to)),
            ("value", tx.value().is_zero()),
            ("input", tx.input() == &self.calldata),
            ("nonce", tx.nonce() == position),
            ("gas limit", tx.gas_limit() == self.gas_limit),
            ("price", tx.max_fee_per_gas() == self.bid.at_most()),
            (
                "tip",
                tx.max_priority_fee_per_gas().unwrap_or(tx.max_fee_per_gas()) == self.bid.tip(),
            ),
            ("signature", (tx.signature_hash(), *tx.signature()) == signed),
        ];
        match same.iter().find(|(_, same)| !same) {
            None => Ok(()),
            Some((field, _)) => Err(SealFault::OtherField(field).into()),
        }
    }
}

#[cfg(test)]
mod tests;
