//! Another attempt for a place that has one: the same call at a higher bid, or an empty transaction.
//! Both take the same nonce, so only one of all attempts can land.

use super::EvmChain;
use super::draft::{EvmCall, EvmDraft};
use super::fees::{Bid, Ceilings, affordable, allowed, cancel_bid, cost, first_bid, outbid};
use super::head::EvmHead;
use super::node::{self, Call};
use super::wire::Wire;
use crate::{CallFault, ChainError, Payer};
use alloy::primitives::{Address, Bytes, TxKind, U256};
use billing::{Attempt, AttemptKind, Slot};
use contract::Profile;
use std::sync::Arc;

/// The gas that a transfer to an account without code uses.
const TRANSFER_GAS: u64 = 21_000;

impl EvmChain {
    /// Drafts another attempt for an open slot. Its bid is above every earlier one.
    pub(super) async fn recompose<A>(
        &self,
        slot: &Slot<A>,
        kind: AttemptKind,
    ) -> Result<EvmDraft, ChainError>
    where
        A: AsRef<Attempt> + Sync,
    {
        let head = self.current().await?;
        self.timely(&head)?;
        let earlier = wires(slot)?;
        let fees = &self.parts.config.fees;
        let bids = || earlier.iter().map(|(_, wire)| wire.bid);
        let bills = earlier.iter().filter(|(kind, _)| *kind == AttemptKind::Bill);
        let bid = match kind {
            AttemptKind::Bill => {
                let left = self.raises().saturating_sub(bills.count());
                outbid(first_bid(&head.market, fees, left)?, bids(), Ceilings::of(fees))?
            }
            AttemptKind::Cancel => {
                let ceilings = Ceilings::of_cancel(fees, bills.map(|(_, wire)| wire.bid));
                outbid(cancel_bid(&head.market, fees)?, bids(), ceilings)?
            }
        };
        let profiles = &self.account.profiles;
        let (call, gas_limit) = match kind {
            AttemptKind::Bill => billing(&earlier, profiles.needed(slot)?)?,
            AttemptKind::Cancel => {
                let (me, profile) = (self.account.facts.signer, Arc::clone(&self.account.profile));
                let call = EvmCall { to: me, calldata: Bytes::new(), profile };
                (call, self.gas_for_nothing(&head, me).await?)
            }
        };
        let cost = cost(gas_limit, bid);
        allowed(cost, kind, fees)?;
        // Those that come after it can wait for money; it cannot wait for them.
        let before = self.in_flight.outstanding(head.nonces.mined, slot.position);
        let balance = head.balance(self.parts.fleet.needed());
        affordable(cost, before, balance, Payer::of(&self.account.facts))?;
        self.draft_of(call, gas_limit, bid)
    }

    pub(super) fn draft_of(
        &self,
        EvmCall { to, calldata, profile }: EvmCall,
        gas_limit: u64,
        bid: Bid,
    ) -> Result<EvmDraft, ChainError> {
        let (chain_id, signing) = (self.parts.config.eip155_id, self.account.signing()?);
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

    /// The gas limit of a transfer of nothing to oneself. More than 21,000 where the fee for another
    /// chain is paid in gas (Arbitrum), and where the account has code (EIP-7702).
    async fn gas_for_nothing(&self, head: &EvmHead, me: Address) -> Result<u64, ChainError> {
        let rules = self.gas_rules(head);
        let call = Call { from: me, to: me, data: &[], gas: rules.most };
        let view = self.view_at(head).await?;
        let estimated = node::estimate_gas(view.rpc, &view.block, call).await;
        let used = match estimated.map_err(ChainError::from) {
            Ok(used) => used,
            // It can be estimated nowhere where it cannot be sent; 21,000 is the rule of Ethereum.
            Err(ChainError::Node { .. }) => TRANSFER_GAS,
            Err(error) => return Err(error),
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
