//! Three books tell one story: the platform's list, the Signer's outcomes, the callbacks. Where two
//! of them differ for longer than they may, the difference gets a name.
//!
//! Pure: the differences as the books stand now and those known before go in; what changes comes out.

use super::rules::Patience;
use serde::Serialize;
use std::collections::BTreeMap;

/// How two books can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
    /// All kinds, in the order of the documentation.
    pub(crate) const ALL: [Self; 8] = [
        Self::ChargedWithoutCallback,
        Self::CallbackWithoutCharge,
        Self::OpenTooLong,
        Self::NoVerdict,
        Self::UnknownToTheSigner,
        Self::ListedButNotPosted,
        Self::ChargedButListed,
        Self::EndedButListed,
    ];

    /// The word for it in the store, in metrics and in the documentation.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ChargedWithoutCallback => "charged-without-callback",
            Self::CallbackWithoutCharge => "callback-without-charge",
            Self::OpenTooLong => "open-too-long",
            Self::NoVerdict => "no-verdict",
            Self::UnknownToTheSigner => "unknown-to-the-signer",
            Self::ListedButNotPosted => "listed-but-not-posted",
            Self::ChargedButListed => "charged-but-listed",
            Self::EndedButListed => "ended-but-listed",
        }
    }

    /// The kind that has this word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// How long it may last without a name.
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

/// What is kept of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) since_ms: i64,
    /// When it was named, if it was.
    pub(crate) named_ms: Option<i64>,
}

/// What changes in the record of differences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Seen for the first time. `since_ms` is when the books began to differ.
    Began { difference: Difference, since_ms: i64 },
    /// It has lasted too long: tell.
    Named { difference: Difference, since_ms: i64 },
    /// The books agree; `named` says whether anybody was told of it.
    Agreed { difference: Difference, named: bool },
}

/// Compares the differences of now (with when each began) to those known before.
pub(crate) fn compare(
    now: &BTreeMap<Difference, i64>,
    before: &BTreeMap<Difference, Known>,
    now_ms: i64,
    patience: &Patience,
) -> Vec<Change> {
    let mut changes = vec![];
    for (difference, began_ms) in now {
        let known = before.get(difference);
        let since_ms = known.map_or(*began_ms, |known| known.since_ms);
        if known.is_none() {
            changes.push(Change::Began { difference: difference.clone(), since_ms });
        }
        let named = known.is_some_and(|known| known.named_ms.is_some());
        let lasted_ms = now_ms.saturating_sub(since_ms);
        if !named && lasted_ms > difference.kind.patience_ms(patience) {
            changes.push(Change::Named { difference: difference.clone(), since_ms });
        }
    }
    let gone = before.iter().filter(|(difference, _)| !now.contains_key(difference));
    changes.extend(gone.map(|(difference, known)| Change::Agreed {
        difference: difference.clone(),
        named: known.named_ms.is_some(),
    }));
    changes
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests {
    use super::super::rules::Rules;
    use super::*;
    use proptest::prelude::*;

    fn difference(kind: usize, subject: u8) -> Difference {
        Difference { kind: Kind::ALL[kind], subject: subject.to_string() }
    }

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_word(kind.word()), Some(kind));
        }
    }

    proptest! {
        /// Whatever differs when, each difference is named exactly once, when it has lasted too
        /// long, and its end is told whenever its beginning was.
        #[test]
        fn a_difference_is_named_once_and_only_when_it_lasts(
            looks in prop::collection::vec((1..2_000_000_i64, prop::collection::btree_set((0..8_usize, 0..3_u8), 0..6)), 1..40),
        ) {
            let patience = Rules::default().patience;
            let mut known: BTreeMap<Difference, Known> = BTreeMap::new();
            let mut now_ms = 0;
            for (step, present) in looks {
                now_ms += step;
                let now: BTreeMap<Difference, i64> =
                    present.iter().map(|(kind, subject)| (difference(*kind, *subject), now_ms)).collect();
                for change in compare(&now, &known, now_ms, &patience) {
                    match change {
                        Change::Began { difference, since_ms } => {
                            let before = known.insert(difference, Known { since_ms, named_ms: None });
                            prop_assert!(before.is_none());
                        }
                        Change::Named { difference, since_ms } => {
                            prop_assert!(now_ms - since_ms > difference.kind.patience_ms(&patience));
                            let named = &mut known.get_mut(&difference).unwrap().named_ms;
                            prop_assert!(named.is_none());
                            *named = Some(now_ms);
                        }
                        Change::Agreed { difference, named } => {
                            let before = known.remove(&difference).unwrap();
                            prop_assert_eq!(named, before.named_ms.is_some());
                        }
                    }
                }
                prop_assert!(known.keys().eq(now.keys()));
                for (difference, known) in &known {
                    let lasts = now_ms - known.since_ms > difference.kind.patience_ms(&patience);
                    prop_assert_eq!(lasts, known.named_ms.is_some());
                }
            }
        }
    }
}
