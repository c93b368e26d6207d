//! The merchant's side of the platform.
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`sign`] | the signature that requests and callbacks carry, made and checked |
//! | [`clock`], [`time`] | where the time comes from, and how the platform writes it |
//! | [`amount`] | money: exact decimals, integers in base units, and the way between them |
//! | [`full`] | a typed value beside the whole JSON text it was read from |
//! | [`types`] | the platform's records and ids |
//! | [`error`] | what a call can come to other than its answer |
//! | [`client`] | every call of the platform |
//! | [`callback`] | what the platform calls back with, verified |
//! | `inbox` | keeps callbacks and hands them on: `merchant inbox`, `merchant events` |
//! | `schedule` | bills what is due and reconciles: `merchant schedule` |
//! | [`signer`] | the Signer's own HTTP interface |
//! | [`tls`] | whom a client believes, and what it shows |
//!
//! `inbox` and `schedule` are there with the feature `program`, [`callback`]'s extractor and router with `server`.
//!
//! Knows the platform and the Signer by their HTTP interfaces only.

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
