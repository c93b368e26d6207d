//! A chain as the platform uses it, whichever family it is of: it reads blocks, and sends what it signed.

mod evm;
mod founding;
mod tron;

pub(crate) use founding::{ADMINS, TESTERS, found, tester};
pub use founding::{Nodes, Settlement, Setup};

use alloy::primitives::{Address, B256, Bytes, Log};
use alloy::signers::local::PrivateKeySigner;
use sandbox_chains::chain::Orphans;
use std::fmt::Debug;

/// Which rules a chain follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Ethereum's.
    Evm,
    /// TRON's.
    Tron,
}

/// A block, as far as it has to be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Height.
    pub number: u64,
    /// Id.
    pub id: B256,
    /// Block time (ms since the epoch).
    pub time_ms: u64,
}

/// A block as it is stored, from which it can be made again.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The block's place in the chain.
    pub point: Point,
    /// Number of reorganisations before it.
    pub forks: u64,
    /// Base fee (wei) or energy price (sun).
    pub price: u64,
    /// Its transactions as they were signed.
    pub txs: Vec<Vec<u8>>,
}

/// An event of a successful transaction.
#[derive(Clone, Debug)]
pub struct Event {
    /// The transaction.
    pub tx: B256,
    /// The event's index in the block.
    pub index: u64,
    /// The emitter and the content of the event.
    pub log: Log,
}

/// A transaction that was signed.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its hash.
    pub hash: B256,
    /// Its bytes, which may be sent again.
    pub raw: Vec<u8>,
}

/// A transaction that is in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landed {
    /// The block.
    pub point: Point,
    /// True if the transaction did what it was meant to.
    pub succeeded: bool,
}

/// The state of a transaction that a node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Nothing: it was never sent, was thrown away, or went with a block that a reorganisation removed.
    Unknown,
    /// It waits for a block.
    Waiting,
    /// It is in a block.
    Landed(Landed),
}

impl Whereabouts {
    /// The block that it is in, if it is in one.
    pub fn landed(self) -> Option<Landed> {
        match self {
            Self::Landed(landed) => Some(landed),
            Self::Unknown | Self::Waiting => None,
        }
    }
}

/// A transaction's refusal by the chain, in the words of its node.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// A chain in this process.
pub trait Chain: Debug + Send + Sync {
    /// Its rules.
    fn family(&self) -> Family;
    /// Returns the chain ID, as the CHAINID opcode gives it.
    fn chain_id(&self) -> u64;
    /// The newest block.
    fn head(&self) -> Point;
    /// The newest block that no reorganisation removes.
    fn solid(&self) -> Point;
    /// The block at a height.
    fn point(&self, number: u64) -> Option<Point>;
    /// The block at a height, to be stored.
    fn recorded(&self, number: u64) -> Option<Recorded>;
    /// Makes a stored block again; false if it came out otherwise.
    fn replay(&self, block: &Recorded) -> bool;
    /// The events of a block.
    fn events(&self, number: u64) -> Vec<Event>;
    /// Returns the state of a transaction.
    fn find(&self, hash: &B256) -> Whereabouts;
    /// Signs a call of a contract, or a transfer of coins without data, as its key's next transaction. Nothing is sent.
    fn sign(&self, from: &PrivateKeySigner, to: Address, data: Bytes) -> Sent;
    /// Sends the bytes of a signed transaction.
    fn send(&self, raw: &[u8]) -> Result<(), Refused>;
    /// Returns true if a transaction that is in no block never will be: it expired, or another took its place.
    fn is_dead(&self, raw: &[u8]) -> bool;
    /// Returns the result of a call at the head.
    fn view(&self, to: Address, data: Bytes) -> Result<Bytes, Refused>;
    /// The time (ms) of the next block if it is made at once.
    fn next_ms(&self) -> u64;
    /// The length of a slot (ms).
    fn slot_ms(&self) -> u64;
    /// Makes one block, at the newest slot that is not after `now_ms`, but after the head in any case.
    fn step(&self, now_ms: u64);
    /// Takes up to `depth` blocks away, never a solid one; `keep` returns their transactions to the pool.
    fn reorg(&self, depth: u64, orphans: Orphans) -> u64;
    /// Makes transactions dearer: base fee (wei) or energy price (sun); None is what is usual.
    fn set_price(&self, price: Option<u64>);
    /// Returns true if the node does not answer.
    fn is_down(&self) -> bool;
    /// Takes the node down, or up again. The chain itself goes on.
    fn set_down(&self, down: bool);
    /// Coins (wei or sun) that an account holds.
    fn coins(&self, who: Address) -> alloy::primitives::U256;
}

impl Family {
    /// An address as its people write it.
    pub fn spell(self, address: Address) -> String {
        match self {
            Self::Evm => address.to_checksum(None),
            Self::Tron => sandbox_chains::tron::address::base58(&address),
        }
    }

    /// Reads an address; None if it is none of this family. On TRON hex with 41 in front is taken as well.
    pub fn parse(self, text: &str) -> Option<Address> {
        match self {
            Self::Evm if text.starts_with("0x") => {
                let lower = text.chars().all(|letter| !letter.is_ascii_uppercase());
                let address = text.parse::<Address>().ok()?;
                (lower || Address::parse_checksummed(text, None).is_ok()).then_some(address)
            }
            Self::Evm => None,
            Self::Tron => {
                let bytes = sandbox_chains::tron::address::from_base58(text)
                    .or_else(|| hex::decode(text).ok())?;
                sandbox_chains::tron::address::from21(&bytes)
            }
        }
    }

    /// A transaction hash as its people write it.
    pub fn spell_hash(self, hash: B256) -> String {
        match self {
            Self::Evm => hash.to_string(),
            Self::Tron => hex::encode(hash),
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evm => "EVM",
            Self::Tron => "TRON",
        }
    }
}
