//! Everything that needs a chain, a process or a socket.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic, and says what it did"
)]

mod evm_adapter;
mod house_rules;
mod other_contracts;
mod production;
mod real_tron;
mod reference_contract;
mod scenarios;
mod world;
