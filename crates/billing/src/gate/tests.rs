use super::*;
use proptest::prelude::*;

const SIGNER: Address = Address::repeat_byte(7);

fn lane(mined: u64, finalized: u64, next: u64) -> LaneView {
    LaneView {
        signer: SIGNER,
        gate: Gate::Opening,
        next,
        in_doubt: false,
        undecided: 0,
        account: AccountView::Nonces(NonceView { mined, finalized }),
        pools: PoolView::NotAsked,
        learnt: false,
        opaque: None,
        unnamed_taker: None,
        used_up: None,
    }
}

fn ahead(sent: u64, known: u64) -> Closed {
    Closed::Ahead { signer: SIGNER, sent, known }
}

fn closed() -> Gate {
    Gate::Closed(ahead(9, 7))
}

fn waits_for_another() -> Gate {
    Gate::Closed(Closed::OtherAccountUnreconciled { other: "another".to_owned() })
}

fn blocks(read: BlocksRead) -> AccountView {
    AccountView::Blocks(Some(read))
}

/// Blocks of which this share was read, percent, and more have to be.
fn half_read(percent: u64) -> BlocksRead {
    BlocksRead { percent, complete: false, rival: false, young: false }
}

#[test]
fn a_lane_whose_journal_knows_everything_opens() {
    let open = |lane| LaneView { gate: Gate::Open, ..lane };
    assert_eq!(rule(&open(lane(7, 5, 7))), Ruling::Open);
    assert_eq!(rule(&open(lane(5, 5, 7))), Ruling::Open, "two of ours wait for a block");
}

#[test]
fn what_is_final_is_learnt_after_every_open_batch_has_ended_and_once_in_a_look() {
    let learn = Ruling::LearnPositions { from: 7, to: 8, meanwhile: ahead(9, 7) };
    assert_eq!(rule(&lane(9, 8, 7)), learn);
    let ruled = Ruling::Closed(ahead(9, 7));
    assert_eq!(rule(&LaneView { undecided: 1, ..lane(9, 8, 7) }), ruled);
    assert_eq!(rule(&LaneView { learnt: true, ..lane(9, 8, 7) }), ruled);
    assert_eq!(rule(&lane(9, 7, 7)), ruled, "not final yet");
}

#[test]
fn a_place_that_no_transaction_took_keeps_the_lane_closed_until_a_person_has_said_whom_that_charged()
 {
    let used_up = LaneView { used_up: Some(6), ..lane(7, 7, 7) };
    for gate in [Gate::Opening, Gate::Open, closed()] {
        let ruled = rule(&LaneView { gate, ..used_up.clone() });
        assert_eq!(ruled, Ruling::Closed(Closed::UsedUp { signer: SIGNER, position: 6 }));
    }
    let why = Closed::UsedUp { signer: SIGNER, position: 6 };
    let told = why.to_string();
    assert!(told.contains("has the nonce 6") && told.contains("EIP-7702"), "{told}");
    assert!(!Gate::Closed(why).knows_all());
}

#[test]
fn a_taker_that_no_node_names_keeps_the_lane_closed_where_nonces_count() {
    let why = Closed::UnnamedTaker { signer: SIGNER, position: 6 };
    for gate in [Gate::Opening, Gate::Open, closed()] {
        let lane = LaneView { gate, undecided: 1, unnamed_taker: Some(6), ..lane(7, 7, 7) };
        assert_eq!(rule(&lane), Ruling::Closed(why.clone()));
        let by_blocks = LaneView { account: AccountView::Blocks(None), ..lane };
        assert_eq!(rule(&by_blocks), Ruling::Open, "a place is the journal's alone there");
    }
    assert!(why.to_string().contains("the nonce 6"), "{why}");
    assert!(!Gate::Closed(why.clone()).knows_all() && Gate::Closed(why).tells_of_unknown());
}

#[test]
fn pools_are_asked_at_a_start_after_trouble_and_after_a_restore() {
    let any = PoolsAsked::Any;
    for (gate, in_doubt, whose) in [
        (Gate::Opening, false, PoolsAsked::Undenied),
        (Gate::Opening, true, any),
        (closed(), false, any),
        (closed(), true, any),
        // Shut for what is no matter of the account: one pool that is made up would keep it so.
        (waits_for_another(), false, PoolsAsked::Undenied),
        (waits_for_another(), true, any),
    ] {
        let asking = LaneView { gate, in_doubt, ..lane(7, 7, 7) };
        assert_eq!(rule(&asking), Ruling::AskPools(whose));
        let told = |count| PoolView::Count(count, vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(rule(&LaneView { pools: told(7), ..asking.clone() }), Ruling::Open);
        let Ruling::Closed(why) = rule(&LaneView { pools: told(9), ..asking }) else {
            panic!("two are unknown")
        };
        assert!(why.to_string().starts_with("2 transactions of the account"), "{why}");
        assert!(why.to_string().contains("says a and b:"), "{why}");
    }
    assert_eq!(rule(&LaneView { gate: Gate::Open, ..lane(7, 7, 7) }), Ruling::Open);
    let waiting = LaneView { in_doubt: true, undecided: 1, ..lane(7, 7, 7) };
    assert_eq!(rule(&waiting), Ruling::Closed(Closed::OpenBatchesFirst));
}

#[test]
fn a_lane_that_nobody_counts_opens_when_the_blocks_have_told_everything() {
    let doubtful = LaneView { in_doubt: true, account: AccountView::Blocks(None), ..lane(0, 0, 7) };
    let reading = |percent| Closed::Reading { gap: Gap::OldCopy, percent };
    assert_eq!(rule(&doubtful), Ruling::ReadBlocks { meanwhile: reading(0) });
    let fresh = rule(&LaneView { next: 0, ..doubtful.clone() });
    let Ruling::ReadBlocks { meanwhile } = fresh else { panic!("{fresh:?}") };
    assert!(meanwhile.to_string().starts_with("this journal is new and the account has a history"));
    let read = LaneView { account: blocks(half_read(40)), ..doubtful };
    assert_eq!(rule(&LaneView { undecided: 1, ..read.clone() }), Ruling::Closed(reading(40)));
    assert_eq!(rule(&read), Ruling::LearnFound);
    let read = LaneView { learnt: true, ..read };
    assert_eq!(rule(&read), Ruling::Closed(reading(40)));
    assert_eq!(
        rule(&LaneView {
            account: blocks(BlocksRead { complete: true, ..half_read(100) }),
            ..read.clone()
        }),
        Ruling::Open
    );
    assert_eq!(rule(&LaneView { in_doubt: false, ..read }), Ruling::Open);
}

#[test]
fn progress_is_no_news_and_another_reason_is() {
    let reading = |percent| Gate::Closed(Closed::Reading { gap: Gap::OldCopy, percent });
    assert!(!reading(13).is_news_after(&reading(12)));
    assert!(reading(0).is_news_after(&Gate::Opening) && reading(0).is_news_after(&closed()));
    assert!(Gate::Open.is_news_after(&reading(99)) && !Gate::Open.is_news_after(&Gate::Open));
    let opaque = |byte| Gate::Closed(Closed::Opaque(B256::repeat_byte(byte)));
    assert!(opaque(1).is_news_after(&opaque(2)) && !opaque(1).is_news_after(&opaque(1)));
}

#[test]
fn a_new_lane_begins_behind_everything_that_its_account_has_sent() {
    let nonces = |mined, finalized| Some(NonceView { mined, finalized });
    let first_position = |signer, sent, nonces| first_position(signer, None, sent, nonces);
    assert_eq!(first_position(SIGNER, 7, nonces(7, 7)), Ok(7));
    let waits = Err(Closed::NotFinal { signer: SIGNER });
    assert_eq!(first_position(SIGNER, 7, nonces(7, 6)), waits, "the last is not final");
    assert_eq!(first_position(SIGNER, 8, nonces(7, 7)), waits, "one is in a pool");
    assert_eq!(first_position(SIGNER, 0, None), Ok(0));
}

/// Of a copy from before the lane, whatever the account has sent since it was left is forgotten.
#[test]
fn a_lane_that_a_copy_does_not_know_begins_where_its_account_stood_when_the_journal_was_left() {
    let nonces = Some(NonceView { mined: 9, finalized: 9 });
    assert_eq!(first_position(SIGNER, Some(4), 9, nonces), Ok(4));
    assert_eq!(first_position(SIGNER, Some(0), 9, nonces), Ok(0));
}

fn any_gate() -> impl Strategy<Value = Gate> {
    prop_oneof![Just(Gate::Opening), Just(Gate::Open), Just(closed())]
}

fn any_account() -> impl Strategy<Value = AccountView> {
    prop_oneof![
        (0..6_u64, 0..6_u64).prop_map(|(finalized, more)| {
            AccountView::Nonces(NonceView { mined: finalized.saturating_add(more), finalized })
        }),
        Just(AccountView::Blocks(None)),
        (0..101_u64, any::<bool>())
            .prop_map(|(percent, complete)| blocks(BlocksRead { complete, ..half_read(percent) })),
    ]
}

fn any_lane() -> impl Strategy<Value = LaneView> {
    let known = (any_gate(), 0..9_u64, any::<bool>(), 0..3_usize, any::<bool>());
    let pools = proptest::option::of(0..12_u64);
    let places = proptest::option::weighted(0.1, 0..9_u64);
    let places = (places.clone(), places);
    (known, any_account(), pools, any::<Option<[u8; 32]>>(), places).prop_map(
        |((gate, next, in_doubt, undecided, learnt), account, pools, opaque, places)| LaneView {
            signer: SIGNER,
            gate,
            next,
            in_doubt,
            undecided,
            account,
            pools: pools.map_or(PoolView::NotAsked, |count| PoolView::Count(count, vec![])),
            learnt,
            opaque: opaque.map(B256::from),
            unnamed_taker: places.0,
            used_up: places.1,
        },
    )
}

proptest! {
    #[test]
    fn a_lane_is_never_open_while_something_may_be_unknown(lane in any_lane()) {
        if rule(&lane) != Ruling::Open {
            return Ok(());
        }
        prop_assert!(lane.opaque.is_none() && lane.used_up.is_none());
        match lane.account {
            AccountView::Nonces(nonces) => {
                prop_assert!(nonces.mined <= lane.next && lane.unnamed_taker.is_none());
            }
            AccountView::Blocks(Some(read)) => prop_assert!(read.complete || !lane.in_doubt),
            AccountView::Blocks(None) => prop_assert!(!lane.in_doubt),
        }
        prop_assert!(!lane.in_doubt || lane.undecided == 0);
        match (lane.account, &lane.pools) {
            (AccountView::Nonces(_), PoolView::Count(count, _)) => prop_assert!(*count <= lane.next),
            (AccountView::Nonces(_), PoolView::NotAsked) => prop_assert_eq!(lane.gate, Gate::Open),
            (AccountView::Blocks(_), _) => {}
        }
    }

    #[test]
    fn ruling_ends_after_few_questions(start in any_lane()) {
        let mut lane = LaneView { learnt: false, pools: PoolView::NotAsked, ..start };
        for _ in 0..4 {
            match rule(&lane) {
                Ruling::Open | Ruling::Closed(_) => return Ok(()),
                Ruling::LearnPositions { from, to, .. } => {
                    prop_assert!(from < to && lane.undecided == 0);
                    (lane.learnt, lane.next) = (true, to);
                }
                Ruling::LearnFound => {
                    prop_assert_eq!(lane.undecided, 0);
                    lane.learnt = true;
                }
                Ruling::ReadBlocks { .. } => lane.account = blocks(half_read(50)),
                Ruling::AskPools(_) => lane.pools = PoolView::Count(0, vec![]),
            }
        }
        prop_assert!(false, "it goes round in circles: {:?}", lane);
    }
}

#[test]
fn a_lane_whose_key_is_in_use_elsewhere_says_so_and_stays_closed_while_new_blocks_tell_of_more() {
    let read = |rival, young| {
        let read = BlocksRead { percent: 100, complete: true, rival, young };
        let account = AccountView::Blocks(Some(read));
        rule(&LaneView { account, in_doubt: true, learnt: true, ..lane(0, 0, 3) })
    };
    assert_eq!(read(false, false), Ruling::Open);
    assert_eq!(read(true, false), Ruling::Open, "nothing like the newest can land any more");
    let now = Closed::KeyElsewhere { signer: SIGNER };
    assert_eq!(read(true, true), Ruling::Closed(now.clone()));
    let reading = Closed::Reading { gap: Gap::OldCopy, percent: 100 };
    assert_eq!(read(false, true), Ruling::Closed(reading));
    assert!(!Gate::Closed(now.clone()).knows_all());
    assert!(now.to_string().contains("in use elsewhere now: the account T"), "{now}");
}
