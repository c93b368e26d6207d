use super::*;
use proptest::prelude::*;

fn alive() -> Health {
    let mut health = Health::new();
    health.verified(0, 0);
    assert_eq!(health.state(0), State::Alive);
    health
}

fn fail_times(health: &mut Health, times: usize, now_ms: u64) {
    for _ in 0..times {
        health.begins(now_ms);
        health.failed(now_ms);
    }
}

#[test]
fn a_node_is_used_once_its_chain_is_known_and_while_it_keeps_up() {
    let mut health = Health::new();
    assert_eq!(health.state(0), State::Unverified);
    health.verified(0, 0);
    health.set_behind(true);
    assert_eq!(health.state(0), State::OutOfSync);
    health.set_behind(false);
    assert_eq!(health.state(0), State::Alive);
}

#[test]
fn a_node_of_another_chain_has_to_name_the_right_one_for_ten_minutes() {
    let mut health = alive();
    health.is_on(RealChain::Eip155(56), 0);
    health.succeeded(1);
    assert_eq!(health.wrong_chain(), Some(RealChain::Eip155(56)));
    assert!(!health.verification_is_due(WRONG_RECHECK_MS - 1, 9));
    assert!(health.verification_is_due(WRONG_RECHECK_MS, 0));
    let minutes = |health: &mut Health, from: u64, to: u64| {
        for minute in from..=to {
            let now = minute * WRONG_RECHECK_MS;
            assert!(health.verification_is_due(now, 0), "minute {minute}");
            assert_eq!(health.state(now), State::WrongChain, "minute {minute}");
            health.verified(now, 0);
        }
    };
    minutes(&mut health, 1, 9);
    health.is_on(RealChain::Eip155(56), 10 * WRONG_RECHECK_MS);
    minutes(&mut health, 11, 12);
    health.named_none(13 * WRONG_RECHECK_MS);
    assert!(!health.verification_is_due(14 * WRONG_RECHECK_MS - 1, 0), "silence waits its turn");
    minutes(&mut health, 14, 21);
    assert_eq!(health.state(21 * WRONG_RECHECK_MS), State::Alive);
}

#[test]
fn its_chain_is_asked_for_again_after_ten_minutes_and_after_a_broken_exchange() {
    let mut health = Health::new();
    assert!(health.verification_is_due(0, 0));
    health.verified(5, 2);
    assert!(!health.verification_is_due(RECHECK_MS + 4, 2));
    assert!(health.verification_is_due(RECHECK_MS + 5, 2));
    assert!(health.verification_is_due(6, 3));
}

#[test]
fn five_failures_in_ten_seconds_open_the_breaker_and_four_do_not() {
    let mut health = alive();
    fail_times(&mut health, 4, 0);
    assert_eq!(health.state(0), State::Alive);
    fail_times(&mut health, 1, FAILURE_WINDOW_MS);
    assert_eq!(health.state(FAILURE_WINDOW_MS), State::Alive, "the first four are forgotten");
    fail_times(&mut health, 4, FAILURE_WINDOW_MS + 1);
    assert_eq!(health.state(FAILURE_WINDOW_MS + 1), State::Busy);
}

#[test]
fn an_open_breaker_lets_one_probe_through_when_its_pause_is_over() {
    let mut health = alive();
    fail_times(&mut health, 5, 0);
    assert!(!health.admits(FIRST_PAUSE_MS - 1));
    assert!(health.admits(FIRST_PAUSE_MS));
    health.begins(FIRST_PAUSE_MS);
    assert!(!health.admits(FIRST_PAUSE_MS + 1), "one at a time");
    assert!(health.admits(FIRST_PAUSE_MS + PROBE_PATIENCE_MS), "the probe was lost");
    health.succeeded(1);
    assert_eq!(health.state(FIRST_PAUSE_MS), State::Alive);
    assert!(health.admits(FIRST_PAUSE_MS));
}

#[test]
fn every_failed_probe_doubles_the_pause_up_to_a_minute() {
    let mut health = alive();
    let mut now = 0;
    fail_times(&mut health, 5, now);
    for pause in [5_000, 10_000, 20_000, 40_000, 60_000, 60_000] {
        assert!(!health.admits(now + pause - 1), "{pause}");
        now += pause;
        assert!(health.admits(now), "{pause}");
        fail_times(&mut health, 1, now);
    }
    health.succeeded(1);
    fail_times(&mut health, 5, now);
    assert!(health.admits(now + FIRST_PAUSE_MS), "success starts anew");
}

#[test]
fn a_node_that_keeps_a_look_waiting_is_left_out_of_the_next_ones() {
    let mut health = alive();
    health.kept_waiting(0);
    assert_eq!(health.state(0), State::Busy);
    assert!(!health.admits(FIRST_PAUSE_MS - 1) && health.admits(FIRST_PAUSE_MS));
    health.kept_waiting(FIRST_PAUSE_MS);
    assert!(!health.admits(FIRST_PAUSE_MS * 3 - 1) && health.admits(FIRST_PAUSE_MS * 3));
}

#[test]
fn a_node_that_says_nothing_in_a_look_is_asked_last_and_after_two_of_them_left_alone() {
    let mut health = alive();
    health.was_silent(0);
    assert_eq!(health.state(0), State::Silent);
    assert!(health.admits(0), "one look may be an accident");
    health.succeeded(1);
    assert_eq!(health.state(0), State::Alive);
    health.was_silent(1);
    health.was_silent(2);
    assert_eq!(health.state(2), State::Busy);
    assert!(!health.admits(1 + FIRST_PAUSE_MS) && health.admits(2 + FIRST_PAUSE_MS));
}

#[test]
fn a_node_that_answers_with_errors_alone_is_not_called_silent() {
    let mut health = alive();
    let before = health.answers();
    health.failed(0);
    health.spoke();
    assert_ne!(health.answers(), before, "a look counts what came back");
    assert_eq!(health.state(0), State::Alive);
    for at in 1..=4 {
        health.failed(at);
        health.spoke();
    }
    assert_eq!(health.state(5), State::Busy, "it is left alone all the same");
}

#[test]
fn a_liar_is_not_believed_for_an_hour() {
    let mut health = alive();
    health.lied(10);
    health.succeeded(1);
    assert_eq!(health.state(10 + QUARANTINE_MS - 1), State::Quarantined);
    assert_eq!(health.state(10 + QUARANTINE_MS), State::Alive);
}

#[test]
fn the_better_node_is_the_one_that_answers_and_answers_soon() {
    let (mut fast, mut slow, mut flaky, mut odd) = (alive(), alive(), alive(), alive());
    for now in 0..20 {
        fast.succeeded(1_000);
        slow.succeeded(400_000);
        odd.succeeded(1_000);
        if now % 2 == 0 { flaky.succeeded(1_000) } else { flaky.failed(now) }
    }
    odd.dissented();
    assert!(fast.score() > slow.score() && slow.score() > flaky.score());
    assert!(odd.score() < flaky.score());
    assert_eq!((fast.p95_ms(), slow.p95_ms()), (1, 400));
}

#[test]
fn the_95th_percentile_leaves_out_the_slowest_two_of_forty() {
    let mut health = alive();
    assert_eq!(health.p95_ms(), 0);
    for took in [vec![900_000; 2], vec![20_000; 38]].concat() {
        health.succeeded(took);
    }
    assert_eq!(health.p95_ms(), 900);
    health.succeeded(20_000);
    assert_eq!(health.p95_ms(), 20);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Begins,
    Succeeds(u64),
    Fails,
    Verified,
    Wrong,
    Behind(bool),
    Lied,
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        3 => Just(Event::Begins),
        3 => (0..10_000_000_u64).prop_map(Event::Succeeds),
        6 => Just(Event::Fails),
        2 => Just(Event::Verified),
        1 => Just(Event::Wrong),
        1 => any::<bool>().prop_map(Event::Behind),
        1 => Just(Event::Lied),
    ];
    prop::collection::vec((0..20_000_u64, event), 0..60)
}

proptest! {
    /// Whatever happens: a wrong chain is left only by ten right answers in a row, a node whose chain is unknown is never alive, no
    /// pause is longer than a minute, and the score stays within bounds.
    #[test]
    fn no_history_breaks_the_rules(history in events()) {
        let (mut health, mut now, mut wrong, mut known) = (Health::new(), 0, 0, false);
        for (later, event) in history {
            now += later;
            match event {
                Event::Begins => health.begins(now),
                Event::Succeeds(took) => health.succeeded(took),
                Event::Fails => health.failed(now),
                Event::Verified => {
                    health.verified(now, 0);
                    known = true;
                    wrong = u32::saturating_sub(wrong, 1);
                }
                Event::Wrong => {
                    health.is_on(RealChain::Eip155(56), now);
                    wrong = RIGHT_ANSWERS;
                }
                Event::Behind(behind) => health.set_behind(behind),
                Event::Lied => health.lied(now),
            }
            let state = health.state(now);
            prop_assert_eq!(state == State::WrongChain, wrong > 0);
            prop_assert!(state != State::Alive || known);
            prop_assert!(health.admits(now + LONGEST_PAUSE_MS + PROBE_PATIENCE_MS));
            prop_assert!(health.score() <= CERTAIN);
        }
    }
}
