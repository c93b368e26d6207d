//! The ending of a call on the chain, in the words of its nodes.

use billing::CallEnding;
use tron_primitives::result::{ContractResult, Ending};

/// The meaning of a node's word for a call. An unknown word means nothing: a node that leaves the field out, or
/// puts something of its own into it, has told of no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tron) enum CallResult {
    /// The call did what it was meant to do.
    Succeeded,
    /// The call failed and changed nothing.
    Failed,
}

/// Mark of a whole transaction that failed, beside its word.
const FAILED: &str = "FAILED";

impl CallResult {
    /// The result that a transaction itself carries (`ret.contractRet`).
    pub(in crate::tron) fn of_word(word: &str) -> Option<Self> {
        Self::of_ending(ContractResult::of_word(word)?.ending())
    }

    /// The result that a proven block commits to.
    pub(in crate::tron) fn of_ending(ending: Ending) -> Option<Self> {
        match ending {
            Ending::Succeeded => Some(Self::Succeeded),
            Ending::Failed(_) => Some(Self::Failed),
            Ending::Untold => None,
        }
    }

    /// Returns the ending of a call, for people; none if the word means nothing.
    pub(in crate::tron) fn told(word: &str) -> Option<CallEnding> {
        let result = ContractResult::of_word(word)?;
        match (result.ending(), result) {
            (Ending::Succeeded, _) => Some(CallEnding::Success),
            (Ending::Failed(_), ContractResult::Revert) => Some(CallEnding::Revert),
            (Ending::Failed(_), ContractResult::OutOfEnergy) => Some(CallEnding::OutOfEnergy),
            (Ending::Failed(_), ContractResult::OutOfTime) => Some(CallEnding::OutOfTime),
            (Ending::Failed(_), _) => Some(CallEnding::Faulty),
            (Ending::Untold, _) => None,
        }
    }

    /// The result in the record of a transaction: the word of its receipt, and the mark beside it,
    /// which must not contradict each other.
    pub(in crate::tron) fn of_record(word: &str, mark: &str) -> Option<Self> {
        match (Self::of_word(word)?, mark) {
            (Self::Succeeded, "") => Some(Self::Succeeded),
            (Self::Failed, FAILED) => Some(Self::Failed),
            (Self::Succeeded | Self::Failed, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_words_that_fit_their_mark_mean_something() {
        assert_eq!(CallResult::of_record("SUCCESS", ""), Some(CallResult::Succeeded));
        assert_eq!(CallResult::of_record("REVERT", "FAILED"), Some(CallResult::Failed));
        assert_eq!(CallResult::of_record("OUT_OF_TIME", "FAILED"), Some(CallResult::Failed));
        for (word, mark) in [
            ("SUCCESS", "FAILED"),
            ("REVERT", ""),
            ("", ""),
            ("", "FAILED"),
            ("UNKNOWN", "FAILED"),
            ("DEFAULT", ""),
            ("success", ""),
            ("A_WORD_OF_ITS_OWN", "FAILED"),
        ] {
            assert_eq!(CallResult::of_record(word, mark), None, "{word} {mark}");
        }
        assert_eq!(CallResult::of_word("INVALID_CODE"), Some(CallResult::Failed));
        assert_eq!(CallResult::of_word("FAILED"), None);
    }
}
