//! Why a lane ends what it has begun, and begins nothing.

use std::fmt;

/// Why a lane ends what it has begun, and begins nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnlyFollows {
    /// The account's key is not configured: nothing is signed for it.
    NoKey,
    /// The account's key is configured for this alone.
    RetiredKey,
    /// The whole chain is.
    RetiredChain,
}

impl fmt::Display for OnlyFollows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoKey => {
                "its key is not configured: what it has open is followed and offered as it is, and \
                 nothing is signed for it. To have it replaced or renewed as well, name the key in \
                 retired_keys"
            }
            Self::RetiredKey => {
                "its key is retired: what it has open is brought to its end, and nothing new is begun"
            }
            Self::RetiredChain => {
                "the chain is retired: what is open is brought to its end, and nothing new is begun"
            }
        })
    }
}
