//! Three books tell one story: the platform's list, the Signer's outcomes, the callbacks. If two of them differ for
//! longer than they may, the difference gets a name.
//!
//! Pure: the differences that have lasted too long and those that have a name go in; what changes comes out.

use super::rules::Patience;
use serde::Serialize;
use std::collections::BTreeMap;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// A kind of difference between two books.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    EnumIter,
    IntoStaticStr,
    EnumString,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "camelCase")]
pub(crate) enum Kind {
    /// A final block charged it, and no callback says so.
    ChargedWithoutCallback,
    /// A callback says that it was charged, and the Signer knows no such charge.
    CallbackWithoutCharge,
    /// A transaction is neither final nor dead.
    OpenTooLong,
    /// A batch was planned and has no verdict.
    NoVerdict,
    /// The Signer answered with a transaction that it does not know any more.
    UnknownToTheSigner,
    /// The platform lists it, and it was neither posted nor held for a reason.
    ListedButNotPosted,
    /// Charged, and listed with the same terms still.
    ChargedButListed,
    /// Ended on chain, and listed still.
    EndedButListed,
}

impl Kind {
    /// The word for it in the store, in metrics and in the documentation.
    pub(crate) fn word(self) -> &'static str {
        self.into()
    }

    /// The kind that has this word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    /// Returns the time for which a difference of this kind may last without a name.
    pub(crate) fn patience_ms(self, patience: &Patience) -> i64 {
        match self {
            Self::ChargedWithoutCallback => patience.callback,
            Self::CallbackWithoutCharge => patience.outcome,
            Self::OpenTooLong => patience.open,
            Self::NoVerdict | Self::UnknownToTheSigner => patience.verdict,
            Self::ListedButNotPosted => patience.unposted,
            Self::ChargedButListed | Self::EndedButListed => patience.listed,
        }
    }
}

/// Which difference, about what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Difference {
    pub(crate) kind: Kind,
    /// Such as `139/41` (chain and subscription) or a request id.
    pub(crate) subject: String,
}

/// A change in the record of differences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It has lasted too long: tell. `since_ms` is when the books began to differ.
    Named { difference: Difference, since_ms: i64 },
    /// The books agree about what was named.
    Agreed { difference: Difference },
}

/// Compares the differences that have lasted too long by now to those that have a name, each with when it
/// began.
pub(crate) fn compare(
    now: &BTreeMap<Difference, i64>,
    named: &BTreeMap<Difference, i64>,
) -> Vec<Change> {
    let new = now.iter().filter(|(difference, _)| !named.contains_key(difference));
    let gone = named.keys().filter(|difference| !now.contains_key(difference));
    let name = |(difference, since_ms): (&Difference, &i64)| Change::Named {
        difference: difference.clone(),
        since_ms: *since_ms,
    };
    let agree = |difference: &Difference| Change::Agreed { difference: difference.clone() };
    new.map(name).chain(gone.map(agree)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strum::IntoEnumIterator;

    proptest! {
        /// For any sequence of differences, each difference is named exactly once, and its end is told whenever its
        /// beginning was.
        #[test]
        fn a_difference_is_named_once_and_so_is_its_end(
            looks in prop::collection::vec(prop::collection::btree_set((0..8_usize, 0..3_u8), 0..6), 1..40),
        ) {
            let mut named = BTreeMap::new();
            for present in looks {
                let difference = |(kind, subject): &(usize, u8)| {
                    let kind = Kind::iter().nth(*kind).unwrap();
                    (Difference { kind, subject: subject.to_string() }, 7)
                };
                let now: BTreeMap<Difference, i64> = present.iter().map(difference).collect();
                for change in compare(&now, &named) {
                    match change {
                        Change::Named { difference, since_ms } => {
                            prop_assert!(named.insert(difference, since_ms).is_none());
                        }
                        Change::Agreed { difference } => {
                            prop_assert!(named.remove(&difference).is_some());
                        }
                    }
                }
                prop_assert_eq!(&named, &now);
            }
        }
    }
}
