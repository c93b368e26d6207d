//! Headers of BNB Smart Chain, and headers made here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod lists;
mod made;
mod recorded;
mod runs;
mod seals;
mod steps;
