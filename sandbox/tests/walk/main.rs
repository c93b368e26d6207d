//! The interface document, parts 3 to 8, row by row: the platform of the sandbox on the other side, the
//! merchant's client and callback router on this one, and the Signer in between, on both chains.
//!
//! `docs/merchant.md` has the table from the sections of the document to these tests.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod callbacks;
mod encrypted;
mod lists;
mod money;
mod scheduling;
mod subscribing;
mod table;
mod world;
