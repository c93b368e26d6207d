//! The kinds of rows in the history.

use strum::{EnumIter, EnumString, IntoStaticStr};

/// The kind of a row. Its word stands in the row, and in the statements that look for rows of a kind: a word that was
/// released never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum HistoryEvent {
    /// A batch was signed and is durable.
    Accepted,
    /// A batch was learnt from the chain.
    Adopted,
    /// Another transaction was signed in a batch's place.
    #[strum(serialize = "signed again")]
    SignedAgain,
    /// The chain has decided a batch.
    Settled,
    /// A person has said what became of an unproven charge.
    Resolved,
    /// The account sent a transaction that is not in the journal and charges nobody.
    #[strum(serialize = "used elsewhere")]
    UsedElsewhere,
    /// Claims were freed, or passed on to charges that had waited for them.
    #[strum(serialize = "claims passed on")]
    ClaimsPassedOn,
    /// A transaction that the journal does not know took a place.
    #[strum(serialize = "place taken")]
    PlaceTaken,
    /// A lane was opened at its first position.
    #[strum(serialize = "lane opened")]
    LaneOpened,
    /// A lane takes new work, or takes none.
    Gate,
    /// The gas money of a lane runs low, or lasts again.
    Gas,
    /// A chain was paused.
    Paused,
    /// A pause was ended.
    Resumed,
    /// An old copy of the journal was put in place.
    Restored,
    /// An account did something that the journal does not know.
    #[strum(serialize = "used without the journal")]
    UsedWithoutJournal,
    /// Final blocks were read that tell what a lane has forgotten.
    #[strum(serialize = "blocks read")]
    BlocksRead,
    /// A lane is to be reconciled with its chain, since another process has left the journal.
    #[strum(serialize = "taken up")]
    TakenUp,
    /// Every lane is taken up since an old copy was put in place, also those that the copy did not know.
    #[strum(serialize = "all taken up")]
    AllTakenUp,
    /// The journal knows everything that the lane's account did.
    Reconciled,
    /// Everything that a lane has forgotten is learnt.
    #[strum(serialize = "learnt what was forgotten")]
    LearntForgotten,
    /// A chain became known.
    #[strum(serialize = "chain bound")]
    ChainBound,
    /// A chain got another id.
    #[strum(serialize = "chain renamed")]
    ChainRenamed,
    /// Another contract is billed through, or its periods are named otherwise.
    #[strum(serialize = "contract changed")]
    ContractChanged,
    /// A profile became known.
    Profile,
    /// Claims of another installation were taken over.
    Imported,
    /// The tables were brought to a newer version.
    Migrated,
    /// A log of the file begins.
    #[strum(serialize = "log begun")]
    LogBegun,
}

impl HistoryEvent {
    /// The word for it in the history.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The kind that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    /// The same kind, where such a row tells of one batch.
    pub(crate) fn of_batch(self) -> Option<BatchEvent> {
        match self {
            Self::Accepted => Some(BatchEvent::Accepted),
            Self::Adopted => Some(BatchEvent::Adopted),
            Self::SignedAgain => Some(BatchEvent::SignedAgain),
            Self::Settled => Some(BatchEvent::Settled),
            Self::Resolved => Some(BatchEvent::Resolved),
            Self::UsedElsewhere
            | Self::ClaimsPassedOn
            | Self::PlaceTaken
            | Self::LaneOpened
            | Self::Gate
            | Self::Gas
            | Self::Paused
            | Self::Resumed
            | Self::Restored
            | Self::UsedWithoutJournal
            | Self::BlocksRead
            | Self::TakenUp
            | Self::AllTakenUp
            | Self::Reconciled
            | Self::LearntForgotten
            | Self::ChainBound
            | Self::ChainRenamed
            | Self::ContractChanged
            | Self::Profile
            | Self::Imported
            | Self::Migrated
            | Self::LogBegun => None,
        }
    }
}

/// The kinds of rows that tell of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchEvent {
    /// The batch was signed and is durable.
    Accepted,
    /// The batch was learnt from the chain.
    Adopted,
    /// Another transaction was signed in its place.
    SignedAgain,
    /// The chain has decided it.
    Settled,
    /// A person has said what became of an unproven charge of it.
    Resolved,
}
