//! Each listed subscription is posted again some day, after all that may be heard or lost, by a right clock or a wrong one.

use super::*;

const HOUR: i64 = 60 * MINUTE;

fn entry(chain: i64, id: i64, more: &str) -> Due {
    let text = format!(r#"{{"subscribeId":{id},"chainId":{chain},"planId":5{more}}}"#);
    Due::read(&RawValue::from_string(text).unwrap()).unwrap()
}

fn period(chain: i64, id: i64, period: i64) -> Vec<Due> {
    vec![entry(chain, id, &format!(r#","period":{period}"#))]
}

fn unproven() -> Heard {
    Heard::Unproven { tx_hash: "0xAA".to_owned() }
}

impl Desk {
    /// Answers the one batch that waits.
    fn answer_all(&mut self, heard: &Heard, now_ms: i64) {
        let batch = self.unanswered(now_ms).remove(0);
        let heard = batch.ids.iter().map(|id| (*id, heard.clone())).collect();
        self.answer(&batch, heard, now_ms);
    }

    /// The Signer answers 404 on everything that is followed.
    fn forgotten(&mut self, now_ms: i64) {
        let rules = self.rules.clone();
        for flight in self.book().flights(i64::MAX, 10).unwrap() {
            self.book().looked(&flight, Look::Unknown, now_ms, &rules).unwrap();
        }
    }

    /// The types of all letters so far.
    fn told(&mut self) -> Vec<String> {
        let letters = self.letters();
        letters.iter().map(|letter| letter["type"].as_str().unwrap().to_owned()).collect()
    }

    fn word(&mut self, chain: i64, id: i64) -> &'static str {
        self.book().standing((chain, id)).unwrap().unwrap().word()
    }
}

#[test]
fn an_unproven_charge_is_asked_about_until_a_person_has_told() {
    let mut desk = Desk::new();
    desk.list(&[1], 0);
    desk.answer_all(&accepted(), 0);
    desk.finalize(vec![(1, unproven())], 0);
    assert_eq!(desk.list(&[1], HOUR - 1), 0);
    assert_eq!(desk.list(&[1], HOUR), 1);
    let unknown = Decline {
        advice: Advice::Fix,
        code: "OUTCOME_UNKNOWN".to_owned(),
        reason: "Outcome of an earlier billing unknown".to_owned(),
    };
    desk.answer_all(&Heard::Refused(unknown), HOUR);
    assert_eq!(desk.told(), ["unproven", "alarm"]);
    assert_eq!(desk.list(&[1], HOUR + MINUTE), 0);
    // A person has said that it charged: the Signer names the transaction, and its status has the word.
    assert_eq!(desk.list(&[1], 3 * HOUR), 1);
    desk.answer_all(&accepted(), 3 * HOUR);
    desk.finalize(vec![(1, charged())], 3 * HOUR);
    assert_eq!(desk.told(), ["unproven", "alarm", "charged"]);
    assert_eq!(desk.word(CHAIN, 1), "charged");
}

#[test]
fn an_unproven_charge_does_not_hold_the_next_period_and_is_told_once() {
    let mut desk = Desk::new();
    desk.list_entries(period(CHAIN, 1, 1), 0);
    desk.answer_all(&accepted(), 0);
    desk.finalize(vec![(1, unproven())], 0);
    assert_eq!(desk.list_entries(period(CHAIN, 1, 1), MINUTE), 0);
    assert_eq!(desk.list_entries(period(CHAIN, 1, 2), MINUTE), 1);
    // The Signer names the same transaction, and nobody has resolved it.
    desk.answer_all(&accepted(), MINUTE);
    desk.finalize(vec![(1, unproven())], MINUTE);
    assert_eq!(desk.told(), ["unproven"]);
}

#[test]
fn a_transaction_that_the_signer_forgot_holds_its_subscriptions_for_an_hour() {
    let mut desk = Desk::new();
    desk.list(&[1], 0);
    desk.answer_all(&accepted(), 0);
    desk.forgotten(MINUTE);
    assert_eq!(desk.list(&[1], HOUR), 0, "unknown is not failed");
    // A look that nobody answers tells nothing.
    let (rules, flight) = (desk.rules.clone(), desk.book().flights(HOUR, 1).unwrap().remove(0));
    desk.book().not_looked(&flight, HOUR, &rules).unwrap();
    assert_eq!(desk.list(&[1], HOUR + MINUTE), 1, "the Signer's claim protects whoever has paid");
    assert!(desk.named(HOUR + MINUTE).contains(&Kind::UnknownToTheSigner));
    desk.answer_all(&accepted(), HOUR + MINUTE);
    desk.forgotten(HOUR + MINUTE);
    assert_eq!(desk.list(&[1], 2 * HOUR), 0, "not with every run");
    assert_eq!(desk.list(&[1], 2 * HOUR + MINUTE), 1);
    assert!(desk.named(2 * HOUR + MINUTE).contains(&Kind::UnknownToTheSigner));
}

#[test]
fn a_forgotten_transaction_that_charged_after_all_is_told_once() {
    let mut desk = Desk::new();
    desk.list(&[1], 0);
    desk.answer_all(&accepted(), 0);
    desk.forgotten(0);
    assert_eq!(desk.list(&[1], HOUR), 1);
    // The Signer has its journal back while the subscription is part of a plan.
    desk.finalize(vec![(1, charged())], HOUR);
    assert_eq!(desk.told(), ["charged"]);
    assert_eq!(desk.word(CHAIN, 1), "planned", "its batch is still to be heard of");
    desk.answer_all(&accepted(), HOUR);
    desk.finalize(vec![(1, charged())], HOUR);
    assert_eq!((desk.told(), desk.word(CHAIN, 1)), (vec!["charged".to_owned()], "charged"));
}

#[test]
fn a_chain_that_got_another_id_leaves_nobody_behind() {
    let mut desk = Desk::new();
    desk.list_entries(period(139, 41, 1), 0);
    desk.answer_all(&accepted(), 0);
    assert_eq!(desk.list_entries(period(140, 41, 1), MINUTE), 1);
    desk.answer_all(&accepted(), MINUTE);
    desk.book()
        .take_callbacks(
            &[Callback {
                event: "evt_1".to_owned(),
                tx_hash: "0xAA".to_owned(),
                who: Who { chain: Some(140), id: Some(41), ..Who::default() },
            }],
            "1",
            MINUTE,
        )
        .unwrap();
    desk.finalize(vec![(41, charged())], 2 * MINUTE);
    assert_eq!((desk.word(139, 41), desk.word(140, 41)), ("charged", "charged"));
    let letters = desk.letters();
    assert_eq!(letters.len(), 1, "one charge is told once: {letters:?}");
    assert_eq!(letters[0]["chainId"], 140);
    assert_eq!(desk.list_entries(period(140, 41, 2), 3 * MINUTE), 1);
    assert_eq!(desk.named(24 * HOUR), [Kind::NoVerdict], "its callback is the charge's");
}

/// As a program left them that asked for one of the two ids alone.
#[test]
fn a_subscription_that_waits_for_no_transaction_is_posted() {
    let mut desk = Desk::new();
    desk.list_entries(period(140, 41, 1), 0);
    desk.answer_all(&accepted(), 0);
    assert_eq!(desk.list_entries(period(140, 41, 2), MINUTE), 0);
    desk.book().store.write(|t| t.execute("DELETE FROM flight", []).map(drop)).unwrap();
    assert_eq!(desk.word(140, 41), "billing");
    assert_eq!(desk.list_entries(period(140, 41, 2), MINUTE), 1);
}

#[test]
fn a_transaction_is_found_by_each_of_its_hashes() {
    let mut desk = Desk::new();
    desk.list(&[1], 0);
    desk.answer_all(&accepted(), 0);
    let (rules, flight) = (desk.rules.clone(), desk.book().flights(0, 1).unwrap().remove(0));
    let hashes = vec!["0xBB".to_owned()];
    desk.book().looked(&flight, Look::Open { hashes }, 0, &rules).unwrap();
    desk.list_entries(vec![due(1), due(2)], MINUTE);
    desk.answer_all(&charged_as_earlier(), MINUTE);
    assert_eq!(desk.list(&[1, 2], 24 * HOUR), 0, "one transaction holds both");
}

/// Another of the hashes of the transaction.
fn charged_as_earlier() -> Heard {
    Heard::Accepted { tx_hash: "0xBB".to_owned() }
}

#[test]
fn parts_of_a_batch_say_what_was_listed_last() {
    let mut desk = Desk::new();
    let month = |month| vec![entry(CHAIN, 1, &format!(r#","month":{month}"#)), due(2)];
    desk.admitted(month(11), 0);
    assert_eq!(desk.list_entries(month(12), MINUTE), 2);
    let body_of =
        |batch: &Batch| -> serde_json::Value { serde_json::from_str(&batch.body).unwrap() };
    let split = |desk: &mut Desk| {
        let batch = desk.unanswered(MINUTE).remove(0);
        assert_eq!(body_of(&batch)["list"][0]["month"], 12);
        let members = desk.book().members(&batch).unwrap();
        let parts =
            drafts(7, CHAIN, members, Limits { entries: batch.ids.len() / 2, bytes: 10_000 });
        let rules = desk.rules.clone();
        desk.book().split(&batch, &parts, None, MINUTE, &rules).unwrap();
        desk.unanswered(MINUTE).remove(0)
    };
    // A batch that may have been heard of stays what it was, whatever is listed meanwhile.
    assert_eq!(desk.list_entries(month(13), MINUTE), 0);
    let part = split(&mut desk);
    assert_eq!((part.ids.as_slice(), &body_of(&part)["list"][0]["month"]), (&[1][..], &12.into()));
    desk.answer(&part, vec![(1, unproven())], MINUTE);
    desk.list_entries(month(13), 2 * MINUTE);
    assert_eq!(desk.list_entries(month(13), 3 * MINUTE), 1);
}

#[test]
fn a_period_of_any_name_ends_a_pause_and_noise_does_not() {
    let mut desk = Desk::new();
    let refused = Heard::Refused(Decline {
        advice: Advice::User,
        code: "BALANCE_INSUFFICIENT".to_owned(),
        reason: "Balance insufficient".to_owned(),
    });
    let month = |month, now_ms: i64| {
        vec![entry(CHAIN, 1, &format!(r#","month":{month},"updateTime":"{now_ms}""#))]
    };
    let noisy = |now_ms: i64| vec![entry(CHAIN, 1, &format!(r#","month":12,"askedAt":{now_ms}"#))];
    assert_eq!(desk.list_entries(month(11, 0), 0), 1);
    desk.answer_all(&refused, 0);
    for now_ms in 1..5 {
        assert_eq!(desk.list_entries(month(11, now_ms), now_ms), 0);
    }
    assert_eq!(desk.list_entries(month(12, 5), 5), 0, "it may be noise");
    assert_eq!(desk.list_entries(month(12, 6), 6), 1);
    desk.answer_all(&refused, 6);
    for now_ms in 7..20 {
        assert_eq!(desk.list_entries(noisy(now_ms), now_ms), 0, "it changes all the time");
    }
    assert_eq!(desk.list_entries(noisy(99), 99), 0);
    assert_eq!(desk.list_entries(noisy(99), 100), 1);
}

/// A spread counts from the first listing, also where a field changes with every reading.
#[test]
fn noise_moves_no_turn() {
    let mut desk = Desk::new();
    desk.rules = desk.rules.clone().with_spread(HOUR);
    let noisy =
        |now_ms: i64| (1..20).map(move |id| entry(CHAIN, id, &format!(r#","askedAt":{now_ms}"#)));
    let posted: usize =
        (0..=60).map(|minute| desk.list_entries(noisy(minute).collect(), minute * MINUTE)).sum();
    assert_eq!(posted, 19);
}

/// The state of a program that took digests of the named fields alone.
#[test]
fn an_older_file_is_read_and_nothing_is_posted_anew_for_it() {
    let mut desk = Desk::new();
    desk.list(&[1], 0);
    desk.answer_all(&accepted(), 0);
    desk.finalize(vec![(1, charged())], 0);
    let older = "UPDATE subscription SET terms = substr(terms, 1, 32), posted_terms = substr(posted_terms, 1, 32)";
    desk.book().store.write(|t| t.execute(older, []).map(drop)).unwrap();
    desk.restart();
    for minute in 1..5 {
        assert_eq!(desk.list(&[1], minute * MINUTE), 0);
    }
    assert_eq!(desk.list_entries(period(CHAIN, 1, 2), 5 * MINUTE), 1);
}

#[test]
fn a_clock_that_was_ahead_for_a_minute_holds_nothing_back() {
    let mut desk = Desk::new();
    desk.rules = desk.rules.clone().with_spread(HOUR);
    let year = 365 * 24 * HOUR;
    desk.list(&[1, 2], 0);
    let (now_ms, rules) = (HOUR, desk.rules.clone());
    assert_eq!(desk.list(&[1, 2, 3], now_ms), 2);
    let batch = desk.unanswered(now_ms).remove(0);
    desk.book().unheard(&batch, "no answer", year, 0, &rules).unwrap();
    assert_eq!(desk.unanswered(now_ms), [Batch { tries: 1, ..batch.clone() }]);
    // A Signer may ask for a longer pause than any other, and is obeyed.
    desk.book().unheard(&batch, "busy", now_ms, HOUR, &rules).unwrap();
    assert_eq!(desk.unanswered(now_ms), []);
    desk.book().unheard(&batch, "busy", now_ms, year, &rules).unwrap();
    assert_eq!(desk.unanswered(now_ms), []);
    assert_eq!(desk.unanswered(3 * HOUR).len(), 1);
    let wait =
        Decline { advice: Advice::Wait, code: "NOT_DUE_YET".to_owned(), reason: String::new() };
    desk.answer(&batch, vec![(1, Heard::Refused(wait)), (2, charged())], year);
    // Listed for the first time while the clock was ahead.
    assert_eq!(desk.list(&[1, 2, 3, 4], year), 1);
    assert_eq!(desk.list(&[1, 2, 3, 4], 2 * HOUR), 3, "a pause, a charge and a turn are over");
}
