//! Bills due subscriptions on EVM chains and on TRON; nobody is ever charged twice for one period.

pub mod auth;
pub mod keys;
