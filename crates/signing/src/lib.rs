#![doc = include_str!("../README.md")]

mod ceilings;
mod chain_policy;
mod context;
mod evm_preimage;
mod judge;
mod seal_error;
mod tron_preimage;

pub use ceilings::{dearest, raised};
pub use chain_policy::chain_policy;
pub use context::{SigningContext, data};
pub use evm_preimage::{EvmPreimage, OddPreimage, signed_cost};
pub use judge::TransactionJudge;
pub use seal_error::{SealError, SealFault};
pub use tron_preimage::{KnownCalls, TronPreimage, complete, sign};
