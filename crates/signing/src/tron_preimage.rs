//! A billing transaction on TRON, built and signed offline, and read back from its bytes.
//!
//! Nothing but these bytes is stored of it: its expiration and the block that it builds on are read from them.

use super::context::{SigningContext, data};
use super::seal_error::{SealError, SealFault};
use alloy::primitives::{B256, Signature, U256};
use billing::{Family, Signed};
use contract::Profile;
use policy::{self, Effect, Intent};

use tron_primitives::transaction::{SignedBytes, Unreadable, Unsigned};

/// Signs `call` if the policy finds in its bytes what was meant, reads the result as a node would,
/// and compares it with what was drafted. The key recovers the signer of every signature.
pub async fn sign(
    call: &Unsigned,
    signing: &SigningContext,
    profile: &Profile,
    intent: &Intent<'_>,
) -> Result<Signed, SealError> {
    let raw_data = call.raw_data().map_err(SealFault::from)?;
    let last = TronPreimage { raw_data: raw_data.clone(), profile };
    let (signature, digest) = signing.sign(last, intent).await?;
    complete(call, raw_data, &signature, digest)
}

/// The signed transaction, if it is this one.
pub fn complete(
    call: &Unsigned,
    raw_data: Vec<u8>,
    signature: &Signature,
    digest: B256,
) -> Result<Signed, SealError> {
    let raw = call.complete(raw_data, signature).map_err(SealFault::from)?;
    let read = SignedBytes::read(&raw).map_err(SealFault::from)?;
    if read.txid == digest {
        return Ok(Signed { hash: digest, raw, gas_required: call.fee_limit });
    }
    Err(SealFault::OtherBytes.into())
}

/// The bytes that a signature commits to.
#[derive(Debug)]
pub struct TronPreimage<'a> {
    /// The bytes.
    pub raw_data: Vec<u8>,
    /// The profile by which the call is read.
    pub profile: &'a Profile,
}

impl TronPreimage<'_> {
    /// Returns the input of the call; none where it cannot be read.
    pub fn input(&self) -> Option<Vec<u8>> {
        Some(Unsigned::read(&self.raw_data).ok()?.data)
    }
}

impl policy::Unsigned for TronPreimage<'_> {
    type Unreadable = Unreadable;

    fn bytes(&self) -> &[u8] {
        &self.raw_data
    }

    fn family(&self) -> Family {
        Family::Tvm
    }

    /// Reads the effect. Anything that [`Unsigned`] has no field for is known to be absent.
    fn effect(&self) -> Result<Effect, Unreadable> {
        let read = Unsigned::read(&self.raw_data)?;
        Ok(Effect {
            chain_id: None,
            from: Some(read.owner),
            to: read.contract,
            value: U256::ZERO,
            cost: U256::from(read.fee_limit),
            data: data(self.profile, &read.data),
        })
    }
}
