//! What surrounds the Signer in a test: a chain and the contracts on it, a node that misbehaves, the
//! real binary, and a scheduler.
//!
//! `anvil` and `contracts` use none of the Signer's own code, so that a mistake there cannot agree
//! with itself.

pub(crate) mod anvil;
pub(crate) mod authority;
pub(crate) mod beacon;
pub(crate) mod besiegers;
pub(crate) mod collector;
pub(crate) mod contracts;
mod lanes;
pub(crate) mod lies;
pub(crate) mod made_up;
pub(crate) mod manual;
pub(crate) mod patience;
pub(crate) mod plain;
pub(crate) mod port;
pub(crate) mod postmaster;
pub(crate) mod proxy;
pub(crate) mod sealed;
pub(crate) mod search;
mod shortcuts;
pub(crate) mod signer;
pub(crate) mod softhsm;
pub(crate) mod town;
pub(crate) mod tron;
pub(crate) mod wire;
