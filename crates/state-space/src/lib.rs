#![doc = include_str!("../README.md")]

pub mod evm;
mod process;
mod subscriptions;
mod transactions;
pub mod tron;
mod visit;

pub use process::Mark;
pub use subscriptions::Wanted;
pub use transactions::{Ending, Landing, TxId};
pub use visit::{Visit, visit};

#[cfg(test)]
mod tests;
