#![doc = include_str!("../README.md")]

mod charges;
mod feed;
mod filter;
mod lines;
mod refusals;

pub use charges::{LedgerEntry, newest_batch};
pub use feed::{Feed, FeedEvent, FeedKind, FeedPlace, FeedStep, NotTold, RowMark};
pub use filter::{LedgerFilter, LedgerOrder, LedgerPlace, PlaceInBatch};
pub use lines::{Ledger, LedgerError, LedgerLine, LedgerLines, REFUSED};
pub use refusals::{KeptRefusal, Refusals, RefusedRequest, Unkept};

#[cfg(test)]
mod tests;
