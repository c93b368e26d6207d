//! Whatever is posted: one clear envelope, and nothing changes. No batch in the journal, no
//! transaction, nobody pays.

use crate::world::signer::{EVM_PATH, Heard, Scheduler, Signer, TVM_PATH, hear, unix_seconds};
use crate::world::town::{Town, entry};
use serde_json::{Value, json};

/// What is posted, and what must be heard.
struct Case {
    what: &'static str,
    body: String,
    status: u16,
    code: i64,
    /// Part of `msg`, or of the first `failReason`.
    says: &'static str,
}

/// Text, or JSON as text.
struct Body(String);

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<Value> for Body {
    fn from(json: Value) -> Self {
        Self(json.to_string())
    }
}

fn malformed(what: &'static str, body: impl Into<Body>, says: &'static str) -> Case {
    Case { what, body: body.into().0, status: 400, code: 0, says }
}

fn refused(what: &'static str, body: impl Into<Body>, says: &'static str) -> Case {
    Case { what, body: body.into().0, status: 200, code: 2, says }
}

/// A body with one entry, in which this field is spelt like this.
fn with(town: &Town, field: &str, spelling: &str) -> String {
    let mut entry = entry(&town.people[0], 1);
    entry[field] = json!("HERE");
    format!("[{}]", entry.to_string().replace("\"HERE\"", spelling))
}

/// A body with one entry, which lacks this field.
fn without(town: &Town, field: &str) -> Value {
    let mut entry = entry(&town.people[0], 1);
    entry.as_object_mut().unwrap().remove(field).unwrap();
    json!([entry])
}

fn shapes(town: &Town) -> Vec<Case> {
    let list = json!(town.entries([0]));
    let failed_list = json!({"code": 500, "msg": "x", "data": {"list": list}});
    let option = |name: &str, value: Value| json!({name: value, "list": list});
    let enveloped = |name: &str| json!({"code": 200, "data": {"list": list}, name: true});
    let inside = json!({"code": 200, "data": {"list": list, "dryRun": true}});
    let twice = format!(r#"{{"dryRun":true,"dryRun":false,"list":{list}}}"#);
    vec![
        malformed("not JSON", "{nonsense", "cannot be read"),
        malformed("no JSON either", "nonsense", "JSON object or array"),
        malformed("a number", "1", "JSON object or array"),
        malformed("half a list", "[{\"subscribeId\":1", "cannot be read"),
        malformed("two documents", "[][]", "cannot be read"),
        malformed("nothing to charge", "[]", "the list is empty"),
        malformed("no list", "{}", "there is no `list`"),
        malformed("a list that is none", json!({"list": {"a": 1}}), "cannot be read"),
        malformed("numbers as entries", "[1,2]", "expected an object"),
        malformed("a deep hole", "[".repeat(100_000), "cannot be read"),
        malformed("a deep hole with an end", "[".repeat(9_000) + &"]".repeat(9_000), "read"),
        malformed("an error passed on", failed_list, "code 500, not 200"),
        malformed("dryrun", option("dryrun", json!(true)), "did you mean dryRun?"),
        malformed("dry_run", option("dry_run", json!(true)), "did you mean dryRun?"),
        malformed("dryRun as text", option("dryRun", json!("true")), "must be true or false"),
        malformed("mode", option("mode", json!("some")), "\"all\" or \"partial\""),
        malformed("requestId", option("requestId", json!("a b")), "requestId must be"),
        malformed("an option twice", twice, "stated twice"),
        malformed(
            "an option inside the platform's page",
            inside,
            "did you mean dryRun? Write it beside data",
        ),
        malformed("a misspelt one in its envelope", enveloped("dry-run"), "did you mean dryRun?"),
    ]
}

fn entries(town: &Town) -> Vec<Case> {
    let amount = |spelling: &str| with(town, "amount", spelling);
    let whole = "must be a whole number from 0";
    let two_chains = {
        let mut entries = town.entries([0, 1]);
        entries[1]["chainId"] = json!(56);
        json!(entries)
    };
    let huge = format!("1{}", "0".repeat(78));
    let unknown_chain = with(town, "chainId", "7");
    vec![
        malformed("no id", without(town, "subscribeId"), "list[0].subscribeId is missing"),
        malformed("a negative id", with(town, "subscribeId", "-1"), "list[0].subscribeId must be"),
        malformed("half an id", with(town, "subscribeId", "1.5"), "list[0].subscribeId must be"),
        malformed("a plan as a list", with(town, "planId", "[7]"), "list[0].planId"),
        malformed("a plan too large", with(town, "planId", "9223372036854775808"), "2^63 - 1"),
        malformed("a short hash", with(town, "userHash", "\"0x12\""), "64 hex digits"),
        malformed("an amount twice", with(town, "amount", "1,\"amount\":2"), "stated twice"),
        malformed("two chains", two_chains, "the same in every entry"),
        malformed("a chain with a name", with(town, "chainId", "\"bsc\""), "chainId must be"),
        malformed("no chain", without(town, "chainId"), "chainId is missing"),
        Case {
            what: "a chain unknown",
            body: unknown_chain,
            status: 404,
            code: 0,
            says: "chain 7",
        },
        refused("a negative amount", amount("-1"), whole),
        refused("half an amount", amount("1.5"), whole),
        refused("a round fraction", amount("1.0"), whole),
        refused("an exponent", amount("1e18"), whole),
        refused("an exponent in text", amount("\"1e18\""), whole),
        refused("a blank in text", amount("\" 1\""), whole),
        refused("hex", amount("\"0x10\""), whole),
        refused("more than 256 bits", amount(&huge), whole),
        refused("more than the contract takes", amount(&huge[..40]), "2^128 - 1"),
        refused("true", amount("true"), "amount"),
        refused("a list", amount("[1]"), "amount"),
        refused("no amount", without(town, "amount"), "amount is missing"),
        refused("null", amount("null"), "amount is missing"),
        refused("a wallet of TRON", with(town, "userWallet", TRON), "is a TRON address"),
        refused("a token of TRON", with(town, "tokenAddress", TRON), "is a TRON address"),
        refused("a mistyped wallet", with(town, "userWallet", MISTYPED), "wrong checksum"),
        refused("a wallet as a number", with(town, "userWallet", "5"), "userWallet"),
        refused("a negative period", with(town, "period", "-1"), "period"),
    ]
}

const TRON: &str = "\"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t\"";
const MISTYPED: &str = "\"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD\"";

/// The four fields of every answer, with a message that says something.
fn is_clear(heard: &Heard, what: &str) {
    let fields: Vec<&String> = heard.body.as_object().expect(what).keys().collect();
    assert_eq!(fields, ["code", "data", "description", "msg"], "{what}: {heard:?}");
    assert_eq!(heard.body["description"], Value::Null, "{what}");
    if heard.code() == 0 {
        assert_eq!(heard.body["data"], Value::Null, "{what}");
    }
}

fn expect(heard: &Heard, case: &Case) {
    is_clear(heard, case.what);
    assert_eq!((heard.status, heard.code()), (case.status, case.code), "{}: {heard:?}", case.what);
    let said =
        if case.code == 0 { &heard.body["msg"] } else { &heard.body["data"][0]["failReason"] };
    assert!(said.as_str().unwrap().contains(case.says), "{}: {said}", case.what);
    if case.code == 2 {
        assert_eq!(heard.body["data"][0]["failCode"], "INVALID_ENTRY", "{}", case.what);
    }
}

fn turned_away(heard: &Heard, status: u16, says: &'static str) {
    expect(heard, &Case { what: says, body: String::new(), status, code: 0, says });
}

/// Nothing in the journal, nothing on the chain.
async fn nothing_changed(town: &Town, signer: Signer) {
    signer.terminate().await;
    let batches: i64 = rusqlite::Connection::open(town.installation.journal())
        .and_then(|file| file.query_row("SELECT count(*) FROM batch", [], |row| row.get(0)))
        .unwrap();
    assert_eq!((batches, town.transactions().await), (0, 0));
    town.assert_paid(&[0, 0, 0]).await;
}

#[tokio::test]
async fn a_body_that_makes_no_sense_is_answered_clearly_and_charges_nobody() {
    let town = Town::found().await;
    let signer = town.signer().await;
    for case in shapes(&town).iter().chain(&entries(&town)) {
        let heard = signer.scheduler.post(EVM_PATH, case.body.as_bytes()).await;
        expect(&heard.unwrap_or_else(|| panic!("{}: no answer", case.what)), case);
    }
    let heard = signer.scheduler.post(EVM_PATH, b"[{\"subscribeId\":\"\xFF\"}]").await.unwrap();
    turned_away(&heard, 400, "cannot be read");
    nothing_changed(&town, signer).await;
}

#[tokio::test]
async fn a_subscription_that_is_listed_twice_is_charged_not_even_once() {
    let town = Town::found().await;
    let signer = town.signer().await;
    let mut same_user = town.entries([0, 0]);
    same_user[1]["subscribeId"] = json!(999);
    let mut same_number = town.entries([0, 1]);
    same_number[1]["subscribeId"] = same_number[0]["subscribeId"].clone();
    for list in [town.entries([0, 1, 0]), same_user, same_number] {
        let heard = signer.scheduler.bill(&json!(list)).await;
        is_clear(&heard, "duplicates");
        assert_eq!((heard.status, heard.code()), (200, 2), "{heard:?}");
        let codes: Vec<String> = heard.failures().into_iter().map(|(_, code)| code).collect();
        assert!(codes.contains(&"DUPLICATE_ENTRY".to_owned()), "{heard:?}");
    }
    nothing_changed(&town, signer).await;
}

#[tokio::test]
async fn more_than_fits_is_refused_as_a_whole() {
    let mut town = Town::found().await;
    town.installation = town.installation.env("SIGNER__HTTP__BODY_LIMIT", "4MiB");
    let signer = town.signer().await;
    let hash = town.people[0].user_hash;
    let entry = |n: u64| json!({"subscribeId": n, "chainId": 139, "planId": 7, "userHash": hash});
    let many = json!((0..10_000).map(entry).collect::<Vec<_>>());
    let heard = signer.scheduler.bill(&many).await;
    turned_away(&heard, 413, "10000 entries are too many: post at most 500");
    for mib in [5, 40] {
        let body = format!("[{}]", " ".repeat(mib << 20));
        let heard = signer.scheduler.post(EVM_PATH, body.as_bytes()).await;
        let heard = heard.expect("who sends too much is told so");
        turned_away(&heard, 413, "larger than 4194304 bytes");
    }
    nothing_changed(&town, signer).await;
}

#[tokio::test]
async fn a_stranger_is_not_let_in() {
    let town = Town::found().await;
    let signer = town.signer().await;
    let honest = &signer.scheduler;
    let body = json!(town.entries([0])).to_string();
    let post = async |who: &Scheduler, at| who.send("POST", EVM_PATH, body.as_bytes(), at).await;
    let wrong_secret = Scheduler { secret: "another secret, long enough".into(), ..honest.clone() };
    let unknown_key = Scheduler { key: "nobody".into(), ..honest.clone() };
    let now = unix_seconds();
    let table = [
        ("a wrong signature", post(&wrong_secret, now).await, "signature or key is wrong"),
        ("an unknown key", post(&unknown_key, now).await, "signature or key is wrong"),
        ("an old request", post(honest, now - 61).await, "s behind the server's time"),
        ("a request from the future", post(honest, now + 62).await, "at most 5 s are allowed"),
        ("a time in milliseconds", post(honest, now * 1000).await, "exactly 10 digits"),
        ("no headers", bare(honest, &body, &[]).await, "X-PAY-KEY is missing"),
        ("a key alone", bare(honest, &body, &["X-PAY-KEY"]).await, "X-PAY-TIMESTAMP is missing"),
        ("a key twice", bare(honest, &body, &["X-PAY-KEY", "X-PAY-KEY"]).await, "more than once"),
    ];
    for (what, heard, says) in table {
        turned_away(&heard.expect(what), 401, says);
    }
    nothing_changed(&town, signer).await;
}

/// A request with these headers, each with a value that is no use.
async fn bare(to: &Scheduler, body: &str, headers: &[&str]) -> Option<Heard> {
    let request = to.client.post(format!("{}{EVM_PATH}", to.url)).body(body.to_owned());
    hear(headers.iter().fold(request, |request, name| request.header(*name, "x"))).await
}

#[tokio::test]
async fn a_wrong_door_is_named() {
    let town = Town::found().await;
    let signer = town.signer().await;
    let body = json!(town.entries([0])).to_string();
    let query = format!("{EVM_PATH}?dryRun=true");
    let table = [
        ("GET", EVM_PATH, 405, "does not take this method"),
        ("PUT", EVM_PATH, 405, "does not take this method"),
        ("POST", TVM_PATH, 404, "no TRON chain is configured"),
        ("POST", "/PayTool/EVM/subscribe", 404, "nothing at this path"),
        ("POST", "/", 404, "nothing at this path"),
        ("POST", query.as_str(), 400, "takes no query"),
        ("GET", "/PayTool/billings/0x00", 404, "no billing has this"),
        ("POST", "/health/live", 405, "does not take this method"),
    ];
    for (method, path, status, says) in table {
        let sent = if method == "GET" { "" } else { &body };
        let heard = signer.scheduler.send(method, path, sent.as_bytes(), unix_seconds()).await;
        turned_away(&heard.expect(path), status, says);
    }
    nothing_changed(&town, signer).await;
}
