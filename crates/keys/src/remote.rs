//! A key in a store that signs with it and never hands it out.
//!
//! A store is believed in nothing: each of its signatures has to lead back to the address that the
//! configuration names, and is brought to low s here. It is asked again a few times where that can help,
//! never for longer than a deadline, and after a failure it is left in peace for a moment, so that nobody
//! waits for what is known to be out of order.

use super::error::{KeyError, SignError};
use super::recovery::is_by;
use super::secret::SELF_TEST_DIGEST;
use super::store_fault::{StoreError, StoreFault};
use alloy::primitives::{Address, B256, Signature};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{info, warn};

/// Time that a store has for one signature, all tries included.
const DEADLINE: Duration = Duration::from_secs(5);

/// Time that a store has for one try.
const ONE_TRY: Duration = Duration::from_secs(2);

/// Number of tries.
const TRIES: u32 = 4;

/// Pause between the first try and the second; each one after that waits twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// For how long a store is not asked after it has failed.
const HOLD_OFF: Duration = Duration::from_secs(2);

/// For how long a store that signed is taken to be able to.
const TRUST: Duration = Duration::from_mins(1);

/// Signs with a key that it never hands out.
#[async_trait]
pub trait SigningStore: Send + Sync + fmt::Debug {
    /// Signs a digest exactly as it is given: one try, which may take as long as it likes. Any s will do.
    async fn sign(&self, digest: B256) -> Result<k256::ecdsa::Signature, StoreError>;
}

/// A store with a key, and how it was when it was last asked.
#[derive(Debug)]
pub struct RemoteKey {
    store: Box<dyn SigningStore>,
    address: Address,
    standing: Mutex<StoreStanding>,
}

/// The state of a store when it was last asked.
#[derive(Clone, Copy, Debug)]
enum StoreStanding {
    /// Nobody has asked it.
    Unknown,
    /// It signed, then.
    Signs(Instant),
    /// It did not, then.
    Fails(StoreFault, Instant),
}

impl RemoteKey {
    /// A key that `store` has and that signs for `address`: whatever the store says, nothing else is taken for a
    /// signature. The key signs a test at once. `path` is the operator's name for it.
    ///
    /// A store that cannot be asked at present is no error: the key is tried again whenever it is looked after, and
    /// says until then what is the matter.
    pub async fn open(
        store: Box<dyn SigningStore>,
        address: Address,
        path: &str,
    ) -> Result<Self, KeyError> {
        let key = Self { store, address, standing: Mutex::new(StoreStanding::Unknown) };
        let (path, source) = match key.sign(SELF_TEST_DIGEST).await {
            Ok(_) => return Ok(key),
            Err(SignError::Store { why, .. }) if why.may_pass() => return Ok(key),
            Err(source) => (path.to_owned(), source),
        };
        Err(match key.signs_for().await {
            Some(actual) if actual != address => {
                KeyError::NotPinned { key: path, stated: address, actual }
            }
            Some(_) | None => KeyError::SelfTest { key: path, source },
        })
    }

    pub(super) fn address(&self) -> Address {
        self.address
    }

    pub(super) fn trouble(&self) -> Option<StoreFault> {
        match *self.standing.lock() {
            StoreStanding::Fails(why, _) => Some(why),
            StoreStanding::Unknown | StoreStanding::Signs(_) => None,
        }
    }

    /// Has it sign a test where it is not known to sign.
    pub(super) async fn look_after(&self) {
        let due = match *self.standing.lock() {
            StoreStanding::Unknown => true,
            StoreStanding::Signs(at) => at.elapsed() >= TRUST,
            StoreStanding::Fails(_, at) => at.elapsed() >= HOLD_OFF,
        };
        if due {
            // The outcome is in the standing.
            self.sign(SELF_TEST_DIGEST).await.ok();
        }
    }

    /// A signature of `digest` that leads back to the address.
    pub(super) async fn sign(&self, digest: B256) -> Result<Signature, SignError> {
        let held_off = match *self.standing.lock() {
            StoreStanding::Fails(why, at) if at.elapsed() < HOLD_OFF => Some(why),
            StoreStanding::Fails(..) | StoreStanding::Unknown | StoreStanding::Signs(_) => None,
        };
        let address = self.address;
        if let Some(why) = held_off {
            return Err(SignError::Store { address, why });
        }
        let signed = self.try_for_a_while(digest).await;
        self.note(signed.as_ref().err());
        signed.map_err(|failure| SignError::Store { address, why: failure.fault })
    }

    async fn try_for_a_while(&self, digest: B256) -> Result<Signature, StoreError> {
        let until = Instant::now().checked_add(DEADLINE).unwrap_or_else(Instant::now);
        let mut pause = PAUSE;
        let mut tries_left = TRIES;
        loop {
            let late = || StoreError::new(StoreFault::Silent, "no answer in time");
            let tried = timeout_at(until, timeout(ONE_TRY, self.store.sign(digest))).await;
            let tried = tried.map_err(|_| late()).and_then(|one| one.map_err(|_| late()));
            let signed = tried.flatten().and_then(|signature| self.leads_back(signature, digest));
            tries_left = tries_left.saturating_sub(1);
            match signed {
                Err(failure) if failure.fault.is_worth_a_try() && tries_left > 0 => {
                    if timeout_at(until, sleep(pause)).await.is_err() {
                        return Err(failure);
                    }
                    pause = pause.saturating_mul(2);
                }
                ended => return ended,
            }
        }
    }

    /// The address that the key of the store has, where it signs what it is given: a signature leads to two, and
    /// of two signatures one of them is the same.
    async fn signs_for(&self) -> Option<Address> {
        let mut led = Vec::new();
        for digest in [SELF_TEST_DIGEST, !SELF_TEST_DIGEST] {
            let signed = timeout(ONE_TRY, self.store.sign(digest)).await;
            let signature = signed.ok()?.ok()?;
            let leads = both(signature).into_iter();
            led.push(
                leads.filter_map(|one| one.recover_address_from_prehash(&digest).ok()).collect(),
            );
        }
        let [one, other]: [Vec<Address>; 2] = led.try_into().ok()?;
        one.into_iter().find(|address| other.contains(address))
    }

    /// The signature with low s, and the parity by which it leads back to the address.
    fn leads_back(
        &self,
        signature: k256::ecdsa::Signature,
        digest: B256,
    ) -> Result<Signature, StoreError> {
        both(signature)
            .into_iter()
            .find(|one| is_by(self.address, one, digest))
            .ok_or_else(|| StoreError::new(StoreFault::OtherKey, "the signature leads elsewhere"))
    }

    /// Remembers what came of it; says so where that is news.
    fn note(&self, failure: Option<&StoreError>) {
        let mut standing = self.standing.lock();
        let address = self.address;
        match (*standing, failure) {
            (StoreStanding::Fails(before, _), Some(now)) if before == now.fault => {}
            (_, Some(why)) => {
                warn!(%address, %why, "the key does not sign: nothing new is billed with it");
            }
            (StoreStanding::Fails(..), None) => info!(%address, "the key signs again"),
            (StoreStanding::Unknown | StoreStanding::Signs(_), None) => {}
        }
        let now = Instant::now();
        *standing =
            failure.map_or(StoreStanding::Signs(now), |why| StoreStanding::Fails(why.fault, now));
    }
}

/// The signature with low s, by each parity.
fn both(signature: k256::ecdsa::Signature) -> [Signature; 2] {
    let low = signature.normalize_s().unwrap_or(signature);
    let (r, s) = low.split_bytes();
    [false, true].map(|parity| {
        Signature::from_scalars_and_parity(B256::from_slice(&r), B256::from_slice(&s), parity)
    })
}

#[cfg(test)]
mod tests;
