use super::*;
use proptest::prelude::*;

/// An account that was checked in every respect, on a journal that another process has left.
const CHECKED: PastView = PastView {
    journal: JournalPast {
        left_ms: Some(10_000),
        was_closed: true,
        known_at_start_ms: Some(10_000),
        clocks_ms: 100,
    },
    only_follows: false,
    in_doubt: false,
    undecided: 0,
    waiting: OwnWaiting::Nothing,
    now_ms: 50_000,
    checks: PastChecks {
        past: true,
        in_flight: true,
        unconfirmed_ms: Some(20_000),
        unknown: false,
        rival_until_ms: None,
    },
    in_flight: BlocksSeen::NotRead,
    last_use: LastUseSeen::NotAsked,
    since_known: BlocksSeen::NotRead,
    unconfirmed: UnconfirmedSeen::NotAsked,
};

const NOTHING_UNKNOWN: BlocksSeen = BlocksSeen::Read { unknown: false, complete: true };

/// The nodes told of every call, and the journal knows each.
const ALL_KNOWN: UnconfirmedSeen =
    UnconfirmedSeen::Told { unknown: false, untold: false, unread: false, rival_until_ms: None };

/// The same, and something waits in a pool whose node does not tell what.
const UNTOLD: UnconfirmedSeen =
    UnconfirmedSeen::Told { unknown: false, untold: true, unread: false, rival_until_ms: None };

/// The journal does not know one of the calls.
const UNKNOWN: UnconfirmedSeen =
    UnconfirmedSeen::Told { unknown: true, untold: false, unread: false, rival_until_ms: None };

fn last_used(used_ms: i64, journal: JournalPast) -> PastView {
    let checks = PastChecks { past: false, ..CHECKED.checks };
    let last_use = LastUseSeen::At { used_ms, known_ms: 10_000 };
    PastView { journal, checks, last_use, unconfirmed: ALL_KNOWN, ..CHECKED }
}

#[test]
fn a_use_of_the_account_that_blocks_cannot_be_compared_for_is_unknown_to_the_journal() {
    let unknown = Doubt::Begin { since_ms: 10_000 };
    let new = JournalPast { known_at_start_ms: None, left_ms: None, ..CHECKED.journal };
    assert_eq!(doubt(&last_used(9_999, new)).next, Doubt::Settled);
    assert_eq!(doubt(&last_used(10_000, new)).next, unknown);
    let left = JournalPast { known_at_start_ms: None, ..CHECKED.journal };
    let retired = PastView { only_follows: true, ..last_used(9_999, left) };
    let moved_coins = LastUseSeen::At { used_ms: 9_999, known_ms: 5_000 };
    let retired = PastView { last_use: moved_coins, ..retired };
    assert_eq!(doubt(&retired).next, Doubt::Settled, "before the copy was left");
}

#[test]
fn everything_that_landed_since_the_journal_was_left_is_read_even_if_a_batch_may_explain_it() {
    let read = Doubt::ReadBlocks { from_ms: 10_000, until_ms: 11_000 };
    let at_start = last_used(11_000, CHECKED.journal);
    assert_eq!(doubt(&at_start).next, read, "the process before may have ended a batch, and died");
    let earlier = JournalPast { known_at_start_ms: Some(8_000), ..CHECKED.journal };
    let read_earlier = Doubt::ReadBlocks { from_ms: 8_000, until_ms: 9_000 };
    assert_eq!(doubt(&last_used(9_000, earlier)).next, read_earlier, "by somebody else, unseen");
    let unknown_lane = JournalPast { known_at_start_ms: None, ..CHECKED.journal };
    let opened = last_used(11_000, unknown_lane);
    assert_eq!(doubt(&opened).next, read, "it may have opened the lane, billed, and died");
    assert_eq!(doubt(&last_used(9_999, unknown_lane)).next, Doubt::Settled, "its own history");
    let used = PastView { undecided: 1, ..last_used(11_000, CHECKED.journal) };
    assert_eq!(doubt(&used).next, read, "an open batch may have landed");
    let last_use = LastUseSeen::At { used_ms: 11_000, known_ms: 12_000 };
    let ended = PastView { undecided: 0, last_use, ..used };
    assert_eq!(doubt(&ended).next, read, "one has landed, perhaps with another beside it");
    let after = |since_known| doubt(&PastView { since_known, ..ended });
    assert!(after(NOTHING_UNKNOWN).checks.past);
    assert_eq!(after(NOTHING_UNKNOWN).next, Doubt::Settled);
    let half_read = after(BlocksSeen::Read { unknown: false, complete: false });
    assert_eq!((half_read.next, half_read.checks.past), (Doubt::Wait, false));
    let found = after(BlocksSeen::Read { unknown: true, complete: false });
    assert_eq!(found.next, Doubt::Begin { since_ms: 10_000 });
}

#[test]
fn after_a_start_blocks_are_read_until_nothing_from_before_can_land() {
    let started = PastView {
        checks: PastChecks { in_flight: false, ..CHECKED.checks },
        unconfirmed: ALL_KNOWN,
        ..CHECKED
    };
    assert_eq!(doubt(&started).next, Doubt::ReadInFlight);
    let new = PastView { journal: JournalPast { left_ms: None, ..CHECKED.journal }, ..started };
    assert_eq!(doubt(&new).next, Doubt::Settled, "nobody had the journal before");
    let learnt = PastView { in_doubt: true, ..started };
    assert_eq!(doubt(&learnt).next, Doubt::Settled, "everything is learnt anyway");
    let after = |in_flight| doubt(&PastView { in_flight, ..started });
    assert_eq!(after(BlocksSeen::Failed).next, Doubt::Settled, "the lane is open meanwhile");
    assert!(!after(BlocksSeen::Failed).checks.in_flight);
    assert!(after(NOTHING_UNKNOWN).checks.in_flight);
    let found = after(BlocksSeen::Read { unknown: true, complete: false });
    assert_eq!(found.next, Doubt::Begin { since_ms: 10_000 });
}

#[test]
fn an_untold_pool_is_explained_by_own_batches_alone_and_only_if_the_journal_was_closed() {
    let checks = PastChecks { unconfirmed_ms: None, ..CHECKED.checks };
    let untold = PastView { checks, waiting: OwnWaiting::Some, unconfirmed: UNTOLD, ..CHECKED };
    assert_eq!(doubt(&untold).next, Doubt::Settled);
    assert_eq!(doubt(&PastView { waiting: OwnWaiting::Nothing, ..untold }).next, Doubt::Wait);
    let killed = JournalPast { was_closed: false, ..CHECKED.journal };
    assert_eq!(doubt(&PastView { journal: killed, ..untold }).next, Doubt::Wait);
    let told_all = PastView { journal: killed, unconfirmed: ALL_KNOWN, ..untold };
    assert_eq!(doubt(&told_all).next, Doubt::Settled, "a crash is no reason to wait");
    let unknown = PastView { unconfirmed: UNKNOWN, ..untold };
    assert_eq!(doubt(&unknown).next, Doubt::Begin { since_ms: 10_000 });
}

#[test]
fn long_after_a_start_only_billings_count_and_pools_are_asked_while_nothing_of_ours_waits() {
    use CallsThatCount::{All, Billings};
    use UnconfirmedIn::{Blocks, BlocksAndPools};
    let ask = |places, calls| Doubt::AskUnconfirmed(places, calls);
    assert_eq!(doubt(&CHECKED).next, ask(BlocksAndPools, Billings));
    let waits = PastView { waiting: OwnWaiting::Some, ..CHECKED };
    assert_eq!(doubt(&waits).next, ask(Blocks, Billings));
    assert_eq!(doubt(&PastView { now_ms: 30_000, ..waits }).next, Doubt::Settled, "just read");
    assert_eq!(doubt(&PastView { only_follows: true, ..CHECKED }).next, Doubt::Settled);
    let sends = PastView { now_ms: 30_000, waiting: OwnWaiting::Leaving, ..waits };
    assert_eq!(doubt(&sends).next, ask(BlocksAndPools, Billings), "others may have charged since");
    let untold = doubt(&PastView { unconfirmed: UNTOLD, ..sends });
    assert_eq!(untold.checks.unconfirmed_ms, sends.checks.unconfirmed_ms, "that is no answer");
    let in_doubt = PastView { in_doubt: true, ..waits };
    assert_eq!(doubt(&in_doubt).next, ask(BlocksAndPools, All));
    let rival = PastView { unconfirmed: UNKNOWN, ..CHECKED };
    assert_eq!(doubt(&rival).next, Doubt::Begin { since_ms: 19_900 }, "when all was known last");
}

#[test]
fn a_lane_that_the_journal_does_not_know_begins_in_doubt_if_its_account_was_used_since() {
    assert!(new_lane_is_in_doubt(10_000, Some(10_000)));
    assert!(!new_lane_is_in_doubt(10_000, Some(9_999)));
    assert!(!new_lane_is_in_doubt(10_000, None));
}

fn blocks() -> impl Strategy<Value = BlocksSeen> {
    let read = any::<[bool; 2]>();
    prop_oneof![
        Just(BlocksSeen::Failed),
        read.prop_map(|[unknown, complete]| BlocksSeen::Read { unknown, complete }),
    ]
}

fn waiting() -> impl Strategy<Value = OwnWaiting> {
    prop_oneof![Just(OwnWaiting::Nothing), Just(OwnWaiting::Some), Just(OwnWaiting::Leaving)]
}

fn last_use() -> impl Strategy<Value = LastUseSeen> {
    let at = |(used_ms, known_ms)| LastUseSeen::At { used_ms, known_ms };
    prop_oneof![Just(LastUseSeen::Never), (0..9_i64, 0..9_i64).prop_map(at)]
}

fn unconfirmed() -> impl Strategy<Value = UnconfirmedSeen> {
    (any::<[bool; 3]>(), prop::option::of(1..9_u64)).prop_map(
        |([unknown, untold, unread], rival_until_ms)| UnconfirmedSeen::Told {
            unknown,
            untold,
            unread,
            rival_until_ms,
        },
    )
}

/// An account before a look.
fn account() -> impl Strategy<Value = PastView> {
    let journal = (prop::option::of(0..9_i64), any::<bool>(), prop::option::of(0..9_i64)).prop_map(
        |(left_ms, was_closed, known_at_start_ms)| JournalPast {
            left_ms,
            was_closed,
            known_at_start_ms,
            clocks_ms: 1,
        },
    );
    let checks = (any::<[bool; 3]>(), prop::option::of(0..40_000_i64)).prop_map(
        |([past, in_flight, unknown], unconfirmed_ms)| PastChecks {
            past,
            in_flight,
            unconfirmed_ms,
            unknown,
            rival_until_ms: None,
        },
    );
    (journal, checks, any::<[bool; 2]>(), waiting(), 0..2_usize).prop_map(
        |(journal, checks, [only_follows, in_doubt], waiting, undecided)| PastView {
            journal,
            only_follows,
            in_doubt,
            undecided,
            waiting,
            checks,
            ..CHECKED
        },
    )
}

/// The answers of the nodes in one look, and every step that is taken on them.
#[derive(Clone, Copy, Debug)]
struct Answers {
    in_flight: BlocksSeen,
    last_use: LastUseSeen,
    since_known: BlocksSeen,
    unconfirmed: UnconfirmedSeen,
}

fn answers() -> impl Strategy<Value = Answers> {
    (blocks(), last_use(), blocks(), unconfirmed()).prop_map(
        |(in_flight, last_use, since_known, unconfirmed)| Answers {
            in_flight,
            last_use,
            since_known,
            unconfirmed,
        },
    )
}

/// Carries the rulings of one look out, as the engine does.
fn look(mut view: PastView, answers: Answers) -> (Vec<Doubt>, PastView) {
    let mut steps = Vec::new();
    loop {
        let PastRuling { checks, next } = doubt(&view);
        view.checks = checks;
        steps.push(next);
        match next {
            Doubt::ReadInFlight => view.in_flight = answers.in_flight,
            Doubt::AskLastUse => view.last_use = answers.last_use,
            Doubt::ReadBlocks { .. } => view.since_known = answers.since_known,
            Doubt::AskUnconfirmed(..) => view.unconfirmed = answers.unconfirmed,
            Doubt::Begin { .. } => view.in_doubt = true,
            Doubt::Settled | Doubt::Wait | Doubt::Unread => return (steps, view),
        }
        assert!(steps.len() < 7, "it asks for ever: {steps:?}");
    }
}

fn is_unknown(seen: BlocksSeen) -> bool {
    matches!(seen, BlocksSeen::Read { unknown: true, .. })
}

proptest! {
    #[test]
    fn everything_unknown_that_is_seen_puts_the_lane_in_doubt(
        view in account(), answers in answers(),
    ) {
        let (steps, end) = look(view, answers);
        let unconfirmed = matches!(end.unconfirmed, UnconfirmedSeen::Told { unknown: true, .. });
        let unknown = is_unknown(end.in_flight) || is_unknown(end.since_known) || unconfirmed;
        prop_assert!(!unknown || end.in_doubt, "{:?}", steps);
        let begun = steps.iter().filter(|step| matches!(step, Doubt::Begin { .. })).count();
        prop_assert!(begun <= 1 && (begun == 0 || !view.in_doubt), "it is begun once");
        prop_assert_eq!(begun == 1, end.in_doubt && !view.in_doubt);
    }

    #[test]
    fn a_lane_without_doubt_is_settled_by_answers_alone(view in account(), answers in answers()) {
        let (steps, end) = look(view, answers);
        if steps.last() != Some(&Doubt::Settled) || end.in_doubt {
            return Ok(());
        }
        prop_assert!(end.checks.past);
        let known = match end.last_use {
            LastUseSeen::NotAsked => view.checks.past,
            LastUseSeen::Never => true,
            LastUseSeen::At { used_ms, known_ms } => {
                let owners_affair_ms = view.journal.left_ms.filter(|_| view.only_follows);
                let at_start_ms = view.journal.known_at_start_ms.or(view.journal.left_ms);
                let known_ms = at_start_ms.unwrap_or(known_ms);
                used_ms < known_ms.max(owners_affair_ms.unwrap_or(0))
                    || end.since_known == NOTHING_UNKNOWN
            }
        };
        prop_assert!(known, "the last use is explained: {:?}", steps);
        let first = view.checks.unconfirmed_ms.is_none();
        if first {
            let UnconfirmedSeen::Told { unknown, untold, unread, .. } = end.unconfirmed else {
                panic!("pools are asked before a lane opens first: {steps:?}");
            };
            prop_assert!(!unknown && !unread);
            let waits = view.waiting == OwnWaiting::Some;
            prop_assert!(!untold || waits && view.journal.was_closed);
        }
        if view.journal.left_ms.is_some() && !view.checks.in_flight {
            prop_assert!(end.in_flight != BlocksSeen::NotRead, "blocks are read on");
        }
    }

    #[test]
    fn an_ended_check_stays_ended_and_ends_only_by_what_was_seen(
        view in account(), answers in answers(),
    ) {
        let (steps, end) = look(view, answers);
        let (before, after) = (view.checks, end.checks);
        prop_assert!(!before.past || after.past);
        prop_assert!(!before.in_flight || after.in_flight);
        prop_assert!(before.unconfirmed_ms <= after.unconfirmed_ms);
        if after.in_flight && !before.in_flight {
            let complete = matches!(end.in_flight, BlocksSeen::Read { complete: true, .. });
            prop_assert!(complete, "{:?}", steps);
        }
        if after.past && !before.past {
            prop_assert!(end.last_use != LastUseSeen::NotAsked, "{:?}", steps);
        }
        if after.unconfirmed_ms != before.unconfirmed_ms {
            let UnconfirmedSeen::Told { unknown, unread, .. } = end.unconfirmed else {
                panic!("pools were not asked: {steps:?}");
            };
            prop_assert!(!unknown && !unread);
        }
    }

    #[test]
    fn a_lane_waits_or_fails_only_before_it_was_ever_settled_or_while_blocks_are_read(
        view in account(), answers in answers(),
    ) {
        let (steps, end) = look(view, answers);
        let settled = view.checks.unconfirmed_ms.is_some() && view.checks.past;
        if steps.last() == Some(&Doubt::Wait) {
            prop_assert!(!settled && !end.in_doubt, "{:?}", steps);
        }
        if steps.last() == Some(&Doubt::Unread) {
            prop_assert!(view.checks.unconfirmed_ms.is_none() || end.in_doubt, "{:?}", steps);
        }
    }
}
