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

impl Unsigned for EvmPreimage<'_> {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn family(&self) -> Family {
        Family::Evm
    }

    fn intent(&self) -> Result<Intent, String> {
        match self.bytes.split_first() {
            Some((2, list)) => {
                let tx: TxEip1559 = whole(list)?;
                if !tx.access_list.is_empty() {
                    return Err("it has an access list".to_owned());
                }
                self.read(&tx)
            }
            Some((192.., _)) => self.read(&whole::<TxLegacy>(&self.bytes)?),
            Some(_) | None => Err("its type is unknown".to_owned()),
        }
    }
}

impl EvmPreimage<'_> {
    fn read<T: Transaction + SignableTransaction<Signature>>(
        &self,
        tx: &T,
    ) -> Result<Intent, String> {
        // A decoder may take what an encoder would not write; a node could read that otherwise.
        if tx.encoded_for_signing() != self.bytes {
            return Err("its bytes are not in their one form".to_owned());
        }
        let TxKind::Call(to) = tx.kind() else { return Err("it makes a contract".to_owned()) };
        let data = data(self.profile, tx.input());
        let gas = U256::from(tx.gas_limit());
        let cost = gas.saturating_mul(U256::from(tx.max_fee_per_gas()));
        Ok(Intent { chain_id: tx.chain_id(), from: None, to, value: tx.value(), cost, data })
    }
}

/// A value that takes up all of these bytes.
fn whole<T: Decodable>(mut bytes: &[u8]) -> Result<T, String> {
    let read = T::decode(&mut bytes).map_err(|why| why.to_string())?;
    if bytes.is_empty() { Ok(read) } else { Err("there is more behind it".to_owned()) }
}
