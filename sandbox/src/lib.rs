//! A chain of one's own, in memory: what stands outside the Signer, for newcomers and for tests.
//!
//! A [`Chain`](chain::Chain) knows blocks, two heads, a pool and forks, and nothing of money. A [`Family`](chain::Family)
//! says what a transaction is and what it does: [`evm::Evm`] does by the rules of Ethereum.
//! A [`Node`](node::Node) is the handle that tests hold and that the HTTP faces serve.
//!
//! Read in this order: `state`, `clock`, `chain`, `node`, then a family.
//! The production package never depends on this crate.

pub mod chain;
pub mod clock;
pub mod contracts;
pub mod eth;
pub mod evm;
pub mod faults;
pub mod node;
pub mod serve;
pub mod state;
pub mod town;
pub mod tron;
