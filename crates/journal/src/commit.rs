//! The transactions on which the promise rests: a batch is accepted, another attempt is added, a batch ends.

pub(crate) mod acceptance;
pub(crate) mod day_sums;
pub(crate) mod endings;
pub(crate) mod newest_day;
pub(crate) mod place_takers;
pub(crate) mod requests;
pub(crate) mod rows;
pub(crate) mod state_before;
pub(crate) mod waiting_claims;
