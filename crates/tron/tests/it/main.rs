//! Blocks of a real node, and blocks made here with keys that everybody knows.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod alteration;
mod finality;
mod forge;
mod hidden;
mod recorded;
mod results;
mod steps;
