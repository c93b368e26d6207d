//! The part that an account plays on its chain.

use billing::{Again, OnlyFollows, Rules};

/// The part that an account plays on its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It takes new work.
    Signs,
    /// It ends what it has begun, and begins nothing, for this reason.
    Follows(OnlyFollows),
    /// The same, and it had nothing left to do when the process began. It is only compared with the chain: an old
    /// copy of the journal has forgotten what the account did since.
    Observes(OnlyFollows),
}

impl Role {
    /// Returns true if the account takes new work.
    pub fn signs(self) -> bool {
        self.only_follows().is_none()
    }

    /// Returns the reason that the account begins nothing new; none if it takes new work.
    pub fn only_follows(self) -> Option<OnlyFollows> {
        match self {
            Self::Signs => None,
            Self::Follows(why) | Self::Observes(why) => Some(why),
        }
    }

    /// Returns true if the account had nothing left to do when the process began.
    pub(super) fn observes(self) -> bool {
        matches!(self, Self::Observes(_))
    }

    /// Returns the rules by which the open batches of the account are treated: without a key, nothing is signed again.
    pub(super) fn rules(self, rules: Rules) -> Rules {
        match self.only_follows() {
            Some(OnlyFollows::NoKey) => Rules { again: Again::Never, ..rules },
            Some(OnlyFollows::RetiredKey | OnlyFollows::RetiredChain) | None => rules,
        }
    }
}
