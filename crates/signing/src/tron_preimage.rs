//! A billing transaction on TRON, built and signed offline, and read back from its bytes.
//!
//! Nothing but these bytes is stored of it: its expiration and the block that it builds on are read from them.

use super::context::{SigningContext, data};
use super::seal_error::{SealError, SealFault};
use alloy::primitives::{Address, B256, Signature, U256};
use billing::{Family, Signed};
use contract::{Computed, Profile};
use policy::{self, Intent, Meant};

use tron_primitives::transaction::{SignedBytes, Unreadable, Unsigned};

/// Signs `call` if the policy finds in its bytes what was meant, reads the result as a node would,
/// and compares it with what was drafted. The key recovers the signer of every signature.
pub async fn sign(
    call: &Unsigned,
    signing: &SigningContext,
    profile: &Profile,
    meant: &Meant<'_>,
) -> Result<Signed, SealError> {
    let raw_data = call.raw_data().map_err(SealFault::from)?;
    let last = TronPreimage { raw_data: raw_data.clone(), profile };
    let (signature, digest) = signing.sign(last, meant).await?;
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

    /// Reads the intent. Anything that [`Unsigned`] has no field for is known to be absent.
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

/// The calls that another attempt of a TRON batch may be: by the profiles of batches, until a moment.
#[derive(Debug)]
pub struct KnownCalls<'a> {
    /// They tell which argument is the deadline.
    pub profiles: &'a [&'a Profile],
    /// A new deadline is not after this, Unix seconds.
    pub latest: U256,
}

impl policy::Repeating for TronPreimage<'_> {
    type Known<'a> = KnownCalls<'a>;

    /// The same call with nothing but another deadline. That `earlier` is dead is not shown.
    fn repeats(
        &self,
        earlier: &[u8],
        signer: Address,
        known: &KnownCalls<'_>,
    ) -> Result<(), &'static str> {
        let before = SignedBytes::read(earlier);
        let before = before.map_err(|_| "what was to be signed before is no transaction")?;
        if before.signer() != Some(signer) {
            return Err("what was to be signed before was not signed by this key");
        }
        let (now, before) = (
            Unsigned::read(&self.raw_data).map_err(|_| "its bytes cannot be read")?,
            before.unsigned,
        );
        if now.contract != before.contract {
            return Err("it calls another contract than what was signed before");
        }
        let one = Computed { deadline: 0, signer };
        let same_by = |profile: &Profile| match (
            profile.renew(&now.data, &one),
            profile.renew(&before.data, &one),
        ) {
            (Ok(now), Ok(before)) => now == before,
            _ => false,
        };
        if now.data == before.data {
            return Ok(());
        }
        let mut knowing = known.profiles.iter().filter(|profile| same_by(profile));
        let by = knowing.next().ok_or("it does something else than what was signed before")?;
        let timely = by.deadlines(&now.data).iter().all(|deadline| *deadline <= known.latest);
        if timely { Ok(()) } else { Err("it could charge for longer than is configured") }
    }
}
