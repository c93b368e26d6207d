//! Accounts, proven below the state root of a header.

use crate::answer::AccountAnswer;
use crate::unproven::{Contradiction, Obstacle, Unproven};
use alloy::consensus::TrieAccount;
use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::rlp::encode;
use alloy::trie::proof::verify_proof;
use alloy::trie::{EMPTY_ROOT_HASH, Nibbles};

/// An account as a state has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenAccount {
    /// The number of transactions that the account has sent: the nonce of the next one.
    pub nonce: u64,
    /// Its balance, wei.
    pub balance: U256,
}

impl AccountAnswer {
    /// The account at `address`, if the answer proves it below `state`, the state root of a proven header.
    ///
    /// # Errors
    /// [`Contradiction::Account`], or [`Obstacle::OtherState`] where the nodes begin at another state, as those of a
    /// node do that holds another block, or a state that is no such trie.
    pub fn prove(&self, address: Address, state: B256) -> Result<ProvenAccount, Unproven> {
        let first = self.account_proof.first();
        let root = first.map_or(EMPTY_ROOT_HASH, keccak256);
        if root != state {
            return Err(Obstacle::OtherState.into());
        }
        let nonce = self.nonce.to::<u64>();
        let account = TrieAccount {
            nonce,
            balance: self.balance,
            storage_root: self.storage_hash,
            code_hash: self.code_hash,
        };
        // Nodes tell the same of an account that is not there, but for its hashes, which some leave at zero.
        let nobody = nonce == 0 && self.balance.is_zero();
        let key = Nibbles::unpack(keccak256(address));
        let there = verify_proof(state, key, Some(encode(account)), &self.account_proof);
        let absent = || verify_proof(state, key, None, &self.account_proof);
        if there.is_err() && !(nobody && absent().is_ok()) {
            return Err(Contradiction::Account.into());
        }
        Ok(ProvenAccount { nonce, balance: self.balance })
    }
}
