//! What surrounds the Signer in a test: a chain and the contracts on it.
//!
//! Nothing here uses the Signer's own code, so that a mistake there cannot agree with itself.

pub(crate) mod anvil;
pub(crate) mod contracts;
