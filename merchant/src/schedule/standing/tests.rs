use super::*;
use crate::signer::Retry;
use billing::FailCode;
use proptest::prelude::*;
use strum::IntoEnumIterator as _;

fn decline(advice: Advice, code: &str) -> Decline {
    Decline { advice, code: code.to_owned(), reason: "in words".to_owned() }
}

/// Fell due with nobody else.
fn fell() -> Fell {
    Fell { changed: false, turn_ms: i64::MIN, flight: Followed::Known }
}

/// The same, with another text than before.
fn changed() -> Fell {
    Fell { changed: true, ..fell() }
}

fn advices() -> impl Strategy<Value = Advice> {
    prop::sample::select(vec![
        Advice::Wait,
        Advice::User,
        Advice::Stop,
        Advice::Fix,
        Advice::Retry,
        Advice::Lost,
        Advice::Done,
    ])
}

fn hashes() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a1".to_owned(), "b2".to_owned()])
}

fn heard() -> impl Strategy<Value = Heard> {
    prop_oneof![
        hashes().prop_map(|tx_hash| Heard::Accepted { tx_hash }),
        (advices(), "[AB]").prop_map(|(advice, code)| Heard::Refused(decline(advice, &code))),
        prop::option::of(hashes()).prop_map(|tx_hash| Heard::Charged { tx_hash }),
        (advices(), "[AB]").prop_map(|(advice, code)| Heard::Failed(decline(advice, &code))),
        Just(Heard::Freed { state: "expired".to_owned() }),
        hashes().prop_map(|tx_hash| Heard::Unproven { tx_hash }),
    ]
}

/// One turn of the loop: time passes, perhaps it is posted, something is heard.
fn turns() -> impl Strategy<Value = Vec<(i64, bool, Heard)>> {
    prop::collection::vec((0..200_000_000_i64, any::<bool>(), heard()), 1..60)
}

proptest! {
    /// Whoever is told that the customer must act hears how it ended: exactly one end for each time
    /// of waiting, whatever the way out.
    #[test]
    fn every_customer_that_was_asked_is_released(turns in turns()) {
        let (rules, mut standing, mut now_ms, mut asked) = (Rules::default(), Standing::Free, 0, false);
        for (passed, posted, heard) in turns {
            now_ms += passed;
            if posted {
                standing = standing.planned();
            }
            let next = next(&standing, heard, now_ms, &rules);
            for notice in &next.notices {
                match notice {
                    Notice::CustomerMustAct { .. } => asked = true,
                    Notice::CustomerSettled { .. } => {
                        prop_assert!(asked, "an end without a beginning");
                        asked = false;
                    }
                    Notice::Charged { .. } | Notice::Stopped { .. } | Notice::PeriodLost { .. }
                    | Notice::Alarm { .. } | Notice::Unproven { .. } => {}
                }
            }
            standing = next.standing;
            let waits = standing.pause().is_some_and(|pause| pause.decline.advice == Advice::User);
            prop_assert!(asked == waits, "{standing:?}, asked: {asked}");
        }
    }

    /// Pauses only grow while the advice stays the same, and nobody is posted before one is over.
    #[test]
    fn pauses_grow_and_are_kept(advice in advices(), times in 1..12_u32) {
        let (rules, mut standing, mut now_ms, mut last) = (Rules::default(), Standing::Free, 0, 0);
        for time in 1..=times {
            standing = next(&standing.planned(), Heard::Refused(decline(advice, "A")), now_ms, &rules).standing;
            let Standing::Paused(pause) = &standing else {
                prop_assert!(matches!(advice, Advice::Stop | Advice::Done));
                return Ok(());
            };
            prop_assert_eq!(pause.tries, time);
            let length = pause.until_ms - now_ms;
            prop_assert!(length >= last);
            last = length;
            prop_assert_eq!(admit(&standing, fell(), pause.until_ms - 1, &rules), Admission::Paused);
            prop_assert_eq!(admit(&standing, fell(), pause.until_ms, &rules), Admission::Post);
            prop_assert_eq!(admit(&standing, changed(), now_ms, &rules), Admission::Post);
            now_ms = pause.until_ms;
        }
    }

    /// A subscription in a plan, or in a transaction that the Signer knows, is never posted again, whatever the list
    /// says and however much time passes.
    #[test]
    fn what_is_in_flight_stays_untouched(turns in turns(), later in 0..i64::MAX, changed: bool) {
        let (rules, mut standing, mut now_ms) = (Rules::default(), Standing::Free, 0);
        for (passed, posted, heard) in turns {
            now_ms += passed;
            if posted {
                standing = standing.planned();
            }
            let held = matches!(standing, Standing::Planned { .. } | Standing::Billing { .. });
            let due = Fell { changed, ..fell() };
            prop_assert!(!held || admit(&standing, due, later, &rules) == Admission::InFlight);
            standing = next(&standing, heard, now_ms, &rules).standing;
        }
    }

    /// Nothing but a plan, a transaction that the Signer knows and the end on the chain holds a listed subscription
    /// longer than the longest pause, whatever was heard and whatever the clock was when it was heard.
    #[test]
    fn every_standing_has_a_way_out(turns in turns(), back in 0..100_000_000_000_i64) {
        let (rules, mut standing, mut now_ms) = (Rules::default(), Standing::Free, back);
        for (passed, posted, heard) in turns {
            now_ms += passed;
            if posted {
                standing = standing.planned();
            }
            standing = next(&standing, heard, now_ms, &rules).standing;
            let longest = 3 * 24 * 3_600_000;
            for from in [now_ms, now_ms - back] {
                let due = Fell { flight: Followed::UnknownSince(from), ..fell() };
                let out = (0..=longest).step_by(3_600_000).any(|later| {
                    admit(&standing, due, from + later, &rules) == Admission::Post
                });
                let held = matches!(standing, Standing::Planned { .. } | Standing::Stopped { .. });
                prop_assert!(out != held, "{standing:?} from {from}");
                let held = matches!(standing, Standing::Planned { .. } | Standing::Billing { .. });
                let posted = admit(&standing, changed(), from, &rules) == Admission::Post;
                prop_assert!(posted != held, "{standing:?} with other terms");
            }
        }
    }

    /// Hearing the same thing twice changes nothing that the merchant hears about a charge.
    #[test]
    fn a_charge_is_told_once(before in turns(), hash in hashes(), times in 1..4) {
        let (rules, mut standing) = (Rules::default(), Standing::Free);
        for (at, _, heard) in before {
            standing = next(&standing, heard, at, &rules).standing;
        }
        let already = matches!(&standing, Standing::Charged { tx_hash: Some(known), .. } if *known == hash);
        let mut told = 0;
        for _ in 0..times {
            let next = next(&standing, Heard::Charged { tx_hash: Some(hash.clone()) }, 0, &rules);
            told += next.notices.iter().filter(|notice| matches!(notice, Notice::Charged { .. })).count();
            standing = next.standing;
        }
        prop_assert_eq!(told, usize::from(!already));
    }
}

#[test]
fn reminders_come_at_growing_pauses_and_end() {
    let rules = Rules::default();
    let (mut standing, mut told) = (Standing::Free, vec![]);
    let heard = || Heard::Refused(decline(Advice::User, "BALANCE_INSUFFICIENT"));
    for hour in 0..24 * 30 {
        let now_ms = hour * 3_600_000;
        if admit(&standing, fell(), now_ms, &rules) == Admission::Post {
            let next = next(&standing.planned(), heard(), now_ms, &rules);
            told.extend(next.notices.iter().map(|_| hour / 24));
            standing = next.standing;
        }
    }
    assert_eq!(told, [0, 1, 3, 5, 7]);
    let end = next(&standing.planned(), Heard::Charged { tx_hash: None }, 0, &rules).notices;
    assert_eq!(
        end,
        [Notice::CustomerSettled { end: End::Charged }, Notice::Charged { tx_hash: None }]
    );
}

#[test]
fn a_passing_trouble_that_stays_is_an_alarm_once() {
    let rules = Rules::default();
    let (mut standing, mut alarms) = (Standing::Free, vec![]);
    for time in 1..=20 {
        let next = next(&standing.planned(), Heard::Freed { state: "reverted".into() }, 0, &rules);
        alarms.extend(next.notices.iter().map(|_| time));
        standing = next.standing;
    }
    assert_eq!(alarms, [6]);
}

#[test]
fn the_advice_is_taken_and_what_is_unknown_is_for_a_person() {
    let of = |word: &str, code| Advice::of(Some(&Retry::from(word.to_owned())), code);
    assert_eq!(of("USER", "BALANCE_INSUFFICIENT"), Advice::User);
    assert_eq!(of("DONE", "PERIOD_PASSED"), Advice::Lost);
    assert_eq!(of("MAYBE", "SOMETHING_NEW"), Advice::Fix);
    assert_eq!(Advice::of(None, "BALANCE_INSUFFICIENT"), Advice::User);
    assert_eq!(Advice::for_code("SOMETHING_NEW"), Advice::Fix);
}

#[test]
fn every_reason_of_the_signer_has_the_signers_advice() {
    for code in FailCode::iter() {
        let said = Retry::from(code.retry().token().to_owned());
        assert_eq!(
            Advice::for_code(code.token()),
            Advice::of(Some(&said), code.token()),
            "{code:?}"
        );
    }
}

#[test]
fn what_the_chain_ended_is_posted_again_only_with_other_terms() {
    let rules = Rules::default();
    let heard = Heard::Refused(decline(Advice::Stop, "SUBSCRIPTION_CANCELLED"));
    let stopped = next(&Standing::Free.planned(), heard.clone(), 0, &rules);
    assert_eq!(stopped.notices.len(), 1);
    assert_eq!(admit(&stopped.standing, fell(), i64::MAX, &rules), Admission::Stopped);
    assert_eq!(admit(&stopped.standing, changed(), 0, &rules), Admission::Post);
    assert_eq!(next(&stopped.standing, heard, 1, &rules).notices, []);
    let gone = unlisted(&stopped.standing).unwrap();
    assert_eq!((gone.standing, gone.notices), (Standing::Free, vec![]));
}

#[test]
fn a_turn_is_waited_for_by_what_falls_due_and_by_nothing_else() {
    let rules = Rules::default().with_spread(100);
    let at = |standing: &Standing, changed, now_ms| {
        admit(standing, Fell { changed, turn_ms: 100, ..fell() }, now_ms, &rules)
    };
    assert_eq!(at(&Standing::Free, false, 99), Admission::NotItsTurn);
    assert_eq!(at(&Standing::Free, false, 100), Admission::Post);
    let charged = Standing::Charged { tx_hash: None, since_ms: 0, heard_ms: 0 };
    assert_eq!(at(&charged, true, 99), Admission::NotItsTurn);
    assert_eq!(at(&charged, true, 100), Admission::Post);
    assert_eq!(at(&charged, false, 99), Admission::JustCharged);
    let planned = Standing::Free.planned();
    assert_eq!(at(&planned, true, 99), Admission::InFlight);
}

#[test]
fn what_nobody_can_prove_is_posted_after_a_pause_and_with_other_terms_at_once() {
    let rules = Rules::default();
    let heard = Heard::Unproven { tx_hash: "a1".to_owned() };
    let unproven = next(&Standing::Free.planned(), heard, 0, &rules).standing;
    let hour = rules.fix_ms[0];
    assert_eq!(admit(&unproven, fell(), hour - 1, &rules), Admission::Unproven);
    assert_eq!(admit(&unproven, fell(), hour, &rules), Admission::Post);
    assert_eq!(admit(&unproven, changed(), 0, &rules), Admission::Post);
}

#[test]
fn a_transaction_holds_until_the_signer_has_not_known_it_for_long() {
    let rules = Rules::default();
    let heard = Heard::Accepted { tx_hash: "a1".to_owned() };
    let billing = next(&Standing::Free.planned(), heard, 500, &rules).standing;
    let at = |flight, now_ms| admit(&billing, Fell { flight, ..changed() }, now_ms, &rules);
    assert_eq!(at(Followed::Known, i64::MAX), Admission::InFlight);
    assert_eq!(at(Followed::Lost, 500), Admission::Post);
    let open = rules.patience.open;
    assert!(open > rules.patience.verdict, "the difference is told before");
    assert_eq!(at(Followed::UnknownSince(700), 699 + open), Admission::InFlight);
    assert_eq!(at(Followed::UnknownSince(700), 700 + open), Admission::Post);
    // The Signer named it after it had become unknown: once in a while is enough.
    assert_eq!(at(Followed::UnknownSince(0), 499 + open), Admission::InFlight);
    assert_eq!(at(Followed::UnknownSince(0), 500 + open), Admission::Post);
}
