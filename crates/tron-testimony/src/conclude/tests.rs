//! What becomes of a batch, for every lie that one provider can tell.

use super::*;
use alloy::primitives::U256;
use alloy::primitives::{Address, LogData};
use billing::CallEnding;
use proptest::prelude::*;

const FIRST: B256 = B256::repeat_byte(1);
const NEWEST: B256 = B256::repeat_byte(2);
const ATTEMPTS: [B256; 2] = [FIRST, NEWEST];
const DEAD: BlockPoint = BlockPoint { number: 90, id: B256::repeat_byte(90), time_ms: 90_000 };
const LANDED: BlockPoint = BlockPoint { number: 50, id: B256::repeat_byte(50), time_ms: 50_000 };

fn ground(needed: usize, scan: Option<TxFate>) -> Ground {
    Ground { solid: 100, needed, scan }
}

fn log(n: u8) -> Log {
    Log { address: Address::repeat_byte(n), data: LogData::default() }
}

fn succeeded() -> Record {
    Record { block: 50, block_time_ms: 50_000, result: CallResult::Succeeded, logs: vec![log(1)] }
}

fn failed() -> Record {
    Record { result: CallResult::Failed, logs: vec![], ..succeeded() }
}

/// A node whose records hold the newest transaction like this.
fn tells(record: Record) -> TronTestimony {
    TronTestimony { records: BTreeMap::from([(NEWEST, Some(record))]), ..TronTestimony::default() }
}

fn silent() -> TronTestimony {
    TronTestimony::default()
}

/// A node that says of both transactions that it has no record of them.
fn denies() -> TronTestimony {
    TronTestimony { records: ATTEMPTS.map(|id| (id, None)).into(), ..TronTestimony::default() }
}

fn landing(record: Record) -> BatchFate {
    let Record { block, block_time_ms, result, logs } = record;
    let (id, logs) = (NEWEST, Some(logs));
    BatchFate::Landed(Landing { id, block, block_time_ms, result, logs, record: None })
}

fn fate(said: &[TronTestimony], ground: Ground) -> BatchFate {
    conclude(&ATTEMPTS, said, ground).fate
}

#[test]
fn a_failure_that_one_of_two_tells_of_is_none() {
    let said = [tells(failed()), tells(succeeded())];
    let concluded = conclude(&ATTEMPTS, &said, ground(2, None));
    assert!(!matches!(concluded.fate, BatchFate::Landed(_) | BatchFate::Dead(_)), "{concluded:?}");
    assert_eq!(concluded.disputed, [0, 1], "both are named: nobody knows who lies");
    assert!(!matches!(fate(&[tells(failed()), silent()], ground(2, None)), BatchFate::Landed(_)));
    assert_eq!(fate(&[tells(failed()), tells(failed())], ground(2, None)), landing(failed()));
    assert_eq!(fate(&[tells(failed())], ground(1, None)), landing(failed()));
}

#[test]
fn of_three_the_one_that_tells_another_tale_is_the_liar() {
    for lie in
        [failed(), Record { block: 51, ..succeeded() }, Record { logs: vec![], ..succeeded() }]
    {
        let said = [tells(succeeded()), tells(lie), tells(succeeded())];
        let concluded = conclude(&ATTEMPTS, &said, ground(2, None));
        assert_eq!((concluded.fate, concluded.liars), (landing(succeeded()), vec![1]));
    }
    let two = [(FIRST, Some(succeeded())), (NEWEST, Some(succeeded()))];
    let twice = TronTestimony { records: BTreeMap::from(two), ..TronTestimony::default() };
    let concluded =
        conclude(&ATTEMPTS, &[tells(succeeded()), twice, tells(succeeded())], ground(2, None));
    assert_eq!(concluded.liars, [1], "it names two transactions");
}

#[test]
fn what_is_not_irrevocable_for_enough_providers_has_not_landed() {
    let ahead = tells(Record { block: 101, ..succeeded() });
    assert_eq!(fate(&[ahead.clone(), ahead], ground(2, None)), BatchFate::Unclear);
}

#[test]
fn a_death_needs_enough_providers_that_tell_of_no_landing() {
    let dead = Some(TxFate::Dead(DEAD));
    assert_eq!(fate(&[denies()], ground(1, dead)), BatchFate::Dead(DEAD));
    assert_eq!(fate(&[silent()], ground(1, dead)), BatchFate::Unclear);
    assert_eq!(fate(&[denies(), silent()], ground(2, dead)), BatchFate::Unclear);
    assert_eq!(fate(&[tells(succeeded())], ground(1, dead)), landing(succeeded()));
    assert_eq!(fate(&[denies(), denies()], ground(2, dead)), BatchFate::Dead(DEAD));
    let against = conclude(&ATTEMPTS, &[denies(), tells(succeeded())], ground(2, dead));
    assert_eq!((against.fate, against.disputed), (BatchFate::Unclear, vec![1]));
    let outvoted = conclude(&ATTEMPTS, &[denies(), tells(failed()), denies()], ground(2, dead));
    assert_eq!((outvoted.fate, outvoted.liars), (BatchFate::Dead(DEAD), vec![1]));
}

#[test]
fn a_landing_without_logs_waits_for_them_and_ends_unproven() {
    let scan = Some(TxFate::Landed(LANDED));
    let word = |result| TronTestimony { result: Some(result), ..TronTestimony::default() };
    let said = [word(CallResult::Succeeded), word(CallResult::Succeeded)];
    let bare = Landing {
        id: NEWEST,
        block: 50,
        block_time_ms: 50_000,
        result: CallResult::Succeeded,
        logs: None,
        record: None,
    };
    assert_eq!(fate(&said, ground(2, scan)), BatchFate::Landed(bare.clone()));
    let early = Ground { solid: 50 + LOGS_WITHIN - 1, ..ground(2, scan) };
    assert_eq!(fate(&said, early), BatchFate::Unclear);
    let one_lies = [word(CallResult::Succeeded), word(CallResult::Failed)];
    assert_eq!(fate(&one_lies, ground(2, scan)), BatchFate::Unclear);
    assert_eq!(fate(&[silent(), word(CallResult::Failed)], ground(2, scan)), BatchFate::Unclear);
    let others = [tells(succeeded()), tells(Record { logs: vec![log(2)], ..succeeded() })];
    assert_eq!(
        fate(&others, ground(2, None)),
        BatchFate::Landed(bare),
        "their logs differ for ever"
    );
}

#[test]
fn a_batch_is_included_when_enough_show_it_and_offered_until_then() {
    let shows = |shown| TronTestimony { shown, ..TronTestimony::default() };
    let (held, no, untold) = (shows(Shown::In(120)), shows(Shown::No), silent());
    assert_eq!(fate(&[held.clone(), held.clone()], ground(2, None)), BatchFate::Included);
    assert_eq!(fate(&[held.clone(), no.clone()], ground(2, None)), BatchFate::Absent);
    assert_eq!(fate(&[held.clone(), untold.clone()], ground(2, None)), BatchFate::Unclear);
    assert_eq!(fate(&[held], ground(1, None)), BatchFate::Included);
    assert_eq!(fate(&[no, untold.clone()], ground(2, None)), BatchFate::Absent);
    assert_eq!(fate(&[untold], ground(1, None)), BatchFate::Unclear);
}

fn any_record() -> impl Strategy<Value = Record> {
    let result = prop_oneof![Just(CallResult::Succeeded), Just(CallResult::Failed)];
    (45..110_u64, result, 0..3_u8).prop_map(|(block, result, logs)| Record {
        block,
        block_time_ms: block * 1_000,
        result,
        logs: (0..logs).map(log).collect(),
    })
}

fn any_testimony() -> impl Strategy<Value = TronTestimony> {
    let shown =
        prop_oneof![Just(Shown::Untold), Just(Shown::No), (45..110_u64).prop_map(Shown::In)];
    let result =
        prop_oneof![Just(None), Just(Some(CallResult::Succeeded)), Just(Some(CallResult::Failed))];
    let records = prop::collection::btree_map(
        prop::sample::select(&ATTEMPTS[..]),
        prop::option::of(any_record()),
        0..3,
    );
    (shown, records, result).prop_map(|(shown, records, result)| TronTestimony {
        told: BTreeMap::new(),
        shown,
        records,
        result,
    })
}

#[test]
fn what_a_transaction_cost_is_told_by_as_many_as_have_to_agree() {
    let tells = |fee: u64, words: &str| {
        let (ending, message) = (CallEnding::OutOfTime, Some(words.to_owned()));
        let record = TxRecord { ending, message, used: 9, fee: U256::from(fee) };
        TronTestimony { told: BTreeMap::from([(NEWEST, record)]), ..TronTestimony::default() }
    };
    let said = [tells(8, "a"), tells(7, "b"), tells(7, "c")];
    let alike = agreed_record(NEWEST, &said, 2).unwrap();
    assert_eq!((alike.fee, alike.message.as_deref()), (U256::from(7), Some("b")));
    assert_eq!(agreed_record(NEWEST, &said[..2], 2), None);
    assert_eq!(agreed_record(NEWEST, &said[..1], 1).unwrap().fee, U256::from(8));
}

proptest! {
    /// Whatever one provider says, beside one that tells the truth: the claim is not released.
    #[test]
    fn one_liar_of_two_releases_nothing(lie in any_testimony(), liar_first: bool, late: bool) {
        let truth = if late { tells(succeeded()) } else { denies() };
        let said = if liar_first { [lie, truth] } else { [truth, lie] };
        let scan = late.then_some(TxFate::Landed(LANDED));
        let released = match fate(&said, ground(2, scan)) {
            BatchFate::Landed(landing) => landing.result == CallResult::Failed,
            BatchFate::Dead(_) => true,
            BatchFate::Absent | BatchFate::Included | BatchFate::Unclear => false,
        };
        prop_assert!(!released);
    }

    /// And beside two that tell the truth, the truth is concluded.
    #[test]
    fn one_liar_of_three_changes_nothing(lie in any_testimony(), place in 0..3_usize) {
        let mut said = vec![tells(succeeded()), tells(succeeded())];
        said.insert(place, lie.clone());
        prop_assert_eq!(fate(&said, ground(2, None)), landing(succeeded()));
        let mut said = vec![denies(), denies()];
        said.insert(place, lie);
        prop_assert_eq!(fate(&said, ground(2, Some(TxFate::Dead(DEAD)))), BatchFate::Dead(DEAD));
    }
}
