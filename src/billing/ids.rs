//! Identities that several parts of the crate pass around, each with a type of its own.
//!
//! Pure. Depends on nothing else in the crate.

/// A chain id as the platform counts them (`chainId` in every body). Never used for signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlatformChainId(pub u32);
