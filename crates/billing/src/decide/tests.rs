use super::*;
use crate::{Attempts, BatchId, BatchState, ForeignEffect, ItemOutcome, Opaque, Signed};
use alloy::primitives::{Address, B256};
use proptest::prelude::*;

const REPLACE: Again = Again::Replace { after_ms: 30_000, most: 3, cancel_after_ms: None };
const RENEW: Again = Again::Renew { most: 2, within_ms: 600_000 };
/// Long ago, by every clock.
const LATER: Memory = Memory {
    since_offer_ms: 10_000_000,
    since_attempt_ms: 10_000_000,
    since_accepted_ms: 10_000_000,
    rejection: None,
    charged_elsewhere: false,
};
/// Just offered, for the first time.
const NOW: Memory = Memory {
    since_offer_ms: 0,
    since_attempt_ms: 0,
    since_accepted_ms: 0,
    rejection: None,
    charged_elsewhere: false,
};

fn rules(again: Again) -> Rules {
    Rules { offer_again_ms: 10_000, again, protection: Protection::Nonce }
}

fn slot(kinds: &[AttemptKind]) -> Slot {
    let attempt = |(seq, kind): (usize, &AttemptKind)| Attempt {
        batch: BatchId(1),
        seq: u32::try_from(seq).unwrap(),
        kind: *kind,
        signed: Signed {
            hash: B256::repeat_byte(u8::try_from(seq).unwrap()),
            raw: vec![],
            gas_required: 0,
        },
    };
    let attempts = Attempts::from_oldest(kinds.iter().enumerate().map(attempt)).unwrap();
    let contract = Address::ZERO;
    Slot {
        batch: BatchId(1),
        position: 7,
        contract,
        profile: "".into(),
        accepted_ms: 0,
        items: vec![],
        attempts,
    }
}

fn bills(count: usize) -> Slot {
    slot(&vec![AttemptKind::Bill; count])
}

fn landed(hash: u8) -> Landed {
    let block = BlockRef { number: 1, time: 1, hash: None };
    Landed { hash: B256::repeat_byte(hash), block, record: None }
}

fn won(hash: u8) -> Sighting {
    Sighting::Final(landed(hash), Execution::Succeeded(vec![]))
}

fn usurped(effect: Result<ForeignEffect, Opaque>) -> Sighting {
    Sighting::Usurped(Foreign::new(7, landed(9), effect))
}

fn state_after(slot: &Slot, sighting: Sighting) -> Option<BatchState> {
    match next_step(slot, sighting, LATER, rules(REPLACE)) {
        Step::Settle(verdict) => Some(verdict.state()),
        Step::Wait | Step::OfferAgain | Step::SignAgain(_) | Step::Renew(_) | Step::Alarm(_) => {
            None
        }
    }
}

#[test]
fn a_batch_ends_by_the_transaction_that_took_its_place() {
    let slot = slot(&[AttemptKind::Bill, AttemptKind::Cancel]);
    assert_eq!(state_after(&slot, won(0)), Some(BatchState::Charged));
    let reverted = Sighting::Final(landed(0), Execution::Reverted);
    assert_eq!(state_after(&slot, reverted), Some(BatchState::Reverted));
    assert_eq!(state_after(&slot, won(1)), Some(BatchState::Cancelled));
    assert_eq!(state_after(&slot, won(9)), None, "another's transaction is no winner");
}

#[test]
fn a_stranger_that_is_understood_ends_a_batch() {
    let after = |effect| state_after(&bills(1), usurped(effect));
    assert_eq!(after(Ok(ForeignEffect::Other)), Some(BatchState::Usurped));
    let execution = Execution::Succeeded(vec![ItemOutcome::Charged]);
    let billed = ForeignEffect::Billed { contract: Address::ZERO, items: vec![], execution };
    assert_eq!(after(Ok(billed)), Some(BatchState::Usurped));
    assert_eq!(after(Err(Opaque)), None, "it may have charged the very same");
}

#[test]
fn a_batch_whose_place_no_transaction_took_ends_without_a_word_on_whom_that_charged() {
    let block = BlockRef { number: 9, time: 90, hash: None };
    let step = next_step(&bills(1), Sighting::UsedUp(block), LATER, rules(REPLACE));
    assert_eq!(step, Step::Settle(Verdict::UsedUp(block)));
    let verdict = Verdict::UsedUp(block);
    assert_eq!((verdict.state(), verdict.hash()), (BatchState::Usurped, None));
    assert_eq!(verdict.outcomes(), []);
}

#[test]
fn the_same_bytes_go_out_again_while_absent() {
    let step = |age| {
        let memory = Memory { since_offer_ms: age, ..NOW };
        next_step(&bills(1), Sighting::Absent(FeeStanding::Fair), memory, rules(REPLACE))
    };
    assert_eq!(step(9_999), Step::Wait);
    assert_eq!(step(10_000), Step::OfferAgain);
}

#[test]
fn one_that_bids_too_little_is_replaced_later_and_later_and_not_for_ever() {
    let step = |made, age| {
        let memory = Memory { since_attempt_ms: age, ..NOW };
        next_step(&bills(made), Sighting::Absent(FeeStanding::Underpriced), memory, rules(REPLACE))
    };
    assert_eq!(step(1, 29_999), Step::Wait);
    assert_eq!(step(1, 30_000), Step::SignAgain(AttemptKind::Bill));
    assert_eq!(step(2, 59_999), Step::Wait);
    assert_eq!(step(2, 60_000), Step::SignAgain(AttemptKind::Bill));
    assert_eq!(step(3, u64::MAX), Step::Wait);
}

#[test]
fn what_a_node_objects_to_counts_as_well() {
    let step = |kinds: &[AttemptKind], rejection| {
        let memory = Memory { rejection: Some(rejection), since_offer_ms: 0, ..LATER };
        next_step(&slot(kinds), Sighting::Absent(FeeStanding::Fair), memory, rules(REPLACE))
    };
    let bill = [AttemptKind::Bill];
    assert_eq!(step(&bill, NodeRejection::Underpriced), Step::SignAgain(AttemptKind::Bill));
    assert_eq!(step(&bill, NodeRejection::Structural), Step::SignAgain(AttemptKind::Cancel));
    let given_up = [AttemptKind::Bill, AttemptKind::Cancel];
    assert_eq!(step(&given_up, NodeRejection::Structural), Step::SignAgain(AttemptKind::Cancel));
    assert_eq!(step(&given_up, NodeRejection::Underpriced), Step::SignAgain(AttemptKind::Cancel));
    for other in [
        NodeRejection::NonceTaken,
        NodeRejection::Replaced,
        NodeRejection::Gap,
        NodeRejection::Busy,
    ] {
        assert_eq!(step(&bill, other), Step::Wait, "{other:?}");
    }
    let rules = rules(Again::Never);
    let memory = Memory { rejection: Some(NodeRejection::Structural), ..LATER };
    let step = next_step(&bills(1), Sighting::Absent(FeeStanding::Underpriced), memory, rules);
    assert_eq!(step, Step::OfferAgain, "replacement is off");
}

#[test]
fn the_newest_billing_is_the_last_that_bills() {
    let [bill, cancel] = [AttemptKind::Bill, AttemptKind::Cancel];
    for (kinds, seq) in [(&[bill][..], 0), (&[bill, bill, cancel, cancel], 1), (&[cancel], 0)] {
        assert_eq!(slot(kinds).attempts.newest_billing().seq, seq, "{kinds:?}");
    }
}

#[test]
fn a_batch_is_given_up_only_where_that_is_configured() {
    let again = Again::Replace { after_ms: 1, most: 9, cancel_after_ms: Some(5_000) };
    let step = |age| {
        let memory = Memory { since_accepted_ms: age, ..NOW };
        next_step(&bills(1), Sighting::Absent(FeeStanding::Fair), memory, rules(again))
    };
    assert_eq!(step(4_999), Step::Wait);
    assert_eq!(step(5_000), Step::SignAgain(AttemptKind::Cancel));
}

#[test]
fn only_a_dead_one_is_renewed_and_at_last_the_charge_is_released() {
    let block = BlockRef { number: 5, time: 50, hash: None };
    let step = |made, age| {
        let memory = Memory { since_accepted_ms: age, ..NOW };
        next_step(&bills(made), Sighting::Never(block), memory, rules(RENEW))
    };
    let expired = Verdict::Expired(block);
    assert_eq!(step(1, 600_000), Step::Renew(expired.clone()));
    assert_eq!(step(1, 600_001), Step::Settle(expired.clone()));
    assert_eq!(step(2, 0), Step::Settle(expired));
    let absent =
        next_step(&bills(1), Sighting::Absent(FeeStanding::Underpriced), LATER, rules(RENEW));
    assert_eq!(absent, Step::OfferAgain, "nothing takes its place while it can land");
}

fn any_again() -> impl Strategy<Value = Again> {
    prop_oneof![
        Just(Again::Never),
        Just(Again::OnlyCancel),
        (any::<u64>(), 0..9_usize, any::<Option<u64>>()).prop_map(|(after_ms, most, cancel)| {
            Again::Replace { after_ms, most, cancel_after_ms: cancel }
        }),
        (0..9_usize, any::<u64>()).prop_map(|(most, within_ms)| Again::Renew { most, within_ms }),
    ]
}

fn any_rejection() -> impl Strategy<Value = Option<NodeRejection>> {
    proptest::option::of(prop_oneof![
        Just(NodeRejection::NonceTaken),
        Just(NodeRejection::Replaced),
        Just(NodeRejection::Underpriced),
        Just(NodeRejection::Starved),
        Just(NodeRejection::Gap),
        Just(NodeRejection::Busy),
        Just(NodeRejection::Policy),
        Just(NodeRejection::Structural),
        Just(NodeRejection::Reverts),
    ])
}

proptest! {
    #[test]
    fn nothing_but_proof_ends_a_batch_and_nothing_but_proof_frees_a_renewed_charge(
        ages: [u64; 3], rejection in any_rejection(), again in any_again(), which in 0..6_u8,
        made in 1..9_usize,
    ) {
        let sighting = match which {
            0 => Sighting::Absent(FeeStanding::Fair),
            1 => Sighting::Absent(FeeStanding::Underpriced),
            2 => Sighting::Absent(FeeStanding::Starved),
            3 => Sighting::Included,
            4 => Sighting::Unsettled(Unsettled::NoRecord),
            _ => Sighting::Nothing,
        };
        let memory = Memory {
            charged_elsewhere: false,
            since_offer_ms: ages[0],
            since_attempt_ms: ages[1],
            since_accepted_ms: ages[2],
            rejection,
        };
        let step = next_step(&bills(made), sighting, memory, rules(again));
        prop_assert!(!matches!(step, Step::Settle(_) | Step::Renew(_)));
        if !matches!(again, Again::Replace { .. }) {
            prop_assert!(!matches!(step, Step::SignAgain(_)), "both could land");
        }
    }
}

#[test]
fn what_one_node_alone_shows_in_a_block_is_offered_on_and_never_replaced() {
    let again = Again::Replace { after_ms: 0, most: 9, cancel_after_ms: Some(0) };
    let shown = Sighting::Absent(FeeStanding::Shown);
    let memory = Memory { rejection: Some(NodeRejection::Underpriced), ..LATER };
    assert_eq!(next_step(&bills(1), shown.clone(), memory, rules(again)), Step::OfferAgain);
    assert_eq!(next_step(&bills(1), shown, NOW, rules(again)), Step::Wait);
}

#[test]
fn while_something_may_be_forgotten_nothing_is_renewed_or_offered_where_no_nonce_protects_it() {
    let renew = Again::Renew { most: 2, within_ms: 1 };
    let free = Rules { offer_again_ms: 1, again: renew, protection: Protection::Free };
    let absent = |rules| next_step(&bills(1), Sighting::Absent(FeeStanding::Fair), LATER, rules);
    assert_eq!(absent(free), Step::OfferAgain);
    assert_eq!(absent(free.until_all_is_known()), Step::Wait);
    assert_eq!(free.until_all_is_known().again, Again::Never);
    let nonce = Rules { protection: Protection::Nonce, ..free };
    assert_eq!(nonce.until_all_is_known(), nonce);
    let beside = nonce.until_other_accounts_are_known();
    assert_eq!((absent(beside), beside.again), (Step::Wait, Again::Never));
}

#[test]
fn what_was_charged_elsewhere_is_cancelled_or_left_to_expire() {
    let learnt = Memory { charged_elsewhere: true, ..NOW };
    let absent = || Sighting::Absent(FeeStanding::Fair);
    let replaced = rules(REPLACE);
    let cancel = Step::SignAgain(AttemptKind::Cancel);
    assert_eq!(next_step(&bills(1), absent(), learnt, replaced), cancel);
    let given_up = slot(&[AttemptKind::Bill, AttemptKind::Cancel]);
    let later = Memory { charged_elsewhere: true, ..LATER };
    assert_eq!(next_step(&given_up, absent(), later, replaced), Step::OfferAgain, "the cancel");
    let never = rules(Again::Never);
    assert_eq!(next_step(&bills(1), absent(), later, never), Step::Wait, "no key cancels it");
    let only_cancel = rules(Again::OnlyCancel);
    assert_eq!(next_step(&bills(1), absent(), learnt, only_cancel), cancel);
    assert_eq!(next_step(&given_up, absent(), later, only_cancel), Step::OfferAgain, "it is once");
    assert_eq!(next_step(&bills(1), absent(), LATER, only_cancel), Step::OfferAgain);
    let free = Rules { protection: Protection::Free, ..rules(RENEW) };
    assert_eq!(next_step(&bills(1), absent(), later, free), Step::Wait);
    let dead = BlockRef { number: 9, time: 9, hash: None };
    let ended = next_step(&bills(1), Sighting::Never(dead), learnt, free);
    assert_eq!(ended, Step::Settle(Verdict::Expired(dead)));
    let renewed = next_step(&bills(1), Sighting::Never(dead), NOW, free);
    assert_eq!(renewed, Step::Renew(Verdict::Expired(dead)));
}
