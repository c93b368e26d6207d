use super::*;
use alloy::primitives::{B256, Bytes, LogData, U256, keccak256};
use billing::{
    Attempt, AttemptKind, Attempts, BatchId, ChargeKey, ChargeTerms, Execution, FailCode, Period,
    PlanId, Signed, SubscribeId, UserHash,
};
use config::BillingConfig;
use std::time::Duration;

const CONTRACT: Address = Address::repeat_byte(7);
const COLLECT: &str = "collect(uint64 subscribeId, uint64 planId, bytes32 userHash)";
const TAKE: &str = "take(uint64 subscribeId, uint64 planId, bytes32 userHash)";

/// Calls `call`, and hears of charges by `charged` and of failures by `skipped`.
fn profile(call: &str, charged: &str, skipped: &str) -> Arc<Profile> {
    let event = |name| Some(format!("event {name}(uint64 subscribeId)"));
    let config = BillingConfig {
        call: call.to_owned(),
        lookup: None,
        charged: event(charged),
        skipped: event(skipped),
        constants: [("amount".to_owned(), "9".to_owned())].into(),
        reasons: [].into(),
        period: None,
        deadline: Duration::from_mins(1),
        guard: Duration::from_mins(1),
    };
    Arc::new(Profile::parse(&config, Family::Evm).unwrap())
}

/// Its contract says nothing when it charges.
fn silent() -> Arc<Profile> {
    let telling = profile(COLLECT, "Paid", "Short");
    let mut written: serde_json::Value = serde_json::from_str(telling.written()).unwrap();
    written["charged"].take();
    written["skipped"].take();
    Arc::new(Profile::read(&written.to_string(), Family::Evm).unwrap())
}

fn known(now: &Arc<Profile>, earlier: &[&str]) -> KnownProfiles {
    let known = KnownProfiles::of(Family::Evm, CONTRACT, Arc::clone(now));
    known.remember(earlier.iter().map(|text| (CONTRACT, (*text).into())).collect());
    known
}

fn item() -> Item {
    let user = UserHash(B256::repeat_byte(1));
    let key = ChargeKey { plan: PlanId(3), user, period: Period::Guarded };
    let (subscribe, terms) = (SubscribeId(5), ChargeTerms::default());
    Item { subscribe, key, amount: U256::from(9), terms }
}

fn calldata(call: &str) -> Vec<u8> {
    let types = call.replace(" subscribeId", "").replace(" planId", "").replace(" userHash", "");
    let selector = keccak256(types.replace(", ", ","))[..4].to_vec();
    let words = [U256::from(5).into(), U256::from(3).into(), B256::repeat_byte(1)];
    [selector, words.concat()].concat()
}

/// The contract says `name` of subscription 5.
fn log(name: &str) -> Log {
    let topic = keccak256(format!("{name}(uint64)"));
    let data = Bytes::from(U256::from(5).to_be_bytes::<32>());
    Log { address: CONTRACT, data: LogData::new_unchecked(vec![topic], data) }
}

fn slot(profile: &str) -> Slot {
    let signed = Signed { hash: B256::ZERO, raw: vec![], gas_required: 1 };
    let attempt = Attempt { batch: BatchId(1), seq: 0, kind: AttemptKind::Bill, signed };
    Slot {
        batch: BatchId(1),
        position: 0,
        contract: CONTRACT,
        profile: profile.into(),
        accepted_ms: 0,
        items: vec![item()],
        attempts: Attempts::new(attempt),
    }
}

#[test]
fn a_batch_is_read_by_the_events_that_it_was_signed_for() {
    let (then, now) = (profile(COLLECT, "Paid", "Short"), profile(COLLECT, "Short", "Paid"));
    let known = known(&now, &[]);
    let failed = ItemOutcome::Failed { code: FailCode::CallReverted, detail: None };
    assert_eq!(known.outcomes(&slot(then.written()), &[log("Paid")]), [ItemOutcome::Charged]);
    assert_eq!(
        known.outcomes(&slot(then.written()), &[log("Short")]),
        std::slice::from_ref(&failed)
    );
    assert_eq!(known.outcomes(&slot(now.written()), &[log("Paid")]), [failed]);
    assert_eq!(known.outcomes(&slot("{}"), &[log("Paid")]), [ItemOutcome::Unproven]);
    assert!(matches!(known.needed(&slot("{}")), Err(ChainError::Stays(_))));
}

fn effect(known: &KnownProfiles, call: &str, told: &str) -> Result<ForeignEffect, Opaque> {
    let data = calldata(call);
    known.effect(
        None::<&Slot>,
        FinalTx { call: Some((CONTRACT, &data)), succeeded: true, logs: &[log(told)] },
    )
}

fn billed(outcome: ItemOutcome) -> ForeignEffect {
    let execution = Execution::Succeeded(vec![outcome]);
    ForeignEffect::Billed { contract: CONTRACT, items: vec![item()], execution }
}

#[test]
fn what_nobody_remembers_is_read_by_every_profile_that_there_was() {
    let (then, now) = (profile(COLLECT, "Paid", "Short"), profile(TAKE, "Taken", "Spared"));
    let forgetful = known(&now, &[]);
    assert_eq!(effect(&forgetful, COLLECT, "Paid"), Ok(ForeignEffect::Other), "nothing is known");
    let known_both = known(&now, &[then.written()]);
    assert_eq!(effect(&known_both, COLLECT, "Paid"), Ok(billed(ItemOutcome::Charged)));
    assert_eq!(effect(&known_both, TAKE, "Taken"), Ok(billed(ItemOutcome::Charged)));
    assert_eq!(known_both.charged_by(CONTRACT, &calldata(COLLECT)), Some(vec![item()]));
    assert_eq!(known_both.charged_by(CONTRACT, &[1, 2, 3, 4]), None);
    let unreadable = known(&now, &["{}"]);
    assert_eq!(effect(&unreadable, COLLECT, "Paid"), Err(Opaque));
    assert_eq!(effect(&unreadable, TAKE, "Taken"), Ok(billed(ItemOutcome::Charged)));
    let elsewhere = unreadable.effect(
        None::<&Slot>,
        FinalTx { call: Some((Address::ZERO, &[])), succeeded: true, logs: &[] },
    );
    assert_eq!(elsewhere, Ok(ForeignEffect::Other));
}

/// A journal that was put back may be from before or after the contract was changed, more than once.
#[test]
fn what_nobody_remembers_may_have_called_any_contract_that_there_was() {
    let now = profile(COLLECT, "Paid", "Short");
    let (earlier, data) = (Address::repeat_byte(9), calldata(COLLECT));
    let known = known(&now, &[]);
    let did = |logs: &[Log]| {
        known.effect(None::<&Slot>, FinalTx { call: Some((earlier, &data)), succeeded: true, logs })
    };
    let paid = Log { address: earlier, ..log("Paid") };
    assert_eq!(did(std::slice::from_ref(&paid)), Ok(ForeignEffect::Other), "nothing is known");
    known.remember(vec![(earlier, Arc::clone(now.written()))]);
    let (items, execution) = (vec![item()], Execution::Succeeded(vec![ItemOutcome::Charged]));
    let billed = ForeignEffect::Billed { contract: earlier, items, execution };
    assert_eq!(did(std::slice::from_ref(&paid)), Ok(billed));
    assert_eq!(did(&[paid, log("Paid")]), Err(Opaque), "it charged through both");
    assert!(known.bills_through(earlier) && known.bills_through(CONTRACT));
    assert!(!known.bills_through(Address::ZERO));
}

#[test]
fn what_a_silent_contract_did_through_another_one_is_not_known() {
    let (elsewhere, data) = (Address::repeat_byte(9), calldata(COLLECT));
    let (silent, telling) = (known(&silent(), &[]), known(&profile(COLLECT, "Paid", "Short"), &[]));
    let did = |known: &KnownProfiles, data: &[u8], succeeded: bool| {
        known.effect(None::<&Slot>, FinalTx { call: Some((elsewhere, data)), succeeded, logs: &[] })
    };
    assert_eq!(did(&silent, &data, true), Err(Opaque));
    assert_eq!(
        silent.effect(None::<&Slot>, FinalTx { call: None, succeeded: true, logs: &[] }),
        Err(Opaque),
        "it made a contract"
    );
    assert_eq!(did(&silent, &data, false), Ok(ForeignEffect::Other), "it reverted");
    assert_eq!(did(&silent, &[], true), Ok(ForeignEffect::Other), "it sent coins");
    assert_eq!(did(&telling, &data, true), Ok(ForeignEffect::Other), "it would have said so");
}

/// Its claims are known, though its call does not carry them.
#[test]
fn what_charges_the_batch_whose_place_it_took_is_a_forgotten_attempt_of_it() {
    let bare = profile("once(uint64 subscribeId)", "Paid", "Short");
    let known = known(&bare, &[]);
    let did = |who: u8, slot: Option<&Slot>| {
        let data = [&keccak256("once(uint64)")[..4], &U256::from(who).to_be_bytes::<32>()].concat();
        known.effect(
            slot,
            FinalTx { call: Some((CONTRACT, &data)), succeeded: true, logs: &[log("Paid")] },
        )
    };
    let slot = slot(bare.written());
    assert_eq!(did(5, None), Err(Opaque));
    assert_eq!(did(5, Some(&slot)), Ok(billed(ItemOutcome::Charged)));
    assert_eq!(did(6, Some(&slot)), Err(Opaque), "another subscription");
}

#[test]
fn whoever_was_charged_by_one_reading_was_charged() {
    let (then, now) = (profile(COLLECT, "Paid", "Short"), profile(COLLECT, "Short", "Paid"));
    let both = known(&now, &[then.written()]);
    assert_eq!(effect(&both, COLLECT, "Paid"), Ok(billed(ItemOutcome::Charged)));
    assert_eq!(effect(&both, COLLECT, "Short"), Ok(billed(ItemOutcome::Charged)));
    assert_eq!(effect(&both, COLLECT, "Neither"), Ok(billed(ItemOutcome::Unproven)));
    // The same bytes, with two of their words the other way round.
    let turned =
        profile("collect(uint64 planId, uint64 subscribeId, bytes32 userHash)", "Paid", "S");
    let torn = known(&now, &[turned.written()]);
    assert_eq!(effect(&torn, COLLECT, "Paid"), Err(Opaque), "nobody can tell whom");
    let (own, data) = (slot(now.written()), calldata(COLLECT));
    let taken = torn.effect(
        Some(&own),
        FinalTx { call: Some((CONTRACT, &data)), succeeded: true, logs: &[log("Paid")] },
    );
    assert_eq!(taken, Err(Opaque), "that it took the place of one of them tells nothing");
    assert_eq!(torn.charged_by(CONTRACT, &calldata(COLLECT)), None);
}
