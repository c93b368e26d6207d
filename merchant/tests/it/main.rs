//! The crate from outside.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its servers with its runtime"
)]

mod callbacks;
mod strange_answers;
