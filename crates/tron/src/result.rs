//! The word of a block for how a contract call went. A closed list: nothing follows from another word.

/// `Transaction.Result.contractResult` of java-tron's `Tron.proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContractResult {
    /// Nothing is said.
    Default,
    /// The call did what it was meant to do.
    Success,
    /// The contract reverted.
    Revert,
    /// The code jumped to where it may not.
    BadJumpDestination,
    /// It wanted more memory than there is.
    OutOfMemory,
    /// A precompiled contract failed.
    PrecompiledContract,
    /// The code took more from the stack than there was.
    StackTooSmall,
    /// The stack would have grown too high.
    StackTooLarge,
    /// An instruction that does not exist, or not here.
    IllegalOperation,
    /// The stack overflowed.
    StackOverflow,
    /// Its energy did not suffice.
    OutOfEnergy,
    /// It took too long.
    OutOfTime,
    /// The node's own stack overflowed.
    JvmStackOverflow,
    /// Something else went wrong.
    Unknown,
    /// Coins could not be moved.
    TransferFailed,
    /// The code to be deployed is not valid.
    InvalidCode,
}

/// The whole list: number, word and what it stands for.
const ALL: [(i32, &str, ContractResult); 16] = [
    (0, "DEFAULT", ContractResult::Default),
    (1, "SUCCESS", ContractResult::Success),
    (2, "REVERT", ContractResult::Revert),
    (3, "BAD_JUMP_DESTINATION", ContractResult::BadJumpDestination),
    (4, "OUT_OF_MEMORY", ContractResult::OutOfMemory),
    (5, "PRECOMPILED_CONTRACT", ContractResult::PrecompiledContract),
    (6, "STACK_TOO_SMALL", ContractResult::StackTooSmall),
    (7, "STACK_TOO_LARGE", ContractResult::StackTooLarge),
    (8, "ILLEGAL_OPERATION", ContractResult::IllegalOperation),
    (9, "STACK_OVERFLOW", ContractResult::StackOverflow),
    (10, "OUT_OF_ENERGY", ContractResult::OutOfEnergy),
    (11, "OUT_OF_TIME", ContractResult::OutOfTime),
    (12, "JVM_STACK_OVER_FLOW", ContractResult::JvmStackOverflow),
    (13, "UNKNOWN", ContractResult::Unknown),
    (14, "TRANSFER_FAILED", ContractResult::TransferFailed),
    (15, "INVALID_CODE", ContractResult::InvalidCode),
];

/// The outcome of a transaction in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did what it was meant to do.
    Succeeded,
    /// It changed nothing but its sender's resources.
    Failed(ContractResult),
    /// The block does not say.
    Untold,
}

impl ContractResult {
    /// Returns the result that a word stands for; none if the word is not on the list.
    pub fn of_word(word: &str) -> Option<Self> {
        ALL.iter().find(|(_, known, _)| *known == word).map(|(_, _, result)| *result)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        ALL.iter().find(|(_, _, result)| *result == self).map_or("", |(_, word, _)| word)
    }

    /// Its number in protobuf.
    pub fn number(self) -> i32 {
        ALL.iter().find(|(_, _, result)| *result == self).map_or(0, |(number, _, _)| *number)
    }

    /// Returns the ending that follows from the result. [`ContractResult::Unknown`] is an accident of the producer,
    /// so nothing follows from it.
    pub fn ending(self) -> Ending {
        match self {
            Self::Success => Ending::Succeeded,
            Self::Default | Self::Unknown => Ending::Untold,
            Self::Revert
            | Self::BadJumpDestination
            | Self::OutOfMemory
            | Self::PrecompiledContract
            | Self::StackTooSmall
            | Self::StackTooLarge
            | Self::IllegalOperation
            | Self::StackOverflow
            | Self::OutOfEnergy
            | Self::OutOfTime
            | Self::JvmStackOverflow
            | Self::TransferFailed
            | Self::InvalidCode => Ending::Failed(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole_and_in_order() {
        for (place, (number, word, result)) in (0..).zip(ALL) {
            assert_eq!(number, place);
            assert_eq!((result.number(), result.word()), (number, word));
            assert_eq!(ContractResult::of_word(word), Some(result));
        }
        assert_eq!(ContractResult::of_word("FAILED"), None);
        assert_eq!(ContractResult::of_word(""), None);
    }

    #[test]
    fn only_success_succeeds_and_what_says_nothing_has_not_failed() {
        let succeeded = ALL.iter().filter(|(_, _, it)| it.ending() == Ending::Succeeded);
        assert_eq!(succeeded.count(), 1);
        let untold: Vec<_> = ALL
            .iter()
            .filter(|(_, _, it)| it.ending() == Ending::Untold)
            .map(|one| one.1)
            .collect();
        assert_eq!(untold, ["DEFAULT", "UNKNOWN"]);
    }
}
