//! One commit takes position, claims, bytes and history, or nothing.

use super::*;

#[tokio::test]
async fn positions_are_taken_one_after_the_other_and_signed_for() {
    let book = Book::new().await;
    for (who, position) in [(1, FIRST), (2, 8), (3, 9)] {
        let slot = book.accept(&[item(who, 1)]).await.unwrap();
        assert_eq!(slot.position, position);
        assert_eq!(slot.attempts.newest().get().signed, signed(position), "signed for its place");
    }
    assert_eq!(book.next_position().await, 10);
    assert_eq!(book.journal.lane(lane()).open(99, NOW_MS).await.unwrap(), 10, "open already");
}

#[tokio::test]
async fn every_account_of_every_chain_counts_for_itself() {
    let book = Book::new().await;
    let (chain, signer) = (PlatformChainId(140), Address::repeat_byte(0x52));
    let network = Network { id: 1, ..NETWORK };
    book.journal.bind(Binding { chain, network, ..binding() }, NOW_MS).await.unwrap();
    for (chain, signer) in [(chain, SIGNER), (CHAIN, signer)] {
        let lane = LaneId { chain, signer };
        assert_eq!(book.journal.lane(lane).open(0, NOW_MS).await.unwrap(), 0);
    }
    book.accept(&[item(1, 1)]).await.unwrap();
    let mut elsewhere = proposal(&[item(2, 1)]);
    (elsewhere.origin.lane.signer, elsewhere.in_blocks) = (signer, InBlocks::Below(0));
    *elsewhere.sealed.parts().signed = signed(1000);
    assert_eq!(book.take(elsewhere).await.unwrap().position, 0);
    let next = async |chain, signer| {
        book.journal.lane(LaneId { chain, signer }).next_position().await.unwrap()
    };
    assert_eq!(next(CHAIN, SIGNER).await, Some(8));
    assert_eq!(next(CHAIN, signer).await, Some(1));
    assert_eq!(next(chain, SIGNER).await, Some(0));
    assert_eq!(next(chain, signer).await, None, "a lane that nobody opened");
}

#[tokio::test]
async fn what_was_answered_is_what_a_restart_finds() {
    let book = Book::new().await;
    let mut huge = item(2, 1);
    (huge.amount, huge.key.period) = (U256::MAX, Period::Numbered(U256::MAX));
    let mut wanted = proposal(&[item(1, 1), huge, guarded(3)]);
    wanted.request = Some(request("run-1", 1));
    wanted.caller = Some(asked_by());
    let slot = book.take(wanted).await.unwrap();
    let (before, billing) = (book.everything().await, book.billing(slot.batch).await);
    assert_eq!(billing.items.iter().map(|line| line.item).collect::<Vec<_>>(), slot.items);
    assert!(billing.items.iter().all(|line| line.live && line.outcome.is_none()));
    assert_eq!((billing.origin, billing.network), (origin(), NETWORK));
    assert_eq!(billing.caller, Some(asked_by()), "read without the configuration");
    assert_eq!((billing.position, billing.state), (FIRST, BatchState::Open));
    assert_eq!((billing.accepted_ms, billing.settled_ms, billing.winner), (NOW_MS, None, None));

    let book = book.restart();
    let after = book.everything().await;
    assert!(before.iter().all(|row| after.contains(row)), "nothing is changed");
    let new: Vec<_> = after.iter().filter(|row| !before.contains(row)).collect();
    let of_a_start = |row: &&String| row.starts_with("boot ") || row.starts_with("history ");
    assert!(new.iter().all(of_a_start), "{new:?}");
    assert!((1..=2).contains(&new.len()), "the start, and in a file that its log begins: {new:?}");
    let journal = &book.journal;
    assert_eq!(journal.lane(lane()).take_up().await.unwrap().open, std::slice::from_ref(&slot));
    assert_eq!(journal.billing_by_hash(signed(FIRST).hash).await.unwrap(), Some(billing.clone()));
    assert_eq!(journal.billings_by_request("run-1".to_owned(), None).await.unwrap(), [billing]);
    assert_eq!(journal.billings_by_request("run-2".to_owned(), None).await.unwrap(), []);
    assert_eq!(journal.billing_by_hash(signed(FIRST + 1).hash).await.unwrap(), None);
    assert_eq!(
        journal.lane(LaneId { signer: CONTRACT, ..lane() }).take_up().await.unwrap().open,
        []
    );
}

type Change = fn(&mut Proposal);

#[tokio::test]
async fn a_batch_that_is_not_accepted_leaves_nothing_behind() {
    let table: [(&str, Change, &str); 11] = [
        ("its place was taken", |p| p.place(FIRST), "Moved"),
        ("one before it was not accepted", |p| p.place(FIRST + 2), "Moved"),
        ("no room in the window", |p| p.window = 1, "LaneFull"),
        ("a window of nothing", |p| (p.in_blocks, p.window) = (InBlocks::Below(8), 0), "LaneFull"),
        (
            "its place is taken by a stranger",
            |p| p.in_blocks = InBlocks::Below(FIRST + 2),
            "Behind",
        ),
        ("nobody opened the lane", |p| p.origin.lane.signer = CONTRACT, "NoLane"),
        ("the user is claimed", |p| p.sealed.parts().items[1].key = item(1, 1).key, "Claimed"),
        (
            "the subscription is claimed",
            |p| p.sealed.parts().items[1].subscribe = SubscribeId(1),
            "Claimed",
        ),
        (
            "one user twice in it",
            |p| p.sealed.parts().items[1].key = p.sealed.parts().items[0].key,
            "Claimed",
        ),
        (
            "one subscription twice",
            |p| p.sealed.parts().items[1].subscribe = p.sealed.parts().items[0].subscribe,
            "Claimed",
        ),
        (
            "a transaction that exists",
            |p| *p.sealed.parts().signed = signed(FIRST),
            "Journal(Database(",
        ),
    ];
    let book = Book::new().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let before = book.everything().await;
    for (why, change, said) in table {
        let mut proposal = proposal(&[item(2, 1), item(3, 1)]).at(FIRST + 1);
        change(&mut proposal);
        let refused = book.journal.accept(proposal).await.expect_err(why);
        assert!(format!("{refused:?}").starts_with(said), "{why}: {refused:?}");
        assert_eq!(book.everything().await, before, "{why}");
    }
    let slot = book.accept(&[item(2, 1), item(3, 1)]).await.unwrap();
    assert_eq!(slot.position, FIRST + 1, "no place in the lane was lost");
}

#[tokio::test]
async fn the_window_moves_with_the_chain() {
    let book = Book::new().await;
    let windowed = |who, in_blocks| Proposal { in_blocks, window: 2, ..proposal(&[item(who, 1)]) };
    let accept = async |who, in_blocks| book.take(windowed(who, in_blocks)).await;
    accept(1, InBlocks::Below(FIRST)).await.unwrap();
    accept(2, InBlocks::Below(FIRST)).await.unwrap();
    let full = accept(3, InBlocks::Below(FIRST)).await;
    assert!(matches!(full, Err(AcceptError::LaneFull)), "{full:?}");
    accept(3, InBlocks::Below(FIRST + 1)).await.unwrap();
    // Where no positions are counted: what was seen in a block waits for none.
    let full = accept(4, InBlocks::Seen(1)).await;
    assert!(matches!(full, Err(AcceptError::LaneFull)), "{full:?}");
    for who in 4..=40 {
        accept(who, InBlocks::Seen(u64::from(who) - 2)).await.unwrap();
    }
    let full = accept(41, InBlocks::Seen(40)).await;
    assert!(matches!(full, Err(AcceptError::LaneFull)), "what is not final is bounded: {full:?}");
}

#[tokio::test]
async fn a_nearly_full_disk_takes_no_new_charge_but_the_end_of_an_old_one() {
    let mut book = Book::in_a_file().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    book.journal.close().await;
    let full = JournalConfig { min_free_bytes: u64::MAX, ..config(&book.room) };
    book.journal = Journal::open(&full).unwrap();
    let before = book.everything().await;
    let refused = book.accept(&[item(2, 1)]).await;
    let full = |e: &JournalError| matches!(e, JournalError::DiskFull { wanted: u64::MAX, .. });
    assert!(matches!(&refused, Err(AcceptError::Journal(e)) if full(e)), "{refused:?}");
    assert!(book.journal.ready().is_err_and(|e| full(&e)));
    assert_eq!(book.everything().await, before);
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    assert_eq!(book.billing(slot.batch).await.state, BatchState::Charged);
}
