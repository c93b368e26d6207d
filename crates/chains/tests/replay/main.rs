//! The recorded answers of the reference node, asked of the sandbox: same bytes, same times, same answers.
//!
//! The chain is set up like the recorded one, blocks get the ids that recorded transactions refer to, and block times follow the
//! recording, so that the very bytes that were signed then are valid now. What follows from the producers' keys and from earlier
//! traffic that was not recorded is left out of the comparison (`IGNORED`).

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod compare;
mod files;
mod recording;
mod vectors;
mod world;
