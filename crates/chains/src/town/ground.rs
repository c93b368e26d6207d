//! The interface that a town needs of a chain, whichever family the chain is of.

use crate::memo::Memo;
use alloy::primitives::{Address, Bytes, keccak256};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolCall;

/// A chain in this process that takes signed transactions directly. Anything that does not succeed panics.
pub trait Ground {
    /// Returns the chain ID, as the CHAINID opcode gives it.
    fn chain_id(&self) -> u64;

    /// Gives accounts coins out of nowhere.
    fn endow(&self, accounts: &[Address]);

    /// Deploys creation code.
    fn deploy(&self, from: &PrivateKeySigner, creation: Bytes) -> Address;

    /// Sends calls, in order for each sender, and makes blocks until all are in one. Each must succeed.
    fn execute(&self, calls: Vec<Call>);

    /// Returns the result of a call at the head.
    fn view(&self, to: Address, data: Bytes) -> Bytes;
}

/// A contract call that its sender signs.
#[derive(Clone, Debug)]
pub struct Call {
    /// Key of the sender.
    pub from: PrivateKeySigner,
    /// The contract.
    pub to: Address,
    /// Call data.
    pub data: Bytes,
}

impl Call {
    /// A call to a contract.
    pub fn new(from: &PrivateKeySigner, to: Address, call: &impl SolCall) -> Self {
        Self { from: from.clone(), to, data: call.abi_encode().into() }
    }
}

/// The wallet whose key is the hash of a name. Everybody knows these keys.
pub fn wallet(name: &str) -> PrivateKeySigner {
    thread_local! {
        static KNOWN: Memo<String, PrivateKeySigner> = Memo::new();
    }
    let made = |name: &String| {
        PrivateKeySigner::from_bytes(&keccak256(format!("sandbox {name}")))
            .expect("a hash is a key")
    };
    KNOWN.with(|known| known.get(name.to_owned(), made))
}
