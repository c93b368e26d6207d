#![doc = include_str!("../README.md")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::indexing_slicing,
    reason = "a test may panic, and says what it did"
)]

mod book;
mod room;
mod samples;
pub mod server;
mod versions;

pub use book::*;
pub use room::{Room, beside};
pub use samples::*;
pub use versions::{KEPT, LATER, copy_of, kept};
