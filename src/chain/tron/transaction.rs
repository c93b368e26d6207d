//! A billing transaction, built and signed offline, and read back from its bytes.
//!
//! Nothing but these bytes is stored of it: when it expires and which block it builds on are read
//! from them.

use crate::billing::{Family, Signed};
use crate::chain::signing::{SigningContext, data};
use crate::chain::{SealError, SealFault};
use crate::contract::Profile;
use crate::policy::{self, Intent, Meant};
use alloy::primitives::{B256, Signature, U256};

pub(super) use tron_primitives::transaction::{RefBlock, SignedBytes, Unreadable, Unsigned};

/// Signs `call` if the policy finds in its bytes what was meant, reads the result as a node would,
/// and compares it with what was drafted. The key recovers the signer of every signature.
pub(super) async fn sign(
    call: &Unsigned,
    (signing, profile): (&SigningContext, &Profile),
    meant: &Meant<'_>,
) -> Result<Signed, SealError> {
    let raw_data = call.raw_data().map_err(SealFault::from)?;
    let last = TronPreimage { raw_data: raw_data.clone(), profile };
    complete(call, raw_data, signing.sign(last, meant).await?)
}

/// The signed transaction, if it is this one.
pub(super) fn complete(
    call: &Unsigned,
    raw_data: Vec<u8>,
    (signature, digest): (Signature, B256),
) -> Result<Signed, SealError> {
    let raw = call.complete(raw_data, &signature).map_err(SealFault::from)?;
    let read = SignedBytes::read(&raw).map_err(SealFault::from)?;
    if read.txid == digest {
        return Ok(Signed { hash: digest, raw, gas_required: call.fee_limit });
    }
    Err(SealFault::OtherBytes.into())
}

/// The bytes that a signature commits to.
struct TronPreimage<'a> {
    raw_data: Vec<u8>,
    profile: &'a Profile,
}

impl policy::Unsigned for TronPreimage<'_> {
    type Unreadable = Unreadable;

    fn bytes(&self) -> &[u8] {
        &self.raw_data
    }

    fn family(&self) -> Family {
        Family::Tvm
    }

    /// Whatever [`Unsigned`] has no field for is known to be absent.
    fn intent(&self) -> Result<Intent, Unreadable> {
        let read = Unsigned::read(&self.raw_data)?;
        Ok(Intent {
            chain_id: None,
            from: Some(read.owner),
            to: read.contract,
            value: U256::ZERO,
            cost: U256::from(read.fee_limit),
            data: data(self.profile, &read.data),
        })
    }
}
