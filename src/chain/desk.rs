//! Where a process that holds a key judges what it is asked to sign, by the bytes alone.
//!
//! Whoever asks is believed in nothing that the bytes can tell. A new batch is held to the policy, which was
//! read here and not told. Another attempt of a batch is signed where the key itself has signed for the same
//! charges before, which a signature proves: then it was approved once, whatever the limits, the profile and
//! the contract of the chain are by now. What a batch has claimed, and what a day comes to, is the journal's to
//! say.

use super::account::policy;
use super::evm::{EvmPreimage, dearest};
use super::tron::{TronPreimage, repeats};
use crate::billing::{AttemptKind, Family};
use crate::config::{ChainConfig, FamilyConfig};
use crate::contract::Profile;
use crate::keys::{Key, KeyQuestion, NotSigned, Profiles, SignAgain, SignBill, SignError};
use crate::policy::{Approved, Meant, Policy, Refusal, Unsigned};
use alloy::primitives::{Address, Signature, U256};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use std::sync::Arc;

/// One key, and what it signs.
#[derive(Debug)]
pub struct Desk {
    key: Key,
    policy: Policy,
    profile: Arc<Profile>,
    dearest: Dearest,
    /// By which older batches were signed.
    earlier: Mutex<OlderProfiles>,
}

/// The most that a transaction may cost, by the configuration: wei, or sun.
#[derive(Clone, Copy, Debug)]
struct Dearest {
    bill: U256,
    cancel: U256,
}

/// Profiles of older batches. They are told at the start, and no more once something was signed.
#[derive(Debug, Default)]
struct OlderProfiles {
    known: Vec<Arc<Profile>>,
    complete: bool,
}

impl Desk {
    /// For a key of `chain`, whose contract is called by `profile`.
    pub fn new(chain: &ChainConfig, profile: Arc<Profile>, key: Key) -> Self {
        let dearest = match &chain.family {
            FamilyConfig::Evm(evm) => {
                let most = |kind| U256::from(dearest(kind, &evm.fees));
                Dearest { bill: most(AttemptKind::Bill), cancel: most(AttemptKind::Cancel) }
            }
            FamilyConfig::Tvm(tvm) => {
                let most = U256::from(tvm.fees.max_fee_limit.0);
                Dearest { bill: most, cancel: most }
            }
        };
        let policy = policy(chain, &profile, key.address());
        Self { key, policy, profile, dearest, earlier: Mutex::default() }
    }

    /// The account that it signs for.
    pub fn address(&self) -> Address {
        self.key.address()
    }

    /// Signs what is asked, if it may be signed; none where nothing was to be signed.
    pub fn answer(&self, question: &KeyQuestion) -> Option<Result<Signature, NotSigned>> {
        let signed = match question {
            KeyQuestion::Remember(profiles) => {
                self.remember(profiles);
                return None;
            }
            KeyQuestion::Bill(bill) => self.bill(bill),
            KeyQuestion::Again(again) => self.again(again),
            KeyQuestion::Cancel(bytes) => self.cancel(bytes),
        };
        self.earlier.lock().complete = true;
        Some(signed)
    }

    fn remember(&self, profiles: &Profiles) {
        let mut earlier = self.earlier.lock();
        if !earlier.complete {
            let read = profiles.texts.iter().filter(|text| **text != **self.profile.written());
            let read = read.filter_map(|text| Profile::read(text, self.policy.family));
            earlier.known = read.map(Arc::new).collect();
        }
    }

    fn bill(&self, bill: &SignBill) -> Result<Signature, NotSigned> {
        let unreadable = || Refusal::told("charges", "what it is to charge cannot be read");
        let (items, tokens) = bill.charges().ok_or_else(unreadable)?;
        let meant = Meant {
            kind: AttemptKind::Bill,
            contract: self.policy.contract,
            function: self.policy.selector,
            items: &items,
            tokens: Some(&tokens),
            earlier: None,
            cost: self.dearest.bill,
        };
        self.as_meant(&bill.bytes, &meant)
    }

    fn cancel(&self, bytes: &[u8]) -> Result<Signature, NotSigned> {
        let meant = Meant {
            kind: AttemptKind::Cancel,
            contract: self.policy.contract,
            function: self.policy.selector,
            items: &[],
            tokens: None,
            earlier: None,
            cost: self.dearest.cancel,
        };
        self.as_meant(bytes, &meant)
    }

    fn as_meant(&self, bytes: &[u8], meant: &Meant<'_>) -> Result<Signature, NotSigned> {
        let (bytes, profile) = (bytes.to_vec(), self.profile.as_ref());
        match self.policy.family {
            Family::Evm => self.sign(&self.policy.approve(EvmPreimage { bytes, profile }, meant)?),
            Family::Tvm => {
                let tx = TronPreimage { raw_data: bytes, profile };
                self.sign(&self.policy.approve(tx, meant)?)
            }
        }
    }

    fn again(&self, SignAgain { bytes, earlier }: &SignAgain) -> Result<Signature, NotSigned> {
        let (signer, cost) = (self.address(), self.dearest.bill);
        let (new, profile) = (bytes.clone(), self.profile.as_ref());
        match self.policy.family {
            Family::Evm => {
                let tx = EvmPreimage { bytes: new, profile };
                let proof = tx.repeats(earlier, signer);
                self.sign(&self.policy.approve_again(tx, cost, proof)?)
            }
            Family::Tvm => {
                let known = self.earlier.lock().known.clone();
                let profiles: Vec<&Profile> =
                    std::iter::once(profile).chain(known.iter().map(AsRef::as_ref)).collect();
                let proof = repeats(bytes, earlier, signer, &profiles);
                let tx = TronPreimage { raw_data: new, profile };
                self.sign(&self.policy.approve_again(tx, cost, proof)?)
            }
        }
    }

    /// The key is here, and waits for nothing.
    fn sign<T: Unsigned + Sync>(&self, approved: &Approved<T>) -> Result<Signature, NotSigned> {
        let address = self.address();
        let none = SignError::NoSignature { address };
        Ok(self.key.sign(approved).now_or_never().ok_or(none)??)
    }
}

#[cfg(test)]
mod tests;
