//! The judge in a process that holds a key. It judges by the bytes alone what may be signed.
//!
//! No asker is believed in anything that the bytes can tell. A new batch is held to the policy, which was read here
//! and not told. Another attempt of a batch is signed if the key itself has signed for the same charges before,
//! which a signature proves: then the batch was approved once, whatever the limits, the profile and the contract of
//! the chain are by now. The journal says what a batch has claimed, and what a day comes to exactly; a coarse
//! ceiling over a day is kept here.

use super::ceilings::dearest;
use super::chain_policy::chain_policy;
use super::evm_preimage::{EvmPreimage, signed_cost};
use super::place_counts::{DearestSigned, PlaceCounts};
use super::tron_preimage::TronPreimage;
use super::tron_repeat::KnownCalls;
use alloy::primitives::{Address, Signature, U256};
use billing::{AttemptKind, Family};
use config::{ChainConfig, EvmConfig, FamilyConfig};
use contract::Profile;
use keys::{DayCeiling, KeyQuestion, LocalKey, NotSigned, Profiles, SignAgain, SignBill};
use parking_lot::Mutex;
use policy::{Intent, Policy, Refusal, Unsigned};
use std::sync::Arc;
use std::time::Duration;

/// The most that the chain's time and the clock may move apart while a transaction is made, beside what is
/// tolerated.
const MARGIN: Duration = Duration::from_mins(1);

/// One key, and what it signs.
#[derive(Debug)]
pub struct TransactionJudge {
    key: LocalKey,
    policy: Policy,
    profile: Arc<Profile>,
    dearest: Dearest,
    /// The configuration that gas is held to, on a chain that has gas.
    gas: Option<Arc<EvmConfig>>,
    ceiling: Arc<DayCeiling>,
    /// The counts for the newest place in the line, on EVM: of all that is signed for one place, one lands.
    newest: Mutex<PlaceCounts>,
    /// The dearest other attempt for each place, on EVM.
    again: DearestSigned,
    /// The most that a deadline may be ahead of the clock.
    ahead: Duration,
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

impl TransactionJudge {
    /// For a key of `chain`, whose contract is called by `profile`.
    pub fn new(
        chain: &ChainConfig,
        profile: Arc<Profile>,
        key: LocalKey,
        ceiling: Arc<DayCeiling>,
    ) -> Self {
        let (dearest, gas) = match &chain.family {
            FamilyConfig::Evm(evm) => {
                let most = |kind| U256::from(dearest(kind, &evm.fees));
                let (bill, cancel) = (most(AttemptKind::Bill), most(AttemptKind::Cancel));
                (Dearest { bill, cancel }, Some(Arc::clone(evm)))
            }
            FamilyConfig::Tvm(tvm) => {
                let most = U256::from(tvm.fees.max_fee_limit.0);
                (Dearest { bill: most, cancel: most }, None)
            }
        };
        let policy = chain_policy(chain, &profile, key.address());
        let ahead = chain.family.billing().deadline.saturating_add(chain.family.clock_tolerance());
        let ahead = ahead.saturating_add(MARGIN);
        let (newest, again, earlier) =
            (Mutex::default(), DearestSigned::default(), Mutex::default());
        Self { key, policy, profile, dearest, gas, ceiling, newest, again, ahead, earlier }
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
            KeyQuestion::Cancel(cancel) => self.cancel(cancel),
        };
        self.earlier.lock().complete = true;
        Some(signed)
    }

    fn remember(&self, profiles: &Profiles) {
        let mut earlier = self.earlier.lock();
        if !earlier.complete {
            let texts = profiles.texts.iter();
            let read = texts.filter_map(|text| Profile::read(text, self.policy.family));
            earlier.known = read.map(Arc::new).collect();
        }
    }

    fn bill(&self, bill: &SignBill) -> Result<Signature, NotSigned> {
        let unreadable = || Refusal::told("charges", "what it is to charge cannot be read");
        let (items, tokens) = bill.charges().ok_or_else(unreadable)?;
        let intent = Intent {
            kind: AttemptKind::Bill,
            contract: self.policy.contract,
            function: self.policy.selector,
            items: &items,
            tokens: Some(&tokens),
            earlier: None,
            cost: self.dearest.bill,
        };
        self.as_intended(&bill.bytes, &intent)
    }

    /// Signs a transaction that does nothing in the place of a billing that this key has signed.
    fn cancel(&self, SignAgain { bytes, earlier }: &SignAgain) -> Result<Signature, NotSigned> {
        let none = || Refusal::told("cancel", "no place is to be freed on this chain");
        let gas = self.gas.as_ref().ok_or_else(none)?;
        let intent = Intent {
            kind: AttemptKind::Cancel,
            contract: self.policy.contract,
            function: self.policy.selector,
            items: &[],
            tokens: None,
            earlier: Some(earlier),
            cost: self.dearest.cancel,
        };
        let tx = EvmPreimage { bytes: bytes.clone(), profile: &self.profile };
        let approved = self.policy.approve(tx, &intent)?;
        approved.get().cancels(earlier, self.policy.signer, gas)?;
        self.count_again(approved.get(), earlier)?;
        Ok(self.key.sign(&approved)?)
    }

    fn as_intended(&self, bytes: &[u8], intent: &Intent<'_>) -> Result<Signature, NotSigned> {
        let (bytes, profile) = (bytes.to_vec(), self.profile.as_ref());
        match self.policy.family {
            Family::Evm => {
                let approved = self.policy.approve(EvmPreimage { bytes, profile }, intent)?;
                if let Some(gas) = &self.gas {
                    approved.get().within(gas)?;
                }
                self.check_deadline(approved.get().input().as_deref())?;
                self.count(approved.get(), approved.get().nonce(), intent)?;
                Ok(self.key.sign(&approved)?)
            }
            Family::Tvm => {
                let tx = TronPreimage { raw_data: bytes, profile };
                let approved = self.policy.approve(tx, intent)?;
                self.check_deadline(approved.get().input().as_deref())?;
                self.count(approved.get(), None, intent)?;
                Ok(self.key.sign(&approved)?)
            }
        }
    }

    /// Adds a new batch to what was signed today.
    fn count<T: Unsigned>(
        &self,
        tx: &T,
        nonce: Option<u64>,
        intent: &Intent<'_>,
    ) -> Result<(), Refusal> {
        let tokens = intent.tokens.unwrap_or_default().iter().copied();
        let amounts = intent.items.iter().map(|item| item.amount);
        let mut counts = self.policy.counts(tokens.zip(amounts))?;
        counts.push(self.policy.fee(intent.kind, cost(tx)?));
        let Some(nonce) = nonce else { return self.ceiling.take(self.policy.chain, &counts) };
        let mut newest = self.newest.lock();
        newest.take(nonce, counts, |more| self.ceiling.take(self.policy.chain, more))
    }

    /// Adds what another attempt, or a cancel, may cost beyond all that was signed for its place.
    fn count_again(&self, tx: &EvmPreimage<'_>, earlier: &[u8]) -> Result<(), Refusal> {
        let (nonce, cost) = (tx.nonce().unwrap_or_default(), cost(tx)?);
        self.again.take(nonce, signed_cost(earlier), cost, |more| self.count_fee(more))
    }

    /// Adds a cost. That of a cancel is held to the ceiling like any other: without one, a thief burns all that the
    /// account holds by cancels.
    fn count_fee(&self, cost: U256) -> Result<(), Refusal> {
        self.ceiling.take(self.policy.chain, &[self.policy.fee(AttemptKind::Bill, cost)])
    }

    /// Unix seconds.
    fn now_s(&self) -> u64 {
        u64::try_from(self.ceiling.clock().unix_ms()).unwrap_or_default().div_euclid(1000)
    }

    /// A signature is good until the deadline in the call, so that must not be far away.
    fn check_deadline(&self, input: Option<&[u8]>) -> Result<(), Refusal> {
        let stated = self.profile.deadlines(input.unwrap_or_default());
        let latest = U256::from(self.now_s().saturating_add(self.ahead.as_secs()));
        if stated.iter().all(|deadline| *deadline <= latest) {
            return Ok(());
        }
        Err(Refusal::told("deadline", "it could charge for longer than billing.deadline says"))
    }

    fn again(&self, SignAgain { bytes, earlier }: &SignAgain) -> Result<Signature, NotSigned> {
        let most = self.dearest.bill;
        let (new, profile) = (bytes.clone(), self.profile.as_ref());
        match self.policy.family {
            Family::Evm => {
                let tx = EvmPreimage { bytes: new, profile };
                let approved = self.policy.approve_again(tx, most, earlier, &())?;
                if let Some(gas) = &self.gas {
                    approved.get().bids_within(&gas.fees)?;
                }
                self.count_again(approved.get(), earlier)?;
                Ok(self.key.sign(&approved)?)
            }
            Family::Tvm => {
                let (older, now_s) = (self.earlier.lock().known.clone(), self.now_s());
                let ahead_s = self.ahead.as_secs();
                let calls = KnownCalls { configured: profile, older: &older, now_s, ahead_s };
                let tx = TronPreimage { raw_data: new, profile };
                let approved = self.policy.approve_again(tx, most, earlier, &calls)?;
                self.count_fee(cost(approved.get())?)?;
                Ok(self.key.sign(&approved)?)
            }
        }
    }
}

/// The most that a transaction can cost, wei or sun.
fn cost<T: Unsigned>(tx: &T) -> Result<U256, Refusal> {
    let read = tx.effect().map_err(|_| Refusal::told("function", "its bytes cannot be read"))?;
    Ok(read.cost)
}

#[cfg(test)]
mod tests;
