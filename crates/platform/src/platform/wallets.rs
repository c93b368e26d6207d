//! Deposit addresses: each is the address of a key that only the platform can derive, so that what arrives can be swept.

use super::{Platform, Side};
use crate::chain::Refused;
use crate::contracts::Token;
use crate::store;
use alloy::primitives::{Bytes, keccak256};
use alloy::signers::local::PrivateKeySigner;
use sandbox_chains::town::wallet;

/// Number of checks for a block with the coins before the wait ends.
const PATIENCE: u32 = 100;

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

    /// Moves all tokens of a user's deposit address to the merchant's wallet; the hash as people write it. The address is given the coins
    /// for it first.
    pub(crate) async fn sweep(&self, side: &Side, user: u64) -> Result<String, SweepError> {
        let key = deposit_key(&self.credentials().secret, user, side.id);
        let value = side.holds(key.address());
        if value.is_zero() {
            return Err(SweepError::Nothing);
        }
        if side.chain.coins(key.address()).is_zero() {
            let gift = side.send(&wallet("payee"), key.address(), Bytes::new())?;
            for _ in 0..PATIENCE {
                if side.chain.find(&gift.hash).landed().is_some() {
                    break;
                }
                self.await_block().await?;
            }
        }
        Ok(side.tell_token(&key, &Token::transferCall { to: side.town.payee, value })?)
    }
}

/// Why nothing is swept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SweepError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the chain does not take it: {0}")]
    Refused(#[from] Refused),
    #[error("there is nothing at this address")]
    Nothing,
}

fn deposit_key(seed: &str, user: u64, chain: u32) -> PrivateKeySigner {
    let key = keccak256(format!("deposit {seed} {chain} {user}"));
    PrivateKeySigner::from_bytes(&key).expect("a hash is a key")
}
