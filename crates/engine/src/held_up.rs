//! The hindrances that keep an open batch from landing, as far as is known.

use super::verdict::NoVerdict;
use billing::{FeeStanding, Foreign, NodeRejection, Sighting, Unsettled};
use chain::ChainError;
use std::fmt;

/// Why no other attempt could be signed for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SigningFailure {
    /// The account cannot pay for it.
    NoMoney,
    /// For a reason that passes by itself, or that is told elsewhere.
    Otherwise,
}

impl SigningFailure {
    /// Classifies a failure to sign.
    pub(super) fn of(why: &NoVerdict) -> Self {
        let broke = matches!(why, NoVerdict::Chain(ChainError::GasFunds { .. }));
        if broke { Self::NoMoney } else { Self::Otherwise }
    }
}

/// The reason that a batch does not land, for its merchant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldUp {
    /// The account cannot pay for it.
    Starved,
    /// Too few nodes show the block that it is in.
    Shown,
    /// It bids less than the chain asks.
    Underpriced,
    /// No node can take its bytes.
    Structural,
    /// Its nodes do not take such transactions.
    Policy,
    /// It would revert.
    Reverts,
    /// A transaction that nobody can read took its place.
    Unidentified,
    /// It is in a final block, and nothing can be concluded.
    Unsettled(Unsettled),
}

impl HeldUp {
    /// Returns the hindrance known after a look at the chain, the last offer, and the last try to sign another
    /// attempt.
    pub(super) fn of(
        sighting: &Sighting,
        rejection: Option<NodeRejection>,
        unsigned: Option<SigningFailure>,
    ) -> Option<Self> {
        if let (Sighting::Never(_), Some(SigningFailure::NoMoney)) = (sighting, unsigned) {
            return Some(Self::Starved);
        }
        match sighting {
            Sighting::Absent(standing) => Self::absent(*standing, rejection),
            Sighting::Usurped(Foreign::Opaque(_)) => Some(Self::Unidentified),
            Sighting::Unsettled(why) => Some(Self::Unsettled(*why)),
            Sighting::Included
            | Sighting::Final(..)
            | Sighting::Usurped(Foreign::Readable(_))
            | Sighting::UsedUp(_)
            | Sighting::Never(_)
            | Sighting::Nothing => None,
        }
    }

    fn absent(standing: FeeStanding, rejection: Option<NodeRejection>) -> Option<Self> {
        match (standing, rejection) {
            (FeeStanding::Late, _) | (_, Some(NodeRejection::Late)) => {
                Some(Self::Unsettled(Unsettled::Late))
            }
            (FeeStanding::Starved, _) | (_, Some(NodeRejection::Starved)) => Some(Self::Starved),
            (FeeStanding::Shown, _) => Some(Self::Shown),
            (FeeStanding::Underpriced, _) | (_, Some(NodeRejection::Underpriced)) => {
                Some(Self::Underpriced)
            }
            (FeeStanding::Fair, Some(NodeRejection::Structural)) => Some(Self::Structural),
            (FeeStanding::Fair, Some(NodeRejection::Policy)) => Some(Self::Policy),
            (FeeStanding::Fair, Some(NodeRejection::Reverts)) => Some(Self::Reverts),
            (
                FeeStanding::Fair,
                None
                | Some(
                    NodeRejection::NonceTaken
                    | NodeRejection::Replaced
                    | NodeRejection::Gap
                    | NodeRejection::Busy,
                ),
            ) => None,
        }
    }

    /// The sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Starved => "the signing account cannot pay for it: top it up",
            Self::Shown => "a node shows it in a block, and too few others do: see nodes",
            Self::Underpriced => "it bids less than the chain asks now",
            Self::Structural => "the nodes say that its bytes can never be taken",
            Self::Policy => "the nodes do not take transactions of this kind: use other nodes",
            Self::Reverts => "it would revert now",
            Self::Unidentified => {
                "it is not known whom the transaction that took its place charged"
            }
            Self::Unsettled(why) => why.sentence(),
        }
    }
}

impl fmt::Display for HeldUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}
