//! Drafts of billing transactions: of new batches, and of further attempts for a place that has one. A further attempt
//! is the same call at a higher bid, or an empty transaction. Both take the same nonce, so only one of all attempts can
//! land.

use super::access::Access;
use super::draft::EvmDraft;
use super::fees::{Bid, Ceilings, affordable, allowed, cancel_bid, cost, first_bid, outbid};
use super::gas::gas_limit;
use super::head::EvmHead;
use super::head_watch::HeadWatch;
use super::simulation::Simulation;
use super::spending::Spending;
use super::wire::Wire;
use crate::{CallFault, ChainError, Estimate, Payer, check_length};
use ::node::reached_by;
use alloy::primitives::{Address, Bytes, TxKind, U256};
use billing::{Attempt, AttemptKind, Charge, Slot};
use contract::Profile;
use evm_node::{self as node, Call};
use futures_util::future::join_all;
use std::sync::Arc;

/// The most calldata that fits in a transaction that nodes take, bytes, with 1 KiB left for the rest
/// of it. geth: core/txpool/legacypool/legacypool.go, `txMaxSize` = 4 * 32 KiB.
pub(super) const MAX_CALLDATA: usize = (128 << 10) - (1 << 10);

/// The gas that a transfer to an account without code uses.
const TRANSFER_GAS: u64 = 21_000;

/// The address that a transaction calls, and the input of the call.
struct EvmCall {
    to: Address,
    calldata: Bytes,
    /// The profile by which the calldata is read before it is signed.
    profile: Arc<Profile>,
}

/// Drafts transactions of the account.
#[derive(Debug)]
pub(super) struct Drafting {
    pub(super) access: Access,
    pub(super) head: Arc<HeadWatch>,
    pub(super) spending: Arc<Spending>,
    pub(super) simulation: Arc<Simulation>,
}

impl Drafting {
    /// Drafts the billing of `good`. Asks the node nothing when the last look is young and the
    /// estimate holds for `good`; else it runs the call once more.
    pub(super) async fn bill(
        &self,
        good: &[Charge],
        estimate: &Estimate,
    ) -> Result<EvmDraft, ChainError> {
        let (head, account) = (self.head.current().await?, &self.access.account);
        self.head.timely(&head)?;
        let calldata = self.access.calldata(head.view.head_time, good);
        let calldata = calldata.map_err(|bad| ChainError::CallFails(bad.into()))?;
        check_length(&calldata, good.len(), MAX_CALLDATA)?;
        let estimate = if estimate.holds_for(good.len(), &account.profile) {
            estimate.clone()
        } else {
            self.simulation.measure(Arc::clone(&head), good).await?
        };
        let gas_limit =
            match gas_limit(&estimate, good.len(), self.access.gas_rules(head.block_gas)) {
                Ok(limit) => limit,
                Err(too_large) => return Err(self.simulation.fitting(head, good, too_large).await),
            };
        let fees = &self.access.config.fees;
        let bid = first_bid(&head.market, fees, self.access.raises())?;
        let cost = cost(gas_limit, bid);
        allowed(cost, AttemptKind::Bill, fees)?;
        let surcharge = self.spending.surcharge(calldata.len());
        let reserved = Some(self.spending.reserve(&head, bid, cost.saturating_add(surcharge))?);
        self.spending.note_draft(estimate);
        let (to, profile) = (self.access.contract(), Arc::clone(&account.profile));
        let call = EvmCall { to, calldata: calldata.into(), profile };
        Ok(EvmDraft { surcharge, reserved, ..self.draft(call, gas_limit, bid)? })
    }

    /// Drafts another attempt for an open slot. Its bid is above every earlier one.
    pub(super) async fn again<A>(
        &self,
        slot: &Slot<A>,
        kind: AttemptKind,
    ) -> Result<EvmDraft, ChainError>
    where
        A: AsRef<Attempt> + Sync,
    {
        let (head, account) = (self.head.current().await?, &self.access.account);
        self.head.timely(&head)?;
        let earlier = wires(slot)?;
        let fees = &self.access.config.fees;
        let bids = || earlier.iter().map(|(_, wire)| wire.bid);
        let bills = earlier.iter().filter(|(kind, _)| *kind == AttemptKind::Bill);
        let bid = match kind {
            AttemptKind::Bill => {
                let left = self.access.raises().saturating_sub(bills.count());
                outbid(first_bid(&head.market, fees, left)?, bids(), Ceilings::of(fees))?
            }
            AttemptKind::Cancel => {
                let ceilings = Ceilings::of_cancel(fees, bills.map(|(_, wire)| wire.bid));
                outbid(cancel_bid(&head.market, fees)?, bids(), ceilings)?
            }
        };
        let (call, gas_limit) = match kind {
            AttemptKind::Bill => billing(&earlier, account.profiles.needed(slot)?)?,
            AttemptKind::Cancel => {
                let (me, profile) = (self.access.signer(), Arc::clone(&account.profile));
                let call = EvmCall { to: me, calldata: Bytes::new(), profile };
                (call, self.gas_for_nothing(&head, me).await?)
            }
        };
        let cost = cost(gas_limit, bid);
        allowed(cost, kind, fees)?;
        // Those that come after it can wait for money; it cannot wait for them.
        let before = self.spending.outstanding(head.nonces.mined, slot.position);
        let balance = head.balance(self.access.needed());
        affordable(cost, before, balance, Payer::of(&account.facts))?;
        // The sum of the day has what the chain takes beside gas, and compares this attempt with it.
        let surcharge = self.spending.surcharge(call.calldata.len());
        Ok(EvmDraft { surcharge, ..self.draft(call, gas_limit, bid)? })
    }

    fn draft(&self, call: EvmCall, gas_limit: u64, bid: Bid) -> Result<EvmDraft, ChainError> {
        let EvmCall { to, calldata, profile } = call;
        let (chain_id, signing) = (self.access.config.eip155_id, self.access.account.signing()?);
        Ok(EvmDraft {
            chain_id,
            to,
            calldata,
            gas_limit,
            bid,
            surcharge: U256::ZERO,
            reserved: None,
            profile,
            signing,
        })
    }

    /// Returns the gas limit of a transfer of nothing to oneself. More than 21,000 where the fee for another
    /// chain is paid in gas (Arbitrum), and where the account has code (EIP-7702). As many nodes tell it as have to
    /// agree: too little would be taken by no node, and too much is not allowed.
    async fn gas_for_nothing(&self, head: &EvmHead, me: Address) -> Result<u64, ChainError> {
        let rules = self.access.gas_rules(head.block_gas);
        let views = self.head.views_at(head).await?;
        let asked = views.iter().map(async |(_, view)| {
            let call = Call { from: me, to: me, data: &[], gas: rules.most };
            node::estimate_gas(view.rpc, &view.block, call).await.map_err(ChainError::from)
        });
        let (mut told, mut unheard) = (Vec::new(), None);
        for answer in join_all(asked).await {
            match answer {
                Ok(used) => told.push(used),
                Err(ChainError::Node { .. }) => {}
                Err(error) => unheard = unheard.or(Some(error)),
            }
        }
        let agreed = reached_by(told.iter().copied(), self.access.needed());
        let used = match (agreed.or_else(|| told.into_iter().max()), unheard) {
            (Some(used), _) => used,
            // It can be estimated nowhere where it cannot be sent; 21,000 is the rule of Ethereum.
            (None, None) => TRANSFER_GAS,
            (None, Some(error)) => return Err(error),
        };
        if used <= TRANSFER_GAS {
            return Ok(TRANSFER_GAS);
        }
        let margin = used.saturating_mul(rules.margin_percent).div_ceil(100);
        Ok(used.saturating_add(margin).min(rules.most))
    }
}

/// Every attempt as it is on the wire.
fn wires<A: AsRef<Attempt>>(slot: &Slot<A>) -> Result<Vec<(AttemptKind, Wire)>, ChainError> {
    let attempts = slot.attempts.iter().map(AsRef::as_ref);
    let read = |attempt: &Attempt| Some((attempt.kind, Wire::read(&attempt.signed.raw)?));
    Ok(attempts.map(read).collect::<Option<_>>().ok_or(CallFault::UnreadableAttempt)?)
}

/// The very call of the newest attempt that bills.
fn billing(
    earlier: &[(AttemptKind, Wire)],
    profile: Arc<Profile>,
) -> Result<(EvmCall, u64), ChainError> {
    let mut newest = earlier.iter().rev();
    match newest.find(|(kind, _)| *kind == AttemptKind::Bill) {
        Some((_, Wire { to: TxKind::Call(to), input, gas_limit, .. })) => {
            Ok((EvmCall { to: *to, calldata: input.clone(), profile }, *gas_limit))
        }
        Some(_) | None => Err(CallFault::NoBilling.into()),
    }
}
