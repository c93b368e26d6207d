//! The counts of one lane since the start, for machines. Nothing is decided by them, and the journal knows all of
//! it better.

use alloy::primitives::U256;
use billing::{AttemptKind, BatchState, FailCode, Item, ItemOutcome, Verdict};
use std::collections::BTreeMap;
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

/// The label for a reason that has nothing to add.
const NONE: &str = "none";

/// The ends of charges: the words of states that a charge can end in, but for `failed`, which has a reason.
const ENDS: [&str; 7] =
    ["charged", "charged_otherwise", "unproven", "reverted", "cancelled", "usurped", "expired"];

/// Another transaction that was signed for an open batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SignedAgain {
    /// It bids more on the same place.
    Replacement,
    /// It uses the place up and charges nobody.
    Cancel,
    /// Those before it are proven dead.
    Renewal,
}

impl SignedAgain {
    /// The word for it in metrics.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Classifies an attempt that takes the place of one that may still land.
    pub(super) fn of(kind: AttemptKind) -> Self {
        match kind {
            AttemptKind::Bill => Self::Replacement,
            AttemptKind::Cancel => Self::Cancel,
        }
    }
}

/// The counts. Every set of labels that there can be is in them from the start.
#[derive(Clone, Debug)]
pub struct LaneCounts {
    /// Batches that were accepted.
    pub accepted: u64,
    /// The charges in them.
    pub charges_accepted: u64,
    /// When the newest batch was accepted, by this process or one before it, Unix ms.
    pub accepted_ms: Option<i64>,
    /// Batches that ended, by the word for how.
    pub ended: BTreeMap<&'static str, u64>,
    /// Charges that ended, by the word for how and the reason (`none`, or a `failCode`).
    pub charges: BTreeMap<(&'static str, &'static str), u64>,
    /// The cost of transactions in final blocks, wei or sun, by the word for how their batch ended.
    pub fees: BTreeMap<&'static str, U256>,
    /// Further transactions for open batches.
    pub signed_again: BTreeMap<SignedAgain, u64>,
}

impl Default for LaneCounts {
    fn default() -> Self {
        let ended = || {
            let states = BatchState::iter().filter(|state| *state != BatchState::Open);
            states.map(BatchState::word)
        };
        let failed = FailCode::iter().map(|code| ("failed", code.token()));
        Self {
            accepted: 0,
            charges_accepted: 0,
            accepted_ms: None,
            ended: ended().map(|word| (word, 0)).collect(),
            charges: ENDS
                .map(|word| (word, NONE))
                .into_iter()
                .chain(failed)
                .map(|at| (at, 0))
                .collect(),
            fees: ended().map(|word| (word, U256::ZERO)).collect(),
            signed_again: SignedAgain::iter().map(|kind| (kind, 0)).collect(),
        }
    }
}

impl LaneCounts {
    /// A batch of so many charges was accepted, at this time (Unix ms).
    pub(super) fn accepted(&mut self, charges: usize, at_ms: i64) {
        self.accepted_ms = Some(at_ms);
        let charges = u64::try_from(charges).unwrap_or(u64::MAX);
        self.charges_accepted = self.charges_accepted.saturating_add(charges);
        self.accepted = self.accepted.saturating_add(1);
    }

    /// Another transaction was signed for a batch.
    pub(super) fn signed_again(&mut self, kind: SignedAgain) {
        let count = self.signed_again.entry(kind).or_default();
        *count = count.saturating_add(1);
    }

    /// A batch of these charges ended.
    pub(super) fn ended(&mut self, verdict: &Verdict, items: &[Item]) {
        let word = verdict.state().word();
        let count = self.ended.entry(word).or_default();
        *count = count.saturating_add(1);
        if let Some(record) = verdict.landed().and_then(|landed| landed.record.as_ref())
            && verdict.state() != BatchState::Usurped
        {
            let sum = self.fees.entry(word).or_default();
            *sum = sum.saturating_add(record.fee);
        }
        let charges = u64::try_from(items.len()).unwrap_or(u64::MAX);
        match verdict {
            Verdict::Charged(_, outcomes) => {
                for (item, outcome) in items.iter().zip(outcomes) {
                    self.charge(end_of(item, outcome), 1);
                }
            }
            Verdict::Reverted(_)
            | Verdict::Cancelled(_)
            | Verdict::Usurped(_)
            | Verdict::Expired(_) => {
                self.charge((word, NONE), charges);
            }
            Verdict::UsedUp(_) => {
                self.charge(("unproven", NONE), charges);
            }
        }
    }

    fn charge(&mut self, end: (&'static str, &'static str), more: u64) {
        let count = self.charges.entry(end).or_default();
        *count = count.saturating_add(more);
    }
}

fn end_of(item: &Item, outcome: &ItemOutcome) -> (&'static str, &'static str) {
    match outcome {
        ItemOutcome::Charged | ItemOutcome::ChargedAsTold(_) => {
            let as_claimed = outcome.taken_otherwise(item).is_claimed();
            (if as_claimed { "charged" } else { "charged_otherwise" }, NONE)
        }
        ItemOutcome::Failed { code, .. } => ("failed", code.token()),
        ItemOutcome::Unproven => ("unproven", NONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::{Address, B256};
    use billing::{
        BlockRef, CallEnding, ChargeKey, ChargeTerms, Landed, Period, PlanId, SubscribeId,
        TakenAsTold, TxRecord, UserHash,
    };

    #[test]
    fn every_end_was_there_before_it_happened() {
        let before = LaneCounts::default();
        let mut counts = before.clone();
        let block = BlockRef { number: 1, time: 2, hash: None };
        let (key, terms) = (
            ChargeKey { plan: PlanId(1), user: UserHash(B256::ZERO), period: Period::Guarded },
            ChargeTerms::default(),
        );
        let item = Item { subscribe: SubscribeId(1), key, amount: U256::from(5), terms };
        counts.ended(&Verdict::Expired(block), &[item; 3]);
        for code in FailCode::iter() {
            counts.charge(end_of(&item, &ItemOutcome::Failed { code, detail: None }), 1);
        }
        counts.charge(end_of(&item, &ItemOutcome::Charged), 1);
        counts.charge(end_of(&item, &ItemOutcome::Unproven), 1);
        // The event adds the wallet that the claim does not name, which is nothing else than was claimed.
        let wallet = Some(Address::ZERO);
        let told = ItemOutcome::ChargedAsTold(TakenAsTold { wallet, ..TakenAsTold::default() });
        let named =
            Item { terms: ChargeTerms { wallet: Some(Address::repeat_byte(1)), ..terms }, ..item };
        counts.charge(end_of(&item, &told), 1);
        counts.charge(end_of(&named, &told), 1);
        assert_eq!(counts.charges.get(&("charged", NONE)), Some(&2));
        assert_eq!(counts.charges.get(&("charged_otherwise", NONE)), Some(&1));
        assert_eq!(counts.charges.get(&("expired", NONE)), Some(&3));
        assert_eq!(counts.ended.get("expired"), Some(&1));
        let record =
            TxRecord { ending: CallEnding::Revert, message: None, used: 1, fee: U256::from(7) };
        let landed = Landed { hash: B256::ZERO, block, record: Some(record) };
        counts.ended(&Verdict::Reverted(landed), &[item; 2]);
        assert_eq!(counts.fees.get("reverted"), Some(&U256::from(7)));
        assert_eq!(counts.charges.get(&("reverted", NONE)), Some(&2));
        assert!(counts.charges.keys().eq(before.charges.keys()), "{counts:?}");
        assert!(counts.ended.keys().eq(before.ended.keys()), "{counts:?}");
    }
}
