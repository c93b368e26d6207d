use super::*;
use config::{Caller, Rights};

fn message(byte: u8, at_unix_seconds: i64) -> Proven {
    message_of("k", byte, at_unix_seconds)
}

fn message_of(key: &str, byte: u8, at_unix_seconds: i64) -> Proven {
    let key = key.to_owned();
    let secret = "a secret of the tests".into();
    let caller = Arc::new(Caller { label: key.clone(), key, secret, rights: Rights::default() });
    Proven { caller, sign: [byte; 32], at_unix_seconds }
}

fn new(begun: Result<Judging<&'static str>, AuthError>) -> Ticket<&'static str> {
    match begun {
        Ok(Judging::New(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

async fn again(
    replays: &Replays<&'static str>,
    message: &Proven,
    now: i64,
) -> Option<&'static str> {
    let Ok(Judging::Again(waiting)) = replays.begin(message, now) else { panic!("it is new") };
    match waiting.answer().await {
        Answer::Given(answer) => Some(answer),
        Answer::Forgotten => None,
        Answer::Pending => panic!("it waits"),
    }
}

#[tokio::test]
async fn a_repeated_message_hears_what_the_first_heard_or_waits_for_it() {
    let replays = Replays::new(1000);
    let ticket = new(replays.begin(&message(1, 1000), 1000));
    let first = message(1, 1000);
    let (heard, ()) = tokio::join!(again(&replays, &first, 1001), async {
        tokio::task::yield_now().await;
        ticket.answer("yes", 3);
    });
    assert_eq!(heard, Some("yes"));
    assert_eq!(again(&replays, &message(1, 1000), 1060).await, Some("yes"));
    drop(new(replays.begin(&message(2, 1000), 1060)));
    assert_eq!(again(&replays, &message(2, 1000), 1060).await, None, "cut short: not judged again");
}

#[tokio::test]
async fn a_message_that_nothing_was_done_for_is_new_when_it_comes_again() {
    let replays = Replays::new(1000);
    let first = message(1, 1000);
    let ticket = new(replays.begin(&first, 1000));
    let (heard, ()) = tokio::join!(again(&replays, &first, 1000), async {
        tokio::task::yield_now().await;
        ticket.give_back("too much to do");
    });
    assert_eq!(heard, Some("too much to do"), "who waited with it hears the same");
    new(replays.begin(&message(1, 1000), 1001)).answer("yes", 3);
    assert_eq!(again(&replays, &message(1, 1000), 1002).await, Some("yes"));
}

#[test]
fn nothing_older_than_the_start_or_than_what_is_forgotten_is_taken() {
    let replays = Replays::<&str>::new(1000);
    let too_old = |timestamp, oldest| AuthError::TooOld { timestamp, oldest };
    assert_eq!(replays.begin(&message(1, 999), 1000).unwrap_err(), too_old(999, 1000));
    assert_eq!(replays.check_age(999), Err(too_old(999, 1000)));
    new(replays.begin(&message(1, 1010), 1010)).answer("yes", 3);
    assert!(matches!(replays.begin(&message(1, 1010), 1070), Ok(Judging::Again(_))));
    drop(new(replays.begin(&message(2, 1071), 1071)));
    // The clock is put back: the window would let the first one in, and nobody remembers it.
    assert_eq!(replays.begin(&message(1, 1010), 1010).unwrap_err(), too_old(1010, 1011));
}

#[tokio::test]
async fn without_room_answers_are_forgotten_and_messages_are_not() {
    let replays = Replays::holding(0, 3, 2 * (100 + OVERHEAD));
    for byte in 1..=3 {
        new(replays.begin(&message(byte, 5), 5)).answer("yes", 100);
    }
    assert_eq!(again(&replays, &message(1, 5), 5).await, None);
    assert_eq!(again(&replays, &message(2, 5), 5).await, Some("yes"));
    assert_eq!(again(&replays, &message(3, 5), 5).await, Some("yes"));
    assert!(
        matches!(replays.begin(&message(4, 5), 5), Ok(Judging::Full)),
        "never the oldest for it"
    );
    drop(new(replays.begin(&message(4, 66), 66)));
}

#[tokio::test]
async fn what_one_process_has_judged_the_next_does_not_judge_again_and_takes_what_waited() {
    let before = Replays::new(900);
    let (judged, given_back) = (message(1, 1000), message(2, 1000));
    new(before.begin(&judged, 1000)).answer("yes", 3);
    new(before.begin(&given_back, 1000)).give_back("too much to do");
    let cut_short = new(before.begin(&message(3, 1001), 1001));
    let left = before.judged(1002).to_string().parse().unwrap();
    drop(cut_short);

    let after = Replays::new(1010);
    after.take_over(left);
    assert_eq!(again(&after, &judged, 1010).await, None, "it was answered, and nobody knows how");
    assert_eq!(again(&after, &message(3, 1001), 1010).await, None);
    new(after.begin(&given_back, 1010)).answer("yes", 3);
    new(after.begin(&message(4, 1000), 1010)).answer("waited", 3);
    let too_old = after.begin(&message(5, 899), 1010);
    assert!(matches!(too_old, Err(AuthError::TooOld { oldest: 900, .. })), "{too_old:?}");
}

#[test]
fn what_nobody_can_ask_for_again_takes_no_room_while_nothing_is_signed() {
    let replays = Replays::holding(0, 10, 1 << 20);
    for byte in 1..=3 {
        new(replays.begin(&message(byte, byte.into()), 3)).answer("yes", 100);
    }
    let left = || {
        let memory = replays.0.lock();
        let share = memory.shares.get("k").map(|share| (share.kept.len(), share.kept_bytes));
        (memory.answers.len(), share)
    };
    assert_eq!(left(), (3, Some((3, 3 * (100 + OVERHEAD)))));
    replays.forget(2 + CLOCK_WINDOW_SECONDS);
    assert_eq!(left(), (2, Some((2, 2 * (100 + OVERHEAD)))), "the window still has two of them");
    replays.forget(1_000);
    assert_eq!(left(), (0, None));
    assert!(replays.check_age(3).is_err(), "forgotten, and so never judged anew");
}

/// What the program itself keeps, whatever callers sign and however fast.
#[tokio::test]
async fn there_is_room_for_so_many_answers_and_messages_and_no_more() {
    let replays = Replays::new(0);
    for byte in 1..=33 {
        new(replays.begin(&message(byte, 5), 5)).answer("yes", 1 << 20);
    }
    // Of an answer of 1 MiB there is room for 31: each takes a little beside its text.
    assert_eq!(again(&replays, &message(2, 5), 5).await, None);
    assert_eq!(again(&replays, &message(3, 5), 5).await, Some("yes"));
    let mut another = message(0, 5);
    for number in 33_u32..1 << 18 {
        another.sign[..4].copy_from_slice(&number.to_be_bytes());
        drop(new(replays.begin(&another, 5)));
    }
    assert!(matches!(replays.begin(&message(200, 5), 5), Ok(Judging::Full)));
}

#[tokio::test]
async fn whoever_fills_his_own_share_takes_nothing_from_another() {
    let replays = Replays::holding(0, 4, 4 * (100 + OVERHEAD));
    replays.share_among(2);
    let first = message_of("scheduler", 9, 5);
    new(replays.begin(&first, 5)).answer("charged", 100);
    for byte in 1..=2 {
        new(replays.begin(&message_of("viewer", byte, 5), 5)).answer("no", 100);
    }
    let third = replays.begin(&message_of("viewer", 3, 5), 5);
    assert!(matches!(third, Ok(Judging::Full)), "two of four are its own: {third:?}");
    assert_eq!(again(&replays, &first, 5).await, Some("charged"), "another's answer is kept");
    new(replays.begin(&message_of("scheduler", 10, 5), 5)).give_back("too much to do");
    new(replays.begin(&message_of("scheduler", 11, 5), 5)).answer("yes", 100);
    assert_eq!(
        again(&replays, &message_of("renamed", 9, 5), 5).await,
        Some("charged"),
        "a message is the same under another label of its caller"
    );
}
