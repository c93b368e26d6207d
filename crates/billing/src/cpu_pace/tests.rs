//! What is signed after blocks have stopped transactions.

use super::*;

/// Noon of some day, Unix ms.
const NOON: i64 = 1_795_262_400_000;
const TRX: u64 = 1_000_000;
const MOST: u64 = 1_000 * TRX;

fn burnt(n: u8, charges: usize, at_ms: i64) -> Burnt {
    Burnt {
        id: B256::repeat_byte(n),
        charges,
        calldata: vec![n].into(),
        fee: 200 * TRX,
        out_of_time: true,
        at_ms,
    }
}

#[test]
fn a_size_that_was_stopped_is_not_signed_until_it_was_quiet_for_a_while() {
    let mut pace = CpuPace::default();
    assert_eq!(pace.most(NOON), usize::MAX);
    pace.stopped(10, NOON);
    assert_eq!(pace.most(NOON), 10);
    assert_eq!(pace.most(NOON + SIMULATED_MS - 1), 10);
    assert_eq!(pace.most(NOON + SIMULATED_MS), 20);
    pace.stopped(0, NOON + 1);
    assert_eq!(pace.most(NOON + 1), 1, "one charge may always be tried");
    assert_eq!(pace.most(i64::MAX), usize::MAX);
    pace.stopped(50, NOON + 2);
    assert_eq!(pace.most(NOON + 2), 1, "a larger size that was stopped raises nothing");
}

/// A node that was just started stops what passes a moment later.
#[test]
fn a_size_that_nodes_alone_have_stopped_comes_back_when_it_has_passed_a_few_times_in_a_row() {
    let mut pace = CpuPace::default();
    pace.stopped(1, NOON);
    assert_eq!(
        (pace.admits(1, NOON), pace.admits(8, NOON)),
        (PaceRuling::Sign, PaceRuling::Refuse)
    );
    assert_eq!(pace.again_s(NOON), 10);
    let at = |n: i64| NOON + n * PROBE_MS;
    assert_eq!(pace.admits(8, at(1)), PaceRuling::Try);
    assert_eq!(pace.admits(8, at(1)), PaceRuling::Refuse, "one at a time");
    assert!(!pace.passed(8));
    assert_eq!(pace.admits(8, at(2)), PaceRuling::Try);
    pace.stopped(4, at(2));
    assert_eq!(pace.most(at(2)), 1, "not in a row");
    for (n, charges, signed) in [(3, 8, false), (4, 3, false), (5, 8, false)] {
        assert_eq!(pace.admits(charges, at(n)), PaceRuling::Try, "{n}");
        assert_eq!(pace.passed(charges), signed, "{n}");
    }
    assert_eq!(pace.most(at(5)), 3, "all of them had so many");
    assert_eq!(pace.admits(3, at(5)), PaceRuling::Sign);
}

#[test]
fn a_size_that_a_block_has_stopped_comes_back_by_the_clock_alone() {
    let mut pace = CpuPace::default();
    pace.failed(burnt(1, 16, NOON));
    pace.stopped(4, NOON);
    let later = NOON + BURNT_MS - 1_000;
    assert_eq!(pace.admits(8, later), PaceRuling::Refuse);
    assert_eq!(pace.again_s(later), 1);
    assert_eq!(pace.admits(8, later + 1_000), PaceRuling::Sign);
}

#[test]
fn each_transaction_that_a_block_stopped_halves_the_size_and_it_stays_small_for_longer() {
    let mut pace = CpuPace::default();
    pace.failed(burnt(1, 34, NOON));
    assert_eq!((pace.most(NOON), pace.passes()), (17, FEW));
    pace.failed(burnt(1, 34, NOON));
    assert_eq!(pace.most(NOON), 17, "the same one counts once");
    assert_eq!(pace.most(NOON + SIMULATED_MS), 17);
    pace.stopped(12, NOON + 1);
    assert_eq!(pace.most(NOON + SIMULATED_MS + 1), 12, "it is still the block that was burnt by");
    pace.failed(burnt(2, 12, NOON + 2));
    assert_eq!(pace.most(NOON + 2), 6);
    assert_eq!(pace.closed(0, MOST), None);
}

#[test]
fn after_three_in_a_row_nothing_is_signed_until_a_probe_has_passed() {
    let mut pace = CpuPace::default();
    pace.failed(burnt(1, 40, NOON));
    pace.charged(B256::repeat_byte(2));
    pace.failed(burnt(3, 20, NOON));
    pace.failed(burnt(4, 10, NOON));
    assert_eq!(pace.closed(0, MOST), None, "one went through in between");
    pace.failed(burnt(5, 5, NOON));
    assert_eq!(pace.closed(0, MOST), Some(SigningHalt::OutOfTime { times: 3 }));
    assert_eq!(pace.probe(NOON), None, "not at once");
    let due = NOON + PROBE_MS;
    assert_eq!(pace.probe(due), Some(Probe { calldata: vec![5].into(), charges: 2 }));
    pace.probed(ProbeResult::Stopped, due);
    assert_eq!((pace.probe(due), pace.most(due)), (None, 1));
    let due = due + PROBE_MS;
    assert_eq!(pace.probe(due).map(|probe| probe.charges), Some(1));
    pace.probed(ProbeResult::Passed, due);
    assert_eq!((pace.closed(0, MOST), pace.most(due)), (None, 1));
    pace.failed(burnt(6, 1, due));
    assert_eq!(pace.closed(0, MOST), Some(SigningHalt::OutOfTime { times: 4 }), "at once");
    assert!(pace.probe(due + PROBE_MS).is_none() && pace.probe(due + 2 * PROBE_MS).is_some());
    pace.probed(ProbeResult::Passed, due);
    pace.charged(B256::repeat_byte(7));
    assert_eq!(pace.passes(), 1);
}

#[test]
fn what_failures_may_cost_in_a_day_is_limited_and_the_next_day_is_another() {
    let mut pace = CpuPace::default();
    for n in 1..=4 {
        pace.failed(Burnt { out_of_time: false, ..burnt(n, 40, NOON) });
    }
    let (today, fee) = (utc_day(NOON), MOST.div_euclid(5));
    assert_eq!((pace.burnt(), pace.most(NOON)), ((today, 4 * fee), usize::MAX));
    assert_eq!(pace.closed(4 * fee, MOST), None);
    pace.failed(Burnt { out_of_time: false, ..burnt(5, 40, NOON) });
    assert_eq!(pace.burnt(), (today, MOST));
    let closed = SigningHalt::Burnt { sun: MOST, most: MOST };
    assert_eq!(pace.closed(MOST, MOST), Some(closed));
    assert_eq!(pace.closed(MOST, MOST + 1), None);
    let tomorrow = NOON + 86_400_000;
    pace.failed(Burnt { out_of_time: false, ..burnt(6, 40, NOON) });
    pace.failed(Burnt { out_of_time: false, ..burnt(7, 40, tomorrow) });
    assert_eq!(pace.burnt(), (today + 1, fee));
}
