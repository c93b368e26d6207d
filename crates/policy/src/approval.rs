//! The proof that a key asks for, and what a transaction of either family is compared by.

use alloy::primitives::{Address, B256, Selector, U256, keccak256};
use billing::{AttemptKind, Carried, Family, Item, Undecodable};
use sha2::{Digest as _, Sha256};
use std::error::Error;

/// The final bytes of a transaction that lacks nothing but its signature.
pub trait Unsigned {
    /// Why bytes are no transaction that this product signs.
    type Unreadable: Error;

    /// The bytes that a signature commits to.
    fn bytes(&self) -> &[u8];

    /// Returns the family, which names the hash of the bytes: Keccak-256 on EVM, SHA-256 on TRON.
    fn family(&self) -> Family;

    /// Returns the effect of [`Self::bytes`], read as a node would read them. Made of nothing but the bytes.
    fn effect(&self) -> Result<Effect, Self::Unreadable>;
}

/// One that can be compared with a transaction of the same account, so that both are known to do the same.
pub trait Repeating: Unsigned {
    /// The configuration that the comparison needs.
    type Known<'a>;

    /// Ok if this transaction does what `earlier` does, which `signer` has signed, and nothing else.
    fn repeats(
        &self,
        earlier: &[u8],
        signer: Address,
        known: &Self::Known<'_>,
    ) -> Result<(), &'static str>;
}

/// The effect of a transaction, by its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The chain that it is bound to; none where transactions do not name it (TRON).
    pub chain_id: Option<u64>,
    /// Account of the transaction; none if only the signature tells (EVM).
    pub from: Option<Address>,
    /// The address that the transaction calls.
    pub to: Address,
    /// The chain's own coin, or a token of the chain's own, that it moves. Base units.
    pub value: U256,
    /// The most that it can cost: gas limit times price on EVM, wei; the fee limit on TRON, sun.
    pub cost: U256,
    /// The data of the call.
    pub data: Data,
}

/// The input of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// There is none.
    None,
    /// A call.
    Call {
        /// The first four bytes, with zeros for those that are missing.
        selector: Selector,
        /// The charges, as far as the call tells; or the reason that they cannot be read.
        charges: Result<Vec<Carried>, Undecodable>,
        /// The addresses in it that nobody but entries state, by the names of their arguments.
        addresses: Vec<(String, Address)>,
        /// The addresses in it that are to be the account that signs.
        signers: Vec<Address>,
    },
}

/// The effect that a transaction has to have.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    /// The kind of the attempt: it bills or gives up.
    pub kind: AttemptKind,
    /// The contract that its batch is billed through: the configured one, but for another attempt of a
    /// batch that is older than a change of it.
    pub contract: Address,
    /// The function of it that charges: by the profile that the batch was signed by.
    pub function: Selector,
    /// The claims of its batch, in the order of the call.
    pub items: &'a [Item],
    /// The token of each, for a new batch. None for another attempt of one: it was judged when it
    /// was new, and a limit that was lowered since must not keep its place in the lane.
    pub tokens: Option<&'a [Address]>,
    /// For another attempt: an attempt of the batch that is signed already, as it goes on the wire. A process that
    /// holds the key apart accepts no other proof of the batch.
    pub earlier: Option<&'a [u8]>,
    /// The cost that was counted for it in the sum of the day, wei or sun.
    pub cost: U256,
}

/// Proof that the policy has read the final bytes and lets them be signed.
#[derive(Debug)]
pub struct Approved<T> {
    tx: T,
    digest: B256,
}

impl<T: Unsigned> Approved<T> {
    /// Made by [`super::Policy::approve`] and [`super::Policy::approve_again`] alone.
    pub(super) fn new(tx: T) -> Self {
        let digest = match tx.family() {
            Family::Evm => keccak256(tx.bytes()),
            Family::Tvm => B256::from_slice(&Sha256::digest(tx.bytes())),
        };
        Self { tx, digest }
    }
}

impl<T> Approved<T> {
    /// The hash of the bytes that were read.
    pub fn digest(&self) -> B256 {
        self.digest
    }

    /// The transaction.
    pub fn get(&self) -> &T {
        &self.tx
    }
}
