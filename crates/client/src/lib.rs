#![doc = include_str!("../README.md")]

pub mod amount;
pub mod clock;
pub mod error;
pub mod full;
pub mod id;
mod outgoing;
pub mod sign;
pub mod signer;
pub mod time;
pub mod tls;
pub mod transport;
