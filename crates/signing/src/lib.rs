#![doc = include_str!("../README.md")]

mod ceilings;
mod chain_policy;
mod context;
mod evm_preimage;
mod judge;
mod place_counts;
mod seal_error;
mod tron_preimage;
mod tron_repeat;

pub use ceilings::{dearest, raised};
pub use chain_policy::chain_policy;
pub use context::{SigningContext, data};
pub use evm_preimage::{EvmPreimage, OddPreimage, signed_cost};
pub use judge::TransactionJudge;
pub use seal_error::{SealError, SealFault};
pub use tron_preimage::{TronPreimage, complete, sign};
pub use tron_repeat::KnownCalls;
