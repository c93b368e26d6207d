#![doc = include_str!("../README.md")]

pub mod amount;
pub mod callback;
pub mod client;
pub mod clock;
#[cfg(feature = "program")]
mod digest;
pub mod error;
pub mod full;
#[cfg(feature = "program")]
pub mod inbox;
#[cfg(feature = "program")]
mod pause_clock;
#[cfg(feature = "program")]
pub mod schedule;
pub mod sign;
pub mod signer;
#[cfg(feature = "program")]
mod stop;
#[cfg(feature = "program")]
mod store;
pub mod time;
pub mod tls;
mod transport;
pub mod types;

pub use client::Client;
pub use error::CallError;
pub use full::Full;
#[cfg(feature = "program")]
pub use store::StoreError;

/// Holds the examples of the documentation to the crate.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../../docs/merchant.md")]
struct Documentation;
