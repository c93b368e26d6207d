//! The places of the keys: in some worlds here, in others in a store that takes its time, gives no signature, or
//! signs something else, or with another key. Of the two signatures of one digest that it gives, no two are alike.

use crate::dice::Fault;
use crate::genesis::{BILLERS, NAMES, biller};
use crate::world::{Shared, Side};
use alloy::primitives::B256;
use alloy::signers::k256::ecdsa::hazmat::SignPrimitive as _;
use alloy::signers::k256::ecdsa::{Signature, SigningKey};
use alloy::signers::k256::sha2::Sha256;
use alloy::signers::local::PrivateKeySigner;
use async_trait::async_trait;
use config::{FamilyConfig, KeyRef};
use keys::{
    Key, KeyError, KeySource, NamedKey, OpenKeys, RemoteKey, SigningStore, StoreError, StoreFault,
};
use std::fmt;
use std::future::pending;
use std::time::Duration;
use tokio::time::sleep;

/// Time that a healthy store takes (ms).
const USUAL: u64 = 40;

/// Time that an unhealthy store takes (ms): some of that is longer than anybody waits.
const SLOW: u64 = 4_000;

/// Errors of a store that gives no signature.
const FAULTS: [StoreFault; 5] = [
    StoreFault::Unreachable,
    StoreFault::Busy,
    StoreFault::Down,
    StoreFault::Denied,
    StoreFault::Disabled,
];

/// Opens keys in the world.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) world: Shared,
    /// Which process holds it.
    pub(crate) life: u64,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").field("life", &self.life).finish_non_exhaustive()
    }
}

#[async_trait]
impl OpenKeys for Stores {
    async fn open(&self, named: NamedKey<'_>) -> Result<Key, KeyError> {
        let KeyRef::File(path) = named.key else { panic!("the configuration names no other") };
        let place = NAMES.iter().position(|name| path.ends_with(name));
        let held = biller(place.expect("it is one of theirs"));
        let json_or_hex = alloy::hex::encode(held.to_bytes()).into();
        let source = KeySource::Env { json_or_hex, platform_chain_id: 1 };
        let key = source.load(&named.path, named.test_keys())?;
        if !self.world.lock().scene.elsewhere {
            return Ok(key.into());
        }
        let address = key.address();
        let side = match named.chain.family {
            FamilyConfig::Evm(_) => Side::Evm,
            FamilyConfig::Tvm(_) => Side::Tron,
        };
        let store = Store { stores: self.clone(), side, key: held };
        Ok(RemoteKey::open(Box::new(store), address, &named.path).await?.into())
    }
}

/// A key in a store.
#[derive(Debug)]
struct Store {
    stores: Stores,
    side: Side,
    key: PrivateKeySigner,
}

/// The answer to one question.
struct Answer {
    after_ms: u64,
    said: Result<Signature, StoreError>,
}

#[async_trait]
impl SigningStore for Store {
    async fn sign(&self, digest: B256) -> Result<Signature, StoreError> {
        let Some(Answer { after_ms, said }) = self.answer(digest) else { return pending().await };
        sleep(Duration::from_millis(after_ms)).await;
        said
    }
}

impl Store {
    /// None where nobody hears it any more.
    fn answer(&self, digest: B256) -> Option<Answer> {
        let mut world = self.stores.world.lock();
        let world = &mut *world;
        if !world.is_alive(self.stores.life) {
            return None;
        }
        let at = self.side.name();
        let most = if world.fault(at, Fault::SlowKeyStore) { SLOW } else { USUAL };
        let after_ms = 1 + world.dice.below(most);
        if world.fault(at, Fault::KeyStoreFails) {
            let fault = FAULTS[world.dice.place(FAULTS.len())];
            let said = Err(StoreError::new(fault, "it was played so"));
            return Some(Answer { after_ms, said });
        }
        if let Err(law) = world.watch.signs() {
            world.broken.get_or_insert(law);
        }
        let otherwise = world.fault(at, Fault::SignsOtherwise);
        let (other_key, other_digest) = match world.dice.below(2) {
            0 => (otherwise, false),
            _ => (false, otherwise),
        };
        let others = (0..BILLERS).map(biller);
        let mut others = others.filter(|one| one.address() != self.key.address());
        let wrong = others.next().expect("there are several");
        let key = if other_key { &wrong } else { &self.key };
        let digest = if other_digest { !digest } else { digest };
        let low = signed(key.credential(), digest, world.dice.next());
        let high = Signature::from_scalars(low.r(), -*low.s()).expect("its parts are not zero");
        Some(Answer { after_ms, said: Ok(if world.dice.one_in(2) { high } else { low }) })
    }
}

/// One of the many signatures of a digest.
fn signed(key: &SigningKey, digest: B256, chance: u64) -> Signature {
    let scalar = key.as_nonzero_scalar();
    let signed =
        scalar.try_sign_prehashed_rfc6979::<Sha256>(&digest.0.into(), &chance.to_be_bytes());
    signed.expect("a key signs any digest").0
}
