//! The merchant-side Signer: bills due subscriptions, and charges nobody twice for one period.
//!
//! The modules in the order in which a charge meets them.

pub mod app;
pub mod config;

pub mod auth;
pub mod http;

pub mod billing;
pub mod engine;

pub mod chain;
pub mod contract;
pub mod node;
pub mod policy;

pub mod keys;

pub mod journal;

pub mod clock;
pub mod telemetry;

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "a simulated world may panic, and counts small things"
)]
mod simulator;
