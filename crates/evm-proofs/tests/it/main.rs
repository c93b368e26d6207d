//! A block of a main network, and blocks made here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod alteration;
mod forms;
mod made;
mod recorded;
