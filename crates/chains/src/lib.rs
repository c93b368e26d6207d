//! A chain of one's own, in memory: what stands outside the Signer, for newcomers and for tests.
//!
//! A [`Chain`](chain::Chain) knows blocks, two heads, a pool and forks, and nothing of money. A [`Family`](chain::Family)
//! says what a transaction is and what it does: [`Evm`](evm::Evm) by the rules of Ethereum, [`Tron`](tron::Tron) by those
//! of TRON. A [`Node`](node::Node) is the handle that tests hold and that the HTTP faces serve: [`eth`] as an Ethereum
//! node does, [`serve`] as a TRON node does. A [`TronNode`](tron::TronNode) has besides what the pool of a real node
//! has, and its switches and failures. A [`Town`](town::Town) is a merchant with subscribers on either.
//!
//! Read in this order: `state`, `clock`, `chain`, `node`, then a family, then `faults`, `serve` and `eth`, then
//! `town`. The demonstration is the program beside this library. The production package never depends on this
//! crate. Its README lists the differences from the real nodes.

pub mod chain;
pub mod clock;
pub mod contracts;
mod curve;
pub mod eth;
pub mod evm;
pub mod faults;
pub mod local;
mod memo;
pub mod node;
pub mod serve;
pub mod state;
pub mod town;
pub mod tron;
