//! The standing of a lane: open or closed to new work, and the reason if closed, in a sentence for people and in a
//! word for machines. Readiness and metrics both ask here, so that they cannot disagree.

use super::lane_error::LaneError;
use billing::Closed;
use chain::{ChainError, Unready};
use strum::{EnumIter, IntoStaticStr};

/// An obstacle to new work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum NotReady {
    /// The chain was not seen since the start.
    Unseen,
    /// Its nodes do not answer, or not so that anything can be done.
    Nodes,
    /// The store that has the key does not sign.
    Key,
    /// The signing account cannot pay for an ordinary batch.
    GasMoney,
    /// The chain asks more than a configured ceiling.
    Fees,
    /// The newest block is too far from this machine's clock.
    Clock,
    /// Finality stands still (TRON).
    Finality,
    /// The journal cannot be used.
    Journal,
    /// The journal is an old copy, and what it has forgotten is being learnt.
    OldCopy,
    /// The account has transactions that the journal does not know.
    UnknownTransactions,
    /// Somebody else signs with the key now (TRON).
    KeyElsewhere,
    /// The contract does not let the account bill.
    Permission,
    /// Transactions fail too often, or the key may not sign alone (TRON).
    Brake,
    /// Something else: the sentence tells.
    Other,
}

impl NotReady {
    /// The word for it in metrics and answers.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Returns true if the obstacle may be about this machine alone: its way to the nodes or to the store of its
    /// key, or its clock.
    pub fn may_be_of_this_machine(self) -> bool {
        match self {
            Self::Unseen | Self::Nodes | Self::Key | Self::Clock => true,
            Self::GasMoney
            | Self::Fees
            | Self::Finality
            | Self::Journal
            | Self::OldCopy
            | Self::UnknownTransactions
            | Self::KeyElsewhere
            | Self::Permission
            | Self::Brake
            | Self::Other => false,
        }
    }

    /// Returns the reason for an error of a lane.
    pub(super) fn of_error(error: &LaneError) -> Self {
        match error {
            LaneError::Unseen => Self::Unseen,
            LaneError::Journal(_) => Self::Journal,
            LaneError::Chain(error) => Self::of_chain(error),
        }
    }

    /// Returns the obstacle on a chain that answers a billing with this error.
    pub fn of_chain(error: &ChainError) -> Self {
        match error {
            ChainError::Unavailable(_)
            | ChainError::Node { .. }
            | ChainError::Unready(
                Unready::TooFew { .. } | Unready::Parted(_) | Unready::Rewritten(_),
            ) => Self::Nodes,
            ChainError::GasFunds { .. } | ChainError::Unready(Unready::GasMoney(_)) => {
                Self::GasMoney
            }
            ChainError::FeeTooHigh(_) => Self::Fees,
            ChainError::Unready(Unready::Key { .. }) => Self::Key,
            ChainError::Unready(Unready::Permission { .. }) => Self::Permission,
            ChainError::Unready(Unready::Clock(_)) => Self::Clock,
            ChainError::Unready(Unready::Stalled(_)) => Self::Finality,
            ChainError::NoKey { .. }
            | ChainError::BatchTooLarge { .. }
            | ChainError::BatchTooSlow { .. }
            | ChainError::ChargeTooSlow(_)
            | ChainError::Stays(_)
            | ChainError::CallFails(_) => Self::Other,
        }
    }

    /// Returns the reason for a closed lane; none if the lane is meant to take nothing new.
    pub(super) fn of_closed(why: &Closed) -> Option<Self> {
        match why {
            Closed::OnlyFollows { .. } => None,
            Closed::OtherAccountUnseen { .. } => Some(Self::Nodes),
            Closed::OpenBatchesFirst
            | Closed::Reading { .. }
            | Closed::OtherAccountUnreconciled { .. } => Some(Self::OldCopy),
            Closed::Ahead { .. }
            | Closed::InPools { .. }
            | Closed::Opaque(_)
            | Closed::UsedUp { .. }
            | Closed::UnnamedTaker { .. }
            | Closed::UsedLater => Some(Self::UnknownTransactions),
            Closed::KeyElsewhere { .. } => Some(Self::KeyElsewhere),
            Closed::NotFinal { .. } => Some(Self::Finality),
            Closed::Halted(_) => Some(Self::Brake),
        }
    }
}
