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
pub mod policy;

pub mod keys;

pub mod journal;

pub mod clock;
pub mod telemetry;
