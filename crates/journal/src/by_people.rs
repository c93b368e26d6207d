//! Statements of people that the journal writes down: findings, other contracts, claims of another installation.

mod claims_file;
pub(crate) mod config_change;
pub(crate) mod interchange;
pub(crate) mod resolution;
