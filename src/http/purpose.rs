//! The purposes of paths: the rights, the room and the care that each takes.

use super::rejection::Rejection;
use config::Rights;

/// The longest body where none is needed or a short one will do, bytes.
const SHORT_BODY: usize = 4 << 10;

/// The purpose of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Charges: a long body, and judged once.
    Bill,
    /// Changes something else: for callers who may control. Sent twice it is done twice, which leaves things as
    /// they are if nothing happened in between: a pause that is repeated pauses, and a resume names what it ends.
    Control,
    /// Changes nothing; for callers who may control.
    Inspect,
    /// Changes nothing; for callers who may read.
    Ask,
    /// As [`Self::Ask`], and the ledger is looked through, batch by batch.
    Scan,
    /// As [`Self::Ask`], and nodes are asked for a whole block.
    Certify,
}

impl Purpose {
    /// Checks that a caller has the right; a request without a known caller has the usual rights.
    pub(super) fn allowed(self, rights: Option<&Rights>) -> Result<(), Rejection> {
        let usual = Rights::default();
        let rights = rights.unwrap_or(&usual);
        match self {
            Self::Control | Self::Inspect if !rights.control => Err(Rejection::NoControl),
            Self::Ask | Self::Scan | Self::Certify if !rights.read => {
                Err(Rejection::NoRight("read"))
            }
            Self::Bill if !rights.bill => Err(Rejection::NoRight("bill")),
            Self::Bill | Self::Control | Self::Inspect | Self::Ask | Self::Scan | Self::Certify => {
                Ok(())
            }
        }
    }

    /// Returns true if one message is judged once.
    pub(super) fn is_judged_once(self) -> bool {
        match self {
            Self::Bill => true,
            Self::Control | Self::Inspect | Self::Ask | Self::Scan | Self::Certify => false,
        }
    }

    /// Returns the length of the longest body, bytes, where charges may have `longest`.
    pub(super) fn longest_body(self, longest: usize) -> usize {
        match self {
            Self::Bill => longest,
            Self::Control | Self::Inspect | Self::Ask | Self::Scan | Self::Certify => {
                SHORT_BODY.min(longest)
            }
        }
    }
}
