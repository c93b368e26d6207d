//! The desk where EVM transactions are signed: the final bytes are read again, the policy looks at
//! what they do, and only then is there a signature.

use crate::billing::Family;
use crate::chain::SealError;
use crate::chain::profile::Profile;
use crate::keys::Key;
use crate::policy::{Data, Intent, Meant, Policy, Unsigned};
use alloy::consensus::{SignableTransaction, Signed, Transaction, TxEip1559, TxEnvelope, TxLegacy};
use alloy::primitives::{B256, Selector, Signature, TxKind, U256};
use alloy::rlp::Decodable;
use std::sync::Arc;

/// What it takes to sign.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) key: Arc<Key>,
    pub(super) policy: Policy,
    pub(super) profile: Profile,
}

impl Desk {
    /// Signs `tx` if its bytes do what was meant; tells what was signed as well.
    pub(super) fn sign<T>(&self, tx: T, meant: &Meant<'_>) -> Result<(TxEnvelope, B256), SealError>
    where
        T: SignableTransaction<Signature>,
        TxEnvelope: From<Signed<T>>,
    {
        let last = Final { bytes: tx.encoded_for_signing(), profile: &self.profile };
        let approved = self.policy.approve(last, meant)?;
        let signature = self.key.sign(&approved).map_err(|why| why.to_string())?;
        Ok((tx.into_signed(signature).into(), approved.digest()))
    }
}

/// The bytes that a signature commits to: EIP-2718 type and RLP list, or the RLP list of EIP-155.
#[derive(Debug)]
pub(super) struct Final<'a> {
    pub(super) bytes: Vec<u8>,
    pub(super) profile: &'a Profile,
}

impl Unsigned for Final<'_> {
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

impl Final<'_> {
    fn read<T: Transaction + SignableTransaction<Signature>>(
        &self,
        tx: &T,
    ) -> Result<Intent, String> {
        // A decoder may take what an encoder would not write; a node could read that otherwise.
        if tx.encoded_for_signing() != self.bytes {
            return Err("its bytes are not in their one form".to_owned());
        }
        let TxKind::Call(to) = tx.kind() else { return Err("it makes a contract".to_owned()) };
        let input = tx.input();
        let data = if input.is_empty() {
            Data::None
        } else {
            let mut selector = Selector::ZERO;
            selector.iter_mut().zip(input).for_each(|(place, byte)| *place = *byte);
            let charges = self.profile.carried(input).map_err(|why| why.to_string());
            Data::Call { selector, charges }
        };
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
