//! The judgement of an answer about a block whose header proves itself.
//!
//! A field that the HTTP API does not show, or that is not known here, keeps every honest node from proving such a block.
//! So does an answer that hides a transaction. Nothing follows from one that cannot be judged, however many tell it alike.

use crate::block::{ProvenBlock, ProvenHeader, Unproven};

/// The judgement of an answer whose header proves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The block is what the answer says.
    Proven(ProvenBlock),
    /// The block may be what the answer says, or the answer is false.
    Unjudged {
        /// The header, which is proven.
        header: ProvenHeader,
        /// The step of the proof that failed: [`Unproven::Root`] or [`Unproven::Word`].
        why: Unproven,
    },
}
