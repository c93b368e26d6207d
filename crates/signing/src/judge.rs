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
use super::tron_preimage::{KnownCalls, TronPreimage};
use alloy::primitives::{Address, Signature, U256};
use billing::{AttemptKind, Family};
use config::{ChainConfig, EvmConfig, FamilyConfig};
use contract::Profile;
use keys::{DayCeiling, KeyQuestion, LocalKey, NotSigned, Profiles, SignAgain, SignBill};
use parking_lot::Mutex;
use policy::{Count, Meant, Policy, Refusal, Unsigned};
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
    newest: Mutex<Option<PlaceCounts>>,
    /// The most that a deadline may be ahead of the clock.
    ahead: Duration,
    /// By which older batches were signed.
    earlier: Mutex<OlderProfiles>,
}

/// The counts for one place in the line.
#[derive(Debug)]
struct PlaceCounts {
    nonce: u64,
    counts: Vec<Count>,
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
        let (newest, earlier) = (Mutex::default(), Mutex::default());
        Self { key, policy, profile, dearest, gas, ceiling, newest, ahead, earlier }
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
            Family::Evm => {
                let approved = self.policy.approve(EvmPreimage { bytes, profile }, meant)?;
                // A cancel may bid more than what it replaces, which is not known here: its cost is held to.
                if let (AttemptKind::Bill, Some(gas)) = (meant.kind, &self.gas) {
                    approved.get().within(gas)?;
                }
                self.check_deadline(approved.get().input().as_deref())?;
                self.count(approved.get(), approved.get().nonce(), meant)?;
                Ok(self.key.sign(&approved)?)
            }
            Family::Tvm => {
                let tx = TronPreimage { raw_data: bytes, profile };
                let approved = self.policy.approve(tx, meant)?;
                self.check_deadline(approved.get().input().as_deref())?;
                self.count(approved.get(), None, meant)?;
                Ok(self.key.sign(&approved)?)
            }
        }
    }

    /// Adds a new batch to what was signed today. A cancel frees a place in the line: nothing holds it up.
    fn count<T: Unsigned>(
        &self,
        tx: &T,
        nonce: Option<u64>,
        meant: &Meant<'_>,
    ) -> Result<(), Refusal> {
        let Some(tokens) = meant.tokens else { return Ok(()) };
        let amounts = meant.items.iter().map(|item| item.amount);
        let mut counts = self.policy.counts(tokens.iter().copied().zip(amounts))?;
        counts.push(self.policy.fee(meant.kind, cost(tx)?));
        let Some(nonce) = nonce else { return self.ceiling.take(self.policy.chain, &counts) };
        let mut newest = self.newest.lock();
        let before = newest.take().filter(|before| before.nonce == nonce);
        let before = before.map_or_else(Vec::new, |before| before.counts);
        let more: Vec<Count> = counts.iter().map(|count| beyond(count, &before)).collect();
        let taken = self.ceiling.take(self.policy.chain, &more);
        let counts = if taken.is_ok() { highest(counts, before) } else { before };
        *newest = Some(PlaceCounts { nonce, counts });
        taken
    }

    /// Adds what another attempt may cost beyond `before`.
    fn count_again<T: Unsigned>(&self, tx: &T, before: U256) -> Result<(), Refusal> {
        let more = cost(tx)?.saturating_sub(before);
        self.ceiling.take(self.policy.chain, &[self.policy.fee(AttemptKind::Bill, more)])
    }

    /// The last moment that a call may charge in, Unix seconds.
    fn latest(&self) -> U256 {
        let now_s = u64::try_from(self.ceiling.clock().unix_ms()).unwrap_or_default() / 1000;
        U256::from(now_s.saturating_add(self.ahead.as_secs()))
    }

    /// A signature is good until the deadline in the call, so that must not be far away.
    fn check_deadline(&self, input: Option<&[u8]>) -> Result<(), Refusal> {
        let (stated, latest) = (self.profile.deadlines(input.unwrap_or_default()), self.latest());
        if stated.iter().all(|deadline| *deadline <= latest) {
            return Ok(());
        }
        Err(Refusal::told("deadline", "it could charge for longer than billing.deadline says"))
    }

    fn again(&self, SignAgain { bytes, earlier }: &SignAgain) -> Result<Signature, NotSigned> {
        let cost = self.dearest.bill;
        let (new, profile) = (bytes.clone(), self.profile.as_ref());
        match self.policy.family {
            Family::Evm => {
                let tx = EvmPreimage { bytes: new, profile };
                let approved = self.policy.approve_again(tx, cost, earlier, &())?;
                if let Some(gas) = &self.gas {
                    approved.get().bids_within(&gas.fees)?;
                }
                self.count_again(approved.get(), signed_cost(earlier))?;
                Ok(self.key.sign(&approved)?)
            }
            Family::Tvm => {
                let known = self.earlier.lock().known.clone();
                let profiles: Vec<&Profile> =
                    std::iter::once(profile).chain(known.iter().map(AsRef::as_ref)).collect();
                let calls = KnownCalls { profiles: &profiles, latest: self.latest() };
                let tx = TronPreimage { raw_data: new, profile };
                let approved = self.policy.approve_again(tx, cost, earlier, &calls)?;
                self.count_again(approved.get(), U256::ZERO)?;
                Ok(self.key.sign(&approved)?)
            }
        }
    }
}

/// The most that a transaction can cost, wei or sun.
fn cost<T: Unsigned>(tx: &T) -> Result<U256, Refusal> {
    let read = tx.intent().map_err(|_| Refusal::told("function", "its bytes cannot be read"))?;
    Ok(read.cost)
}

/// Returns the part of `count` that exceeds what was counted for the same place before.
fn beyond(count: &Count, before: &[Count]) -> Count {
    let known = before.iter().find(|known| known.unit == count.unit);
    let known = known.map_or(U256::ZERO, |known| known.amount);
    Count { amount: count.amount.saturating_sub(known), ..count.clone() }
}

/// The higher of both, of each unit.
fn highest(counts: Vec<Count>, before: Vec<Count>) -> Vec<Count> {
    let mut all = before;
    for count in counts {
        match all.iter_mut().find(|known| known.unit == count.unit) {
            Some(known) => known.amount = known.amount.max(count.amount),
            None => all.push(count),
        }
    }
    all
}

#[cfg(test)]
mod tests;
