//! The platform as a merchant meets it: over HTTP, on both chains.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod api;
mod callbacks;
mod console;
mod faults;
mod lists;
mod money;
mod pages;
mod plans;
mod state;
mod subscribing;
mod world;
