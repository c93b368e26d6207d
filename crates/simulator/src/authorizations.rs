//! Authorisations of EIP-7702 that are signed with the Signer's key: whoever has it uses a nonce of the account by a
//! transaction of his own. They take a delegation back, and charge nobody.

use crate::genesis::biller;
use crate::world::World;
use alloy::consensus::transaction::Recovered;
use alloy::consensus::{SignableTransaction as _, Transaction as _, TxEip7702, TxEnvelope};
use alloy::eips::eip7702::Authorization;
use alloy::primitives::{Address, B256, Signature, U256};
use alloy::signers::SignerSync as _;
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::town::wallet;

/// One of them, in a transaction of somebody else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Authorized {
    /// The nonce that it may use.
    pub(crate) nonce: u64,
    /// The transaction that carries it.
    pub(crate) by: B256,
}

impl World {
    /// Somebody has one carried that is for the place of the first transaction that waits, or for the next one.
    pub(crate) fn authorise(&mut self) {
        let (account, sponsor) = (biller(0), wallet("owner").address());
        let (nonce, next) = {
            let chain = self.evm.truth.chain();
            let nonce = chain.head_state().nonce(&account.address());
            (nonce, eth::pool::next_nonce(&chain, &sponsor))
        };
        let chain_id = self.evm_at.chain_id;
        let authorization =
            Authorization { chain_id: U256::from(chain_id), address: Address::ZERO, nonce };
        let digest = authorization.signature_hash();
        let signature = account.sign_hash_sync(&digest).expect("a key signs any digest");
        let tx = TxEip7702 {
            chain_id,
            nonce: next,
            gas_limit: 200_000,
            max_fee_per_gas: 6_000_000_000_000,
            max_priority_fee_per_gas: 200_000_000_000,
            to: sponsor,
            authorization_list: vec![authorization.into_signed(signature)],
            ..TxEip7702::default()
        };
        let tx = TxEnvelope::from(tx.into_signed(Signature::test_signature()));
        self.authorized.push(Authorized { nonce, by: *tx.tx_hash() });
        Evm::admit(&mut self.evm.truth.chain(), Recovered::new_unchecked(tx, sponsor)).ok();
    }

    /// Returns true if a node's answer mentions a transaction that carries an authorisation.
    pub(crate) fn carries(&self, told: &[u8]) -> bool {
        let told = String::from_utf8_lossy(told);
        self.authorized.iter().any(|one| told.contains(&one.by.to_string()))
    }

    /// Those that have used a nonce, with the number and the time (ms) of the block.
    pub(crate) fn used_up(&self) -> Vec<(Authorized, u64, u64)> {
        let (account, chain) = (biller(0).address(), self.evm.truth.chain());
        let sent = chain.head_state().nonce(&account);
        let blocks = (0..=chain.head().header.number).filter_map(|number| chain.block(number));
        let ours = blocks.flat_map(|block| block.body.iter().map(|one| &one.tx));
        let ours = ours.filter(|tx| tx.signer() == account);
        let taken: Vec<u64> = ours.map(|tx| tx.nonce()).collect();
        let used = |one: &Authorized| one.nonce < sent && !taken.contains(&one.nonce);
        let used = self.authorized.iter().copied().filter(used);
        let placed = used.filter_map(|one| {
            let header = &chain.find(&one.by)?.block.header;
            Some((one, header.number, header.time_ms))
        });
        let mut placed: Vec<_> = placed.collect();
        // Of two for one nonce, the first has used it.
        placed.sort_by_key(|(one, number, _)| (one.nonce, *number));
        placed.dedup_by_key(|(one, ..)| one.nonce);
        placed
    }
}
