//! Deposit addresses: each is the address of a key that only the platform can derive, so that what arrives can be swept.

use super::{Platform, Side};
use crate::store;
use alloy::primitives::keccak256;
use alloy::signers::local::PrivateKeySigner;

impl Platform {
    /// The user with a uuid, made with a deposit address on every chain if there is none.
    pub(crate) fn user(&self, uuid: &str) -> Result<u64, store::Error> {
        let chains = self.sides().each_ref().map(|side| side.id);
        let address = |user, chain| {
            let side = self.side(chain);
            let address = deposit_key(&self.credentials().secret, user, chain).address();
            side.map(|side| side.spell(address)).unwrap_or_default()
        };
        self.store().add_user(uuid, self.clock().now_ms(), &chains, address)
    }

    /// The key of a user's deposit address.
    pub(crate) fn deposit_key(&self, user: u64, side: &Side) -> PrivateKeySigner {
        deposit_key(&self.credentials().secret, user, side.id)
    }
}

fn deposit_key(seed: &str, user: u64, chain: u32) -> PrivateKeySigner {
    let key = keccak256(format!("deposit {seed} {chain} {user}"));
    PrivateKeySigner::from_bytes(&key).expect("a hash is a key")
}
