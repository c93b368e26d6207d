//! The outcomes of charges, as the chain and as people tell them.

use billing::ItemOutcome;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The outcome of one subscription of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// The batch ended, and its final transaction tells this of the subscription.
    Told(ItemOutcome),
    /// The batch ended and charged nobody.
    Released,
}

/// The outcome of the charge after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Resolution {
    /// It was charged: it is never charged again.
    Charged,
    /// It was not: it can be charged.
    Free,
}

impl Resolution {
    /// The word for it in commands and answers.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The resolution that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    /// The outcome of the charge, in the table of claims.
    pub(crate) fn column(self) -> OutcomeWord {
        match self {
            Self::Charged => OutcomeWord::Charged,
            Self::Free => OutcomeWord::Released,
        }
    }
}

/// The word of an outcome in the table of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum OutcomeWord {
    /// Charged.
    Charged,
    /// Not charged, for a reason.
    Failed,
    /// The outcome cannot be told.
    Unproven,
    /// Not charged, because the batch charged nobody.
    Released,
}

impl OutcomeWord {
    /// The word itself.
    pub(crate) fn word(self) -> &'static str {
        self.into()
    }
}
