//! The signing of transactions, on either family: the policy reads the final bytes, and only bytes that it approves
//! get a signature.

use super::seal_error::SealError;
use alloy::primitives::{B256, Selector, Signature};
use contract::Profile;
use keys::Key;
use policy::{Data, Intent, Policy, Unsigned};
use std::sync::Arc;

/// The key and the policy for signing.
#[derive(Debug)]
pub struct SigningContext {
    /// The key.
    pub key: Arc<Key>,
    /// The policy.
    pub policy: Arc<Policy>,
}

impl SigningContext {
    /// Signs `tx` if its bytes do what was meant; tells the digest that was signed as well.
    pub async fn sign<T: Unsigned + Send + Sync>(
        &self,
        tx: T,
        intent: &Intent<'_>,
    ) -> Result<(Signature, B256), SealError> {
        let approved = self.policy.approve(tx, intent)?;
        let signature = self.key.sign(&approved, intent).await?;
        Ok((signature, approved.digest()))
    }
}

/// Returns a transaction's call data as the policy wants to know it.
pub fn data(profile: &Profile, input: &[u8]) -> Data {
    if input.is_empty() {
        return Data::None;
    }
    let mut selector = Selector::ZERO;
    selector.iter_mut().zip(input).for_each(|(place, byte)| *place = *byte);
    let (charges, addresses) = (profile.carried(input), profile.stated_addresses(input));
    Data::Call { selector, charges, addresses, signers: profile.stated_signers(input) }
}
