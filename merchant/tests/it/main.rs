//! The crate from outside.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its servers with its runtime"
)]

mod callbacks;
#[expect(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic; its numbers are small"
)]
mod programs;
mod proofs;
mod strange_answers;
