use super::*;
use crate::schedule::entry::Due;
use crate::schedule::plan::{Limits, drafts};
use crate::schedule::reconcile::Kind;
use crate::schedule::rules::Rules;
use crate::schedule::standing::{Advice, Decline, Heard};
use serde_json::value::RawValue;
use strum::IntoEnumIterator;

mod ways_out;

const CHAIN: i64 = 139;
const MINUTE: i64 = 60_000;

fn due(id: i64) -> Due {
    let text =
        format!(r#"{{"subscribeId":{id},"chainId":{CHAIN},"planId":5,"userWallet":"0xA{id}"}}"#);
    Due::read(&RawValue::from_string(text).unwrap()).unwrap()
}

fn callback(event: i64, tx_hash: &str, id: i64) -> Callback {
    let who = Who {
        chain: Some(CHAIN),
        plan: Some(5),
        wallet: Some(format!("0xa{id}")),
        trade_no: Some(format!("order-{id}")),
        id: None,
    };
    Callback { event: format!("evt_{event}"), tx_hash: tx_hash.to_owned(), who }
}

struct Desk {
    folder: tempfile::TempDir,
    book: Option<Book>,
    rules: Rules,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut desk = Self { folder, book: None, rules: Rules::default() };
        desk.restart();
        desk
    }

    fn restart(&mut self) {
        self.book = None;
        self.book = Some(Book::open(&self.folder.path().join("s.db")).unwrap());
    }

    fn book(&mut self) -> &mut Book {
        self.book.as_mut().unwrap()
    }

    /// Lists these, and plans whoever may be posted. Answers how many that were.
    fn list(&mut self, ids: &[i64], now_ms: i64) -> usize {
        self.list_entries(ids.iter().map(|id| due(*id)).collect(), now_ms)
    }

    fn list_entries(&mut self, due: Vec<Due>, now_ms: i64) -> usize {
        let admitted = self.admitted(due, now_ms);
        let count = admitted.post.values().map(Vec::len).sum();
        for (chain, post) in admitted.post {
            let plan = drafts(7, chain, post, Limits { entries: 2, bytes: 10_000 });
            self.book().plan(&plan, now_ms).unwrap();
        }
        count
    }

    /// Lists these, and plans nothing.
    fn admitted(&mut self, due: Vec<Due>, now_ms: i64) -> Admitted {
        let rules = self.rules.clone();
        self.book().list(Listed { due, whole: true }, now_ms, &rules).unwrap()
    }

    fn unanswered(&mut self, now_ms: i64) -> Vec<Batch> {
        let rules = self.rules.clone();
        let chains = self.book().chains_to_post(now_ms, &rules).unwrap();
        let of = |chain| self.book().unanswered(chain, now_ms, 100, &rules).unwrap();
        chains.into_iter().flat_map(of).collect()
    }

    fn answer(&mut self, batch: &Batch, heard: Vec<(i64, Heard)>, now_ms: i64) {
        let rules = self.rules.clone();
        self.book().answered(batch, heard, now_ms, &rules).unwrap();
    }

    fn finalize(&mut self, outcomes: Vec<(i64, Heard)>, now_ms: i64) {
        let rules = self.rules.clone();
        let flight = self.book().flights(now_ms, 10).unwrap().remove(0);
        let hashes = vec!["0xBB".to_owned()];
        self.book().looked(&flight, Look::Final { hashes, outcomes }, now_ms, &rules).unwrap();
    }

    fn named(&mut self, now_ms: i64) -> Vec<Kind> {
        let rules = self.rules.clone();
        self.book().reconcile(Inbox::Read, now_ms, &rules).unwrap();
        self.book().named().unwrap().into_keys().map(|difference| difference.kind).collect()
    }

    fn letters(&mut self) -> Vec<serde_json::Value> {
        let letters = self.book().letters(100).unwrap();
        letters.iter().map(|letter| serde_json::from_str(&letter.body).unwrap()).collect()
    }
}

fn accepted() -> Heard {
    Heard::Accepted { tx_hash: "0xAA".to_owned() }
}

fn charged() -> Heard {
    Heard::Charged { tx_hash: Some("0xBB".to_owned()) }
}

#[test]
fn a_plan_outlives_its_process_byte_for_byte() {
    let mut desk = Desk::new();
    assert_eq!(desk.list(&[3, 1, 2], 0), 3);
    let planned = desk.unanswered(0);
    assert_eq!(
        planned.iter().map(|batch| batch.ids.clone()).collect::<Vec<_>>(),
        [vec![1, 2], vec![3]]
    );
    desk.restart();
    assert_eq!(desk.unanswered(0), planned);
    assert_eq!(desk.list(&[1, 2, 3], 1), 0, "what is planned is not planned again");
    let rules = desk.rules.clone();
    desk.book().unheard(&planned[0], "no answer", 0, 0, &rules).unwrap();
    assert_eq!(desk.unanswered(0).len(), 1, "what heard nothing waits for its pause");
    let again = desk.unanswered(2 * rules.silence_ms[0]);
    assert_eq!(again[0].body, planned[0].body);
}

#[test]
fn nobody_is_posted_twice_and_the_next_month_is_posted() {
    let mut desk = Desk::new();
    desk.list(&[1], 0);
    let batch = desk.unanswered(0).remove(0);
    desk.answer(&batch, vec![(1, accepted())], 0);
    assert_eq!(desk.list(&[1], MINUTE), 0, "in flight");
    desk.finalize(vec![(1, charged())], 2 * MINUTE);
    assert_eq!(desk.list(&[1], 3 * MINUTE), 0, "the list lags");
    assert_eq!(desk.list(&[], 4 * MINUTE), 0);
    let month = 30 * 24 * 60 * MINUTE;
    assert_eq!(desk.list(&[1], month), 1);
    let next = desk.unanswered(month).remove(0);
    assert_ne!(next.request_id, batch.request_id);
}

#[test]
fn a_charge_is_told_once_however_long_the_list_lags() {
    let mut desk = Desk::new();
    desk.list(&[1], 0);
    for hour in [0, 2, 4] {
        let now_ms = hour * 60 * MINUTE;
        assert_eq!(desk.list(&[1], now_ms), usize::from(hour > 0), "posted again after an hour");
        let batch = desk.unanswered(now_ms).remove(0);
        // What the Signer answers about a charge that it knows: the transaction.
        desk.answer(&batch, vec![(1, accepted())], now_ms);
        desk.finalize(vec![(1, charged())], now_ms);
    }
    let told = desk.letters();
    assert_eq!(told.iter().filter(|letter| letter["type"] == "charged").count(), 1, "{told:?}");
}

#[test]
fn days_that_were_missed_are_one_post() {
    let mut desk = Desk::new();
    let day = 24 * 60 * MINUTE;
    assert_eq!(desk.list(&[1, 2], 3 * day), 2);
    assert_eq!(desk.list(&[1, 2], 3 * day + MINUTE), 0);
    assert_eq!(desk.unanswered(3 * day + MINUTE).len(), 1);
}

#[test]
fn callbacks_match_by_any_hash_of_the_transaction_whichever_comes_first() {
    for callback_first in [true, false] {
        let mut desk = Desk::new();
        desk.list(&[1, 2], 0);
        let batch = desk.unanswered(0).remove(0);
        desk.answer(&batch, vec![(1, accepted()), (2, accepted())], 0);
        // The winner of the race has another hash than the answer told, and callbacks name it.
        let told = [callback(7, "bb", 2)];
        if callback_first {
            desk.book().take_callbacks(&told, "7", 0).unwrap();
        }
        desk.finalize(vec![(1, charged()), (2, charged())], MINUTE);
        if !callback_first {
            desk.book().take_callbacks(&told, "7", 0).unwrap();
        }
        assert_eq!(desk.book().cursor().unwrap(), "7");
        assert_eq!(desk.named(20 * MINUTE), []);
        let late = 60 * MINUTE;
        assert_eq!(desk.named(late), [Kind::ChargedWithoutCallback], "{callback_first}");
        desk.book().take_callbacks(&[callback(8, "0xAA", 1)], "8", late).unwrap();
        assert_eq!(desk.named(late), []);
        let told: Vec<_> = desk.letters().iter().map(|letter| letter["type"].clone()).collect();
        assert_eq!(told, ["charged", "charged", "booksDiffer", "booksAgree"]);
    }
}

#[test]
fn a_callback_that_nothing_confirms_gets_a_name() {
    let mut desk = Desk::new();
    desk.book().take_callbacks(&[callback(1, "0xCC", 1)], "1", 0).unwrap();
    let rules = desk.rules.clone();
    let flight = desk.book().flights(0, 1).unwrap().remove(0);
    desk.book().looked(&flight, Look::Unknown, 0, &rules).unwrap();
    assert_eq!(desk.book().open_flights().unwrap().0, 0);
    desk.named(0);
    assert_eq!(desk.named(60 * MINUTE), [Kind::CallbackWithoutCharge]);
}

/// The loop asks all of this once a second, however many subscriptions there are.
#[test]
fn what_is_asked_all_the_time_reads_no_whole_table() {
    let mut desk = Desk::new();
    for sql in Kind::iter().map(differences::query).chain([CENSUS]) {
        let conn = desk.book().store.conn();
        let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let unbound = vec![0; plan.parameter_count()];
        let steps = plan.query_map(rusqlite::params_from_iter(unbound), |row| row.get(3));
        let steps: Vec<String> = steps.unwrap().collect::<Result<_, _>>().unwrap();
        // A flight is a transaction, of which there are few.
        let whole = |step: &&String| step.starts_with("SCAN") && !step.contains("INDEX");
        let whole: Vec<_> =
            steps.iter().filter(whole).filter(|step| *step != "SCAN flight").collect();
        assert!(whole.is_empty(), "{sql}: {whole:?}");
    }
}

#[test]
fn a_batch_too_large_is_halved_and_later_ones_are_smaller() {
    let mut desk = Desk::new();
    desk.list(&[1, 2], 0);
    let batch = desk.unanswered(0).remove(0);
    let members = desk.book().members(&batch).unwrap();
    let parts = drafts(7, CHAIN, members, Limits { entries: 1, bytes: 10_000 });
    let rules = desk.rules.clone();
    desk.book().split(&batch, &parts, Some(1), 0, &rules).unwrap();
    let halves = desk.unanswered(0);
    assert_eq!(halves.iter().map(|half| half.ids.clone()).collect::<Vec<_>>(), [[1], [2]]);
    let ceiling = |book: &Book, now_ms| book.ceiling(CHAIN, now_ms, &rules).unwrap();
    assert_eq!(ceiling(desk.book(), 59 * MINUTE), Some(1));
    assert_eq!(ceiling(desk.book(), 60 * MINUTE), None, "what fits is tried again");
    let decline = Decline {
        advice: Advice::User,
        code: "BALANCE_INSUFFICIENT".to_owned(),
        reason: "Balance insufficient".to_owned(),
    };
    desk.answer(&halves[0], vec![(1, Heard::Refused(decline))], 0);
    assert_eq!(desk.letters()[0]["subscribeId"], 1);
    assert_eq!(desk.list(&[1, 2], MINUTE), 0);
    assert_eq!(desk.list(&[2], MINUTE), 0);
    assert_eq!(desk.letters()[1]["type"], "customerSettled", "it is off the list");
    assert_eq!(desk.list(&[1, 2], 2 * MINUTE), 1, "free to be posted when it is due again");
    let posted = desk.unanswered(2 * MINUTE);
    assert!(posted.iter().all(|one| one.request_id != batch.request_id));
}

#[test]
fn those_who_fall_due_together_are_posted_one_after_the_other() {
    let mut desk = Desk::new();
    let window = 60 * MINUTE;
    desk.rules = desk.rules.clone().with_spread(window);
    let ids: Vec<i64> = (1..=100).collect();
    let mut posted = 0;
    for minute in 0..60 {
        let now = desk.list(&ids, minute * MINUTE);
        assert!(now < 20, "{now} of 100 in minute {minute}");
        posted += now;
        let missed = desk.named(minute * MINUTE).contains(&Kind::ListedButNotPosted);
        assert!(!missed, "whoever waits for a turn is not missed");
    }
    posted += desk.list(&ids, window);
    assert_eq!(posted, 100);
}

#[test]
fn what_is_settled_leaves_and_what_is_not_stays() {
    let mut desk = Desk::new();
    desk.list(&[1, 2, 3], 0);
    let batch = desk.unanswered(0).remove(0);
    desk.answer(&batch, vec![(1, accepted()), (2, accepted())], 0);
    desk.finalize(vec![(1, charged()), (2, charged())], MINUTE);
    desk.book().take_callbacks(&[callback(1, "0xAA", 1)], "1", MINUTE).unwrap();
    desk.book().take_callbacks(&[callback(2, "0xCC", 9)], "2", MINUTE).unwrap();
    let last = desk.book().letters(100).unwrap().last().unwrap().id;
    desk.book().sent(last).unwrap();
    let (rules, later) = (desk.rules.clone(), 365 * 24 * 60 * MINUTE);
    let count = |desk: &mut Desk, table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        desk.book().store.conn().query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let tables = ["batch", "member", "charge", "callback", "alias", "outbox", "subscription"];
    let counts = |desk: &mut Desk| tables.map(|table| count(desk, table));
    assert_eq!(counts(&mut desk), [2, 3, 2, 2, 1, 2, 3]);
    assert_eq!(desk.book().prune(Inbox::Read, MINUTE, &rules).unwrap(), 2, "what the inbox has");
    let dropped = desk.book().prune(Inbox::Read, later, &rules).unwrap();
    // The batch without a verdict, the charge without a callback, and the callback without a charge.
    assert_eq!(counts(&mut desk), [1, 1, 1, 1, 1, 0, 3]);
    assert_eq!(dropped, 1 + 2 + 1 + 1);
    assert_eq!(desk.book().prune(Inbox::Read, later + MINUTE, &rules).unwrap(), 0, "once a day");
    assert_eq!(desk.unanswered(0).len(), 1);
    let names = desk.named(later);
    assert!(names.contains(&Kind::ChargedWithoutCallback), "{names:?}");
    assert!(names.contains(&Kind::CallbackWithoutCharge), "{names:?}");
    desk.book().prune(Inbox::None, 2 * later, &rules).unwrap();
    assert_eq!(count(&mut desk, "charge"), 0, "without an inbox no callback is waited for");
}
