//! The ending of a call on the chain, in the words of its nodes.

use tron_primitives::result::{ContractResult, Ending};

/// The meaning of a node's word for a call. An unknown word means nothing: a node that leaves the field out, or
/// puts something of its own into it, has told of no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// The call did what it was meant to do.
    Succeeded,
    /// The call failed and changed nothing.
    Failed,
}

/// Mark of a whole transaction that failed, beside its word.
const FAILED: &str = "FAILED";

impl CallResult {
    /// The result that a transaction itself carries (`ret.contractRet`).
    pub fn of_word(word: &str) -> Option<Self> {
        Self::of_ending(ContractResult::of_word(word)?.ending())
    }

    /// The result that a proven block commits to.
    pub fn of_ending(ending: Ending) -> Option<Self> {
        match ending {
            Ending::Succeeded => Some(Self::Succeeded),
            Ending::Failed(_) => Some(Self::Failed),
            Ending::Untold => None,
        }
    }

    /// The result in the record of a transaction: the word of its receipt, and the mark beside it,
    /// which must not contradict each other.
    pub fn of_record(word: &str, mark: &str) -> Option<Self> {
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
