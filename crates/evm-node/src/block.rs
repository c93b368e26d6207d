//! A block as a node holds it, and the taker of a place in the account's line.

use alloy::primitives::{Address, B256, Bytes};

/// A block that a node holds at its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// Its timestamp, Unix seconds.
    pub time: u64,
}

/// The action that a transaction asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxCall {
    /// The address that the transaction calls; none when it makes a contract.
    pub to: Option<Address>,
    /// With what.
    pub input: Bytes,
}

/// The result of a search in one node for the taker of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identified {
    /// This transaction of the account, with this nonce.
    Transaction {
        /// Its hash.
        hash: B256,
        /// The action that the transaction asks for.
        call: TxCall,
    },
    /// The account's nonce passes the place in this block, and no transaction of the account that has it
    /// is there.
    Nobody(Block),
}
