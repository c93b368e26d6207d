//! The ways in which records of transactions in final blocks are judged: for people, and for metrics.

use std::fmt;

/// The way in which the last record that decided something was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProofMode {
    /// Nothing was decided since the start.
    #[default]
    Untried,
    /// By the block that it names, which was recomputed from its own bytes.
    Proven,
    /// By as many nodes as have to agree, since the block cannot be recomputed, for this reason.
    Counted(String),
    /// Not yet: the sole provider has not told the block, for this reason.
    Awaited(String),
    /// Not yet: too few witnesses bear out the block, for this reason.
    Unwitnessed(String),
}

impl fmt::Display for ProofMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untried => f.write_str("nothing was decided since the start"),
            Self::Proven => f.write_str("proven by the blocks that they name"),
            Self::Counted(why) => write!(f, "counted, not proven: {why}"),
            Self::Unwitnessed(why) => write!(f, "not believed before witnesses bear it out: {why}"),
            Self::Awaited(why) => write!(f, "not believed before the block is told: {why}"),
        }
    }
}
