//! The TRON family.

pub mod address;
pub mod admission;
pub mod bandwidth;
pub mod calls;
pub mod cpu;
pub mod execute;
mod family;
pub mod http;
pub mod info;
pub mod json;
mod jsonrpc;
pub mod ledger;
pub mod meter;
mod node;
pub mod params;
pub mod proto;
pub mod refusal;
mod setup;
pub mod signature;
pub mod tvm;
pub mod tx;
mod wallet;
pub mod witness;

pub use cpu::Cpu;
pub use family::Tron;
pub use node::{Options, TronNode};
pub use wallet::Wallet;
pub use witness::Witness;
