//! A billing transaction that lacks its nonce and signature, and how it gets them.

use super::fees::{Bid, cost};
use super::in_flight::{self, Reserved};
use crate::{Draft, SealError, SealFault};
use alloy::consensus::{
    SignableTransaction, Signed as WithSignature, Transaction, TxEip1559, TxEnvelope, TxLegacy,
};
use alloy::eips::{Decodable2718, Encodable2718};
use alloy::primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use async_trait::async_trait;
use billing::{Attempt, Signed};
use contract::Profile;
use journal::{Durable, Sealed};
use policy::Intent;
use signing::{EvmPreimage, SigningContext};
use std::fmt;
use std::sync::Arc;

/// All of a transaction but the nonce.
pub(super) struct EvmDraft {
    /// The id that EIP-155 binds the signature to.
    pub(super) chain_id: u64,
    /// The address that the transaction calls.
    pub(super) to: Address,
    pub(super) calldata: Bytes,
    pub(super) gas_limit: u64,
    pub(super) bid: Bid,
    /// The amount that another chain may charge on top for the transaction's data, wei.
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

    async fn seal(&self, position: u64, intent: &Intent<'_>) -> Result<Sealed, SealError> {
        let signed = self.signed(position, intent).await?;
        Ok(Sealed::new(position, intent.items, signed))
    }

    fn committed(&self, _position: u64, attempt: &Durable<Attempt>) {
        if let Some(reserved) = &self.reserved {
            let signed = &attempt.get().signed;
            in_flight::signed(reserved, signed.hash, &signed.raw);
        }
    }
}

impl EvmDraft {
    /// Signs `tx` if its bytes do what was meant; tells what was signed as well.
    async fn sign<T>(&self, tx: T, intent: &Intent<'_>) -> Result<(TxEnvelope, B256), SealError>
    where
        T: SignableTransaction<Signature> + Send,
        TxEnvelope: From<WithSignature<T>>,
    {
        let last = EvmPreimage { bytes: tx.encoded_for_signing(), profile: &self.profile };
        let (signature, digest) = self.signing.sign(last, intent).await?;
        Ok((tx.into_signed(signature).into(), digest))
    }

    /// The signed transaction, read again.
    async fn signed(&self, position: u64, intent: &Intent<'_>) -> Result<Signed, SealError> {
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
                    intent,
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
                    intent,
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
