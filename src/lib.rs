//! The merchant-side Signer: bills due subscriptions, and charges nobody twice for one period.
//!
//! The modules in the order in which a charge meets them.

pub mod billing;
pub mod chain;
pub mod journal;
pub mod keys;
