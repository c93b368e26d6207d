#![doc = include_str!("../README.md")]

mod answers;
mod api;
mod block;
mod block_reader;
mod blocks;
mod call_result;
mod calls;
mod complaint;
mod death;
mod endpoints;
mod finality;
mod fleet;
mod judgements;
mod records;
mod run;
mod shown_headers;
mod signers;
mod solid_blocks;
mod solid_head;
mod witness_chain;

pub use answers::{Account, Authority, ContractInfo, Parameters, Resources};
pub use api::Api;
pub use block::{BlockPoint, Misfit, TronBlock};
pub use block_reader::{BlockReader, MissingBlock};
pub use blocks::{Detail, NewestBlock};
pub use call_result::CallResult;
pub use calls::{CallOutcome, ConstantCall, DeploylessRead};
pub use death::{ExpiringTx, TxFate, TxScan};
pub use endpoints::{ApiUnusable, CALLS_AT_ONCE, Endpoints, Question, Side};
pub use finality::{Finality, Heights, Support};
pub use fleet::{UnusableNode, fleet};
pub use records::{Broadcast, TxInfo, offer};
pub use run::{CallError, CallRan, NotRun, out_of_time};
pub use shown_headers::ShownHeaders;
pub use signers::Signers;
pub use solid_blocks::{SolidBlock, SolidBlocks};
pub use solid_head::{SolidHead, solid_head};
pub use witness_chain::{HeaderScan, WitnessChain};

/// The tests name the crate as the chain's tests do, which share files with them.
#[cfg(test)]
extern crate self as tron_node;

#[cfg(test)]
mod tests;
