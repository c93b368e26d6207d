//! The variables of the process that hold keys.

/// The key of a chain of the EVM family, or a map of keys.
pub(super) const EVM_PRIVATE_KEY: &str = "EVM_PRIVATE_KEY";

/// The same of the TVM family.
pub(super) const TVM_PRIVATE_KEY: &str = "TVM_PRIVATE_KEY";

/// The variables that `key = "env"` means.
pub(super) const KEY_VARIABLES: [&str; 2] = [EVM_PRIVATE_KEY, TVM_PRIVATE_KEY];
