//! An id of the platform stands for one network, and a network for one id, as long as the journal lives.

use super::*;

#[tokio::test]
async fn a_renumbered_chain_is_refused_since_its_claims_would_be_forgotten() {
    let book = Book::new().await;
    let before = book.everything().await;
    let renumbered = Binding { chain: PlatformChainId(140), ..binding() };
    let told = refused(&book, renumbered).await;
    assert!(told.contains("[chains.139]") && told.contains("[chains.140]"), "{told}");
    let other = Network { id: 1, ..NETWORK };
    let told = refused(&book, Binding { network: other, ..binding() }).await;
    assert!(told.contains("31337") && told.contains("the id 1 of EIP-155"), "{told}");
    book.journal.bind(binding(), NOW_MS).await.unwrap();
    assert_eq!(book.everything().await, before, "nothing of it is written");
    let network = Network { family: Family::Tvm, ..NETWORK };
    let same_number = Binding { chain: PlatformChainId(195), network, ..binding() };
    book.journal.bind(same_number, NOW_MS).await.unwrap();
}

/// Why a chain is not taken as it is configured.
async fn refused(book: &Book, binding: Binding) -> String {
    book.journal.bind(binding, NOW_MS).await.unwrap_err().to_string()
}

/// Has the chain billed like this by a person's word.
async fn accept(book: &Book, binding: &Binding) -> Result<(), NotAccepted> {
    let Binding { chain, contract, naming, .. } = binding.clone();
    let (guard, why) = (Duration::from_mins(10), "it is meant".to_owned());
    book.journal.accept_config(Accepting { chain, contract, naming, guard, why }).await
}

fn named(naming: &str) -> Binding {
    Binding { naming: PeriodNaming::Field(naming.to_owned()), ..binding() }
}

fn without_periods() -> Binding {
    Binding { naming: PeriodNaming::Guard, ..binding() }
}

#[tokio::test]
async fn another_contract_is_billed_through_by_a_persons_word_alone() {
    let book = Book::new().await;
    assert!(book.takes(item(1, 1)).await);
    let (before, other) = (book.everything().await, Binding { contract: SIGNER, ..binding() });
    let told = refused(&book, other.clone()).await;
    assert!(told.contains("networks accept 139"), "{told}");
    assert_eq!(book.everything().await, before, "nothing of it is written");
    accept(&book, &other).await.unwrap();
    let same = accept(&book, &other).await;
    assert!(matches!(same, Err(NotAccepted::Same(_))), "{same:?}");
    let book = book.restart();
    book.journal.bind(other, NOW_MS).await.unwrap();
    refused(&book, binding()).await;
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

#[tokio::test]
async fn another_name_of_the_period_is_taken_by_a_persons_word_alone() {
    for (from, to) in [
        (without_periods(), named("month")),
        (named("month"), named("period")),
        (named("period"), named("month")),
    ] {
        let book = Book::new().await;
        if from != binding() {
            accept(&book, &from).await.unwrap();
        }
        let before = book.everything().await;
        let told = refused(&book, to.clone()).await;
        let (old, new) = (from.naming.to_string(), to.naming.to_string());
        assert!(told.contains(&old) && told.contains(&new), "{told}");
        assert!(told.contains("networks accept 139"), "{told}");
        assert_eq!(book.everything().await, before, "nothing of it is written");
        accept(&book, &to).await.unwrap();
        let book = book.restart();
        book.journal.bind(to, NOW_MS).await.unwrap();
        refused(&book, from).await;
        assert_eq!(book.audit().await.faults, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_charge_without_a_period_meets_every_period_until_its_guard_is_over() {
    let book = Book::new().await;
    accept(&book, &without_periods()).await.unwrap();
    let slot = book.accept(&[guarded(1)]).await.unwrap();
    accept(&book, &named("month")).await.unwrap();
    let book = book.restart();
    assert_eq!(book.claims(item(1, 11)).await.len(), 1, "it is open");
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    let guard_s = 600;
    for (time, claims) in
        [(BLOCK.time, 1), (BLOCK.time + guard_s - 1, 1), (BLOCK.time + guard_s, 0)]
    {
        assert_eq!(book.claims_at(time, subject(item(1, 11))).await.len(), claims, "{time}");
    }
    assert_eq!(book.claims(item(2, 11)).await, [], "somebody else");
}

#[tokio::test]
async fn what_is_open_under_an_older_name_of_the_period_meets_every_other() {
    let book = Book::new().await;
    accept(&book, &named("month")).await.unwrap();
    let slot = book.accept(&[item(1, 11)]).await.unwrap();
    assert_eq!(
        book.claims(item(1, 12)).await,
        [],
        "the next month of the same name is another charge"
    );
    accept(&book, &named("period")).await.unwrap();
    let book = book.restart();
    assert_eq!(book.claims(item(1, 202_611)).await.len(), 1);
    assert_eq!(book.claims(item(1, 11)).await.len(), 1, "told once");
    assert!(book.takes(item(2, 202_611)).await);
    assert_eq!(book.claims(item(2, 202_612)).await, [], "it has the new name");
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    assert_eq!(book.claims(item(1, 202_611)).await, [], "it is decided, and a person has said so");
}

#[tokio::test]
async fn periods_are_given_up_only_when_everything_charged_by_them_is_as_old_as_a_guard() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 11)]).await.unwrap();
    let told = accept(&book, &without_periods()).await.unwrap_err();
    assert!(matches!(told, NotAccepted::Open(_)), "what it charges would meet nothing: {told}");
    let landed = |time_s: u64| {
        let mut ended = end(&slot, BatchState::Charged, vec![ItemOutcome::Charged]);
        if let Verdict::Charged(landed, _) = &mut ended.verdict {
            landed.block.time = time_s;
        }
        ended
    };
    let now_s = u64::try_from(book.journal.now_ms()).unwrap() / 1000;
    book.settle(landed(now_s - 60)).await;
    let told = accept(&book, &without_periods()).await.unwrap_err();
    assert!(matches!(told, NotAccepted::TooSoon { guard_s: 600, .. }), "{told}");
    assert!(told.to_string().contains("Bill nothing on chain 139 for"), "{told}");
}

#[tokio::test]
async fn a_number_that_does_not_fit_is_an_error_and_nothing_is_written() {
    let book = Book::new().await;
    let before = book.everything().await;
    let far = LaneId { signer: Address::repeat_byte(9), ..lane() };
    assert!(book.journal.lane(far).open(u64::MAX, NOW_MS).await.is_err());
    let network = Network { id: u64::MAX, ..NETWORK };
    let too_large = Binding { chain: PlatformChainId(1), network, ..binding() };
    assert!(book.journal.bind(too_large, NOW_MS).await.is_err());
    assert_eq!(book.everything().await, before);
}

#[tokio::test]
async fn a_negative_number_is_an_error_and_never_zero() {
    let book = Book::in_a_file().await;
    book.room.forge();
    book.accept(&[item(1, 1)]).await.unwrap();
    let spoil = "PRAGMA ignore_check_constraints = ON; UPDATE batch SET position = -1";
    book.journal.write(move |conn: &dyn Database| run(conn, spoil)).await.unwrap();
    assert!(book.journal.lane(lane()).take_up().await.is_err());
}

#[tokio::test]
async fn an_imported_charge_without_a_period_meets_every_period_until_its_guard_is_over() {
    let book = Book::new().await;
    accept(&book, &without_periods()).await.unwrap();
    let slot = book.accept(&[guarded(1)]).await.unwrap();
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    accept(&book, &binding()).await.unwrap();
    let book = book.restart();
    assert_eq!(book.claims(item(1, 11)).await.len(), 1, "the journal that charged it");
    let text = book.journal.export_claims().await.unwrap().text;
    let other = Book::new().await;
    let (by, why) = ("operator".to_owned(), "moved".to_owned());
    other.journal.import_claims(text, by, why).await.unwrap();
    let other = other.restart();
    assert_eq!(other.claims(item(1, 11)).await.len(), 1, "the journal that took it over");
}

#[tokio::test]
async fn a_guard_replaces_periods_only_when_what_is_unproven_is_as_old_as_a_guard() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 11)]).await.unwrap();
    let now_s = u64::try_from(book.journal.now_ms()).unwrap() / 1000;
    let mut used_up = end(&slot, BatchState::Charged, vec![ItemOutcome::Charged]);
    used_up.verdict = Verdict::UsedUp(BlockRef { time: now_s - 60, ..BLOCK });
    book.settle(used_up).await;
    let refused = accept(&book, &without_periods()).await.unwrap_err();
    assert!(matches!(refused, NotAccepted::TooSoon { .. }), "{refused}");
}

#[tokio::test]
async fn an_old_copy_changes_no_periods_to_a_guard_before_it_has_learnt_what_it_forgot() {
    let book = Book::in_a_file().await;
    let room = restoring::closed(book).await;
    std::fs::remove_file(beside(&config(&room).path, ".mark")).unwrap();
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    let refused = accept(&book, &without_periods()).await.unwrap_err();
    assert!(matches!(refused, NotAccepted::Forgotten(_)), "{refused}");
    book.journal.set_all_taken_up().await.unwrap();
    let refused = accept(&book, &without_periods()).await.unwrap_err();
    assert!(matches!(refused, NotAccepted::Forgotten(_)), "its own lane is in doubt: {refused}");
    book.journal.lane(lane()).end_doubt(NOW_MS).await.unwrap();
    accept(&book, &without_periods()).await.unwrap();
}
