//! A claim is the right to a charge: two walls around each, and a guard where there are no periods.

use super::*;

#[tokio::test]
async fn a_user_and_a_subscription_are_claimed_separately_for_each_period() {
    let mut other_user = item(1, 1);
    other_user.key.user = user(9);
    let mut other_plan = item(1, 1);
    other_plan.key.plan = PlanId(4);
    let mut other_subscription = item(1, 1);
    other_subscription.subscribe = SubscribeId(9);
    let mut other_amount = item(1, 1);
    other_amount.amount = U256::from(501);
    let mut both_other = other_subscription;
    both_other.key.plan = PlanId(4);
    let table = [
        ("the same charge", item(1, 1), false),
        ("with another amount", other_amount, false),
        ("the subscription, with another user", other_user, false),
        ("the subscription, with another plan", other_plan, false),
        ("the user, with another subscription", other_subscription, false),
        ("another subscription to another plan", both_other, true),
        ("the next period", item(1, 2), true),
        ("another customer", item(2, 1), true),
    ];
    for (what, item_asked, free) in table {
        let book = Book::new().await;
        assert!(book.takes(item(1, 1)).await);
        assert_eq!(book.claims(item_asked).await.is_empty(), free, "looking for {what}");
        assert_eq!(book.takes(item_asked).await, free, "{what}");
    }
}

#[tokio::test]
async fn another_contract_or_chain_claims_for_itself() {
    let book = Book::new().await;
    let chain = PlatformChainId(140);
    let network = Network { id: 1, ..NETWORK };
    book.journal.bind(Binding { chain, network, ..binding() }, NOW_MS).await.unwrap();
    let elsewhere = LaneId { chain, signer: SIGNER };
    book.journal.lane(elsewhere).open(500, NOW_MS).await.unwrap();
    for (contract, chain) in [(CONTRACT, CHAIN), (SIGNER, CHAIN), (CONTRACT, chain)] {
        let origin = Origin { lane: LaneId { chain, signer: SIGNER }, contract };
        let twice = [(); 2].map(|()| Proposal { origin, ..proposal(&[item(1, 1)]) });
        let [first, second] = twice.map(|proposal| book.take(proposal));
        let batch = first.await.unwrap().batch;
        assert!(matches!(second.await, Err(AcceptError::Claimed)));
        let scope = ClaimScope { chain, contract, chain_time: 0 };
        let found = book.journal.claims(scope, vec![subject(item(1, 1))]).await.unwrap();
        assert_eq!(found[0].iter().map(|claim| claim.by.batch).collect::<Vec<_>>(), [batch]);
    }
}

#[tokio::test]
async fn a_claim_is_found_by_either_name_and_in_the_order_asked() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1), item(2, 1)]).await.unwrap();
    let mut crossed = item(1, 1);
    crossed.subscribe = SubscribeId(2);
    let subjects = [item(3, 1), crossed, item(2, 1), item(2, 2), item(1, 1)].map(subject);
    let scope = ClaimScope { chain: CHAIN, contract: CONTRACT, chain_time: 0 };
    let found = book.journal.claims(scope, subjects.to_vec()).await.unwrap();
    let whose = |claims: &Vec<Claim>| claims.iter().map(|c| c.subscribe.0).collect::<Vec<_>>();
    assert_eq!(
        found.iter().map(whose).collect::<Vec<_>>(),
        [
            vec![],
            vec![1, 2], // the user is in one claim, the subscription in another
            vec![2],
            vec![],
            vec![1],
        ]
    );
    let claim = found[4][0];
    assert_eq!((claim.key, claim.amount), (item(1, 1).key, item(1, 1).amount));
    let hash = slot.attempts.newest().get().signed.hash;
    assert_eq!(
        (claim.by.batch, claim.by.state, claim.by.hash),
        (slot.batch, ClaimState::Open, hash)
    );
}

#[tokio::test]
async fn without_a_period_only_an_undecided_charge_stands_in_the_way() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 4), item(2, 4), item(3, 4)]).await.unwrap();
    let any_period = |item| Subject { period: None, ..subject(item) };
    let mut by_user = item(1, 9);
    by_user.subscribe = SubscribeId(77);
    let mut by_id = item(1, 9);
    by_id.key.user = user(77);
    for asked in [item(1, 9), by_user, by_id] {
        let found = book.claims_at(0, any_period(asked)).await;
        assert_eq!(found.iter().map(|c| c.key).collect::<Vec<_>>(), [item(1, 4).key]);
        assert!(book.claims(asked).await.is_empty(), "period 9 itself is free");
    }
    let outcomes = vec![ItemOutcome::Charged, short_of_allowance(), ItemOutcome::Unproven];
    book.settle(end(&slot, BatchState::Charged, outcomes)).await;
    for who in [1, 2, 3] {
        assert!(book.claims_at(0, any_period(item(who, 9))).await.is_empty(), "{who}");
    }
    assert_eq!(book.claims(item(1, 4)).await.len(), 1, "its period stays claimed for ever");
}

#[tokio::test]
async fn a_charge_without_a_period_is_guarded_until_chain_time_has_passed() {
    let book = Book::new().await;
    let at = |chain_time, item| Proposal { chain_time, ..proposal(&[item]) };
    let taken = async |chain_time, item| book.take(at(chain_time, item)).await.is_ok();
    let slot = book.accept(&[guarded(1)]).await.unwrap();
    assert!(!taken(u64::from(u32::MAX), guarded(1)).await, "undecided: no time frees it");
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;

    let mut same_user = guarded(1);
    same_user.subscribe = SubscribeId(9);
    let mut same_subscription = guarded(1);
    same_subscription.key.user = user(9);
    for (time, held) in [(0, 1), (1_599, 1), (1_600, 0), (1_601, 0)] {
        let found = book.claims_at(time, subject(guarded(1))).await;
        assert_eq!(found.len(), held, "{time}");
        assert!(found.iter().all(|claim| claim.by.state == ClaimState::Charged));
    }
    for asked in [guarded(1), same_user, same_subscription] {
        assert!(!taken(1_599, asked).await, "a second too early");
    }
    assert!(taken(1_600, guarded(1)).await, "the guard is over");
    assert!(!taken(1_600, guarded(1)).await, "and holds again for the next charge");
    assert_eq!(book.claims_at(1_600, subject(guarded(1))).await.len(), 1);
}

#[tokio::test]
async fn a_guard_that_is_over_frees_what_is_asked_for_and_nothing_else() {
    let book = Book::new().await;
    let slot = book.accept(&[guarded(1), guarded(2), item(3, 1)]).await.unwrap();
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged; 3])).await;
    assert_eq!(book.claims_at(9_999, subject(item(3, 1))).await.len(), 1, "it has a period");
    let late = Proposal { chain_time: 9_999, ..proposal(&[guarded(1), item(3, 1)]) };
    let refused = book.take(late).await;
    assert!(matches!(refused, Err(AcceptError::Claimed)), "{refused:?}");
    let live = async |book: &Book| {
        let lines = book.billing(slot.batch).await.items;
        lines.iter().map(|line| line.live).collect::<Vec<_>>()
    };
    assert_eq!(live(&book).await, [true, true, true], "a failed attempt frees nothing");
    let late = Proposal { chain_time: 9_999, ..proposal(&[guarded(1)]) };
    book.take(late).await.unwrap();
    assert_eq!(live(&book).await, [false, true, true], "a period that has a number is for ever");
}
