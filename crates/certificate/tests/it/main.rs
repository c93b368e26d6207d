//! Certificates of charges on both chains of the sandbox, and what is altered in them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod elsewhere;
mod made;
mod mutations;
mod verifying;
