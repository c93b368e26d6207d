//! The contract profile: how the billing contract is called, as configuration.

/// Values that the chain's lookup supplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked;

/// How the billing contract is called.
#[derive(Debug)]
pub struct Profile;
