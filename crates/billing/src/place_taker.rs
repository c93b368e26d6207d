//! The transaction that took the place of an open batch, as nodes name it or do not, look after look.

use super::{Foreign, Sighting, Unsettled};

/// The transaction that took the place of an open batch, as the looks so far tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlaceTaker {
    /// There is none, or its effect is known or on its way into a final block.
    #[default]
    Known,
    /// No node has told it yet. For a moment that is nothing: a node may tell that a nonce is used before it tells by
    /// what, and may fail between the two.
    Untold,
    /// No node names it for good: it may have charged anybody.
    Hidden,
}

impl PlaceTaker {
    /// Returns what is known after another look; as before where that look did not tell.
    #[must_use]
    pub fn after(self, sighting: &Sighting) -> Self {
        match sighting {
            Sighting::Absent(_)
            | Sighting::Included
            | Sighting::Final(..)
            | Sighting::Usurped(Foreign::Readable(_))
            | Sighting::Never(_)
            | Sighting::UsedUp(_) => Self::Known,
            Sighting::Usurped(Foreign::Opaque(_)) | Sighting::Unsettled(Unsettled::Disputed) => {
                Self::Hidden
            }
            Sighting::Unsettled(Unsettled::NoRecord | Unsettled::NoState) => match self {
                Self::Known | Self::Untold => Self::Untold,
                Self::Hidden => Self::Hidden,
            },
            Sighting::Unsettled(Unsettled::Late) | Sighting::Nothing => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlockRef, FeeStanding};
    use super::*;

    const UNTOLD: Sighting = Sighting::Unsettled(Unsettled::NoRecord);

    #[test]
    fn a_place_whose_taker_no_node_tells_is_untold_until_one_does() {
        let untold = PlaceTaker::Known.after(&UNTOLD);
        assert_eq!(untold, PlaceTaker::Untold);
        assert_eq!(untold.after(&UNTOLD), PlaceTaker::Untold);
        assert_eq!(untold.after(&Sighting::Nothing), PlaceTaker::Untold, "it taught nothing");
        assert_eq!(untold.after(&Sighting::Included), PlaceTaker::Known);
    }

    #[test]
    fn nodes_that_contradict_each_other_hide_it_at_once() {
        let disputed = Sighting::Unsettled(Unsettled::Disputed);
        assert_eq!(PlaceTaker::Known.after(&disputed), PlaceTaker::Hidden);
        assert_eq!(PlaceTaker::Untold.after(&disputed), PlaceTaker::Hidden);
        assert_eq!(PlaceTaker::Hidden.after(&UNTOLD), PlaceTaker::Hidden);
    }

    #[test]
    fn a_hidden_place_is_known_once_it_is_told() {
        for told in [
            Sighting::Absent(FeeStanding::Fair),
            Sighting::UsedUp(BlockRef { number: 7, time: 0, hash: None }),
        ] {
            assert_eq!(PlaceTaker::Hidden.after(&told), PlaceTaker::Known);
        }
        assert_eq!(PlaceTaker::Hidden.after(&Sighting::Nothing), PlaceTaker::Hidden);
    }
}
