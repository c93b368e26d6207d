//! The chain's records of a transaction in a final block, as told to people. Nothing is decided by them.

use alloy::primitives::U256;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The outcome and the cost of the call of a transaction in a final block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxRecord {
    /// The ending of the transaction.
    pub ending: CallEnding,
    /// Why it failed, in the words of the node; none where it has none.
    pub message: Option<String>,
    /// The amount used: gas on EVM, energy on TRON, whether staked or burnt.
    pub used: u64,
    /// The fee that the signing account paid: wei or sun.
    pub fee: U256,
}

/// The ending of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, IntoStaticStr, EnumString)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum CallEnding {
    /// It did what it was meant to do.
    Success,
    /// The contract refused.
    Revert,
    /// It used all the gas that it had.
    OutOfGas,
    /// Its energy did not suffice.
    OutOfEnergy,
    /// It took longer than a block has time for.
    OutOfTime,
    /// The code is at fault, in one of the many ways that chains know.
    Faulty,
}

impl CallEnding {
    /// The word for it in answers and in the journal.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The ending that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    /// Returns the advice on a billing that ended so; none where nothing is to be done.
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Self::Success => None,
            Self::Revert => {
                Some("post it again: what the contract refuses is then told before signing")
            }
            Self::OutOfGas => Some("post it again, with fewer entries at once"),
            Self::OutOfEnergy => {
                Some("raise the fee limit, stake for more energy, or post fewer entries at once")
            }
            Self::OutOfTime => Some("post fewer entries at once: see policy.max_batch"),
            Self::Faulty => Some("ask the contract's author: its code is at fault"),
        }
    }
}
