//! The final bytes of an EVM transaction, read again as a node would read them before they are signed.

use super::draft::EvmDraft;
use crate::billing::Family;
use crate::chain::SealError;
use crate::chain::signing::data;
use crate::contract::Profile;
use crate::policy::{Intent, Meant, Unsigned};
use alloy::consensus::{SignableTransaction, Signed, Transaction, TxEip1559, TxEnvelope, TxLegacy};
use alloy::primitives::{B256, Signature, TxKind, U256};
use alloy::rlp::Decodable;

impl EvmDraft {
    /// Signs `tx` if its bytes do what was meant; tells what was signed as well.
    pub(super) async fn sign<T>(
        &self,
        tx: T,
        meant: &Meant<'_>,
    ) -> Result<(TxEnvelope, B256), SealError>
    where
        T: SignableTransaction<Signature> + Send,
        TxEnvelope: From<Signed<T>>,
    {
        let last = EvmPreimage { bytes: tx.encoded_for_signing(), profile: &self.profile };
        let (signature, digest) = self.signing.sign(last, meant).await?;
        Ok((tx.into_signed(signature).into(), digest))
    }
}

/// The bytes that a signature commits to: EIP-2718 type and RLP list, or the RLP list of EIP-155.
#[derive(Debug)]
pub(super) struct EvmPreimage<'a> {
    pub(super) bytes: Vec<u8>,
    pub(super) profile: &'a Profile,
}

/// Why bytes are no transaction that this adapter signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum OddPreimage {
    #[error("its type is unknown")]
    UnknownType,
    #[error("{0}")]
    Rlp(#[from] alloy::rlp::Error),
    #[error("there is more behind it")]
    Longer,
    #[error("its bytes are not in their one form")]
    OtherForm,
    #[error("it has an access list")]
    AccessList,
    #[error("it makes a contract")]
    MakesContract,
}

impl Unsigned for EvmPreimage<'_> {
    type Unreadable = OddPreimage;

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn family(&self) -> Family {
        Family::Evm
    }

    fn intent(&self) -> Result<Intent, OddPreimage> {
        match self.bytes.split_first() {
            Some((2, list)) => {
                let tx: TxEip1559 = whole(list)?;
                if !tx.access_list.is_empty() {
                    return Err(OddPreimage::AccessList);
                }
                self.read(&tx)
            }
            Some((192.., _)) => self.read(&whole::<TxLegacy>(&self.bytes)?),
            Some(_) | None => Err(OddPreimage::UnknownType),
        }
    }
}

impl EvmPreimage<'_> {
    fn read<T: Transaction + SignableTransaction<Signature>>(
        &self,
        tx: &T,
    ) -> Result<Intent, OddPreimage> {
        // A decoder may take what an encoder would not write; a node could read that otherwise.
        if tx.encoded_for_signing() != self.bytes {
            return Err(OddPreimage::OtherForm);
        }
        let TxKind::Call(to) = tx.kind() else { return Err(OddPreimage::MakesContract) };
        let data = data(self.profile, tx.input());
        let gas = U256::from(tx.gas_limit());
        let cost = gas.saturating_mul(U256::from(tx.max_fee_per_gas()));
        Ok(Intent { chain_id: tx.chain_id(), from: None, to, value: tx.value(), cost, data })
    }
}

/// A value that takes up all of these bytes.
fn whole<T: Decodable>(mut bytes: &[u8]) -> Result<T, OddPreimage> {
    let read = T::decode(&mut bytes)?;
    if bytes.is_empty() { Ok(read) } else { Err(OddPreimage::Longer) }
}
