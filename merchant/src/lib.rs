#![doc = include_str!("../README.md")]

pub mod callback;
pub mod client;
#[cfg(feature = "program")]
mod digest;
#[cfg(feature = "program")]
pub mod inbox;
#[cfg(feature = "program")]
mod pause_clock;
#[cfg(feature = "program")]
pub mod schedule;
#[cfg(feature = "program")]
mod stop;
#[cfg(feature = "program")]
mod store;
pub mod types;

pub use client::Client;
pub use signer_client::error::CallError;
pub use signer_client::full::Full;
pub use signer_client::{amount, clock, error, full, sign, signer, time, tls};
#[cfg(feature = "program")]
pub use store::StoreError;

use signer_client::transport;

/// Holds the examples of the documentation to the crate.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../../docs/merchant.md")]
struct Documentation;
