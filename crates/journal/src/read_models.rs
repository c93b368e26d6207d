//! The feed and the ledger, with the refusals beside it. No commit writes any of it.

pub(crate) mod feed;
pub(crate) mod ledger;
pub(crate) mod ledger_filter;
pub(crate) mod refusals;
