//! A message that somebody has captured: it is judged once, and whoever sends it again hears what its
//! sender heard.

use crate::world::patience::eventually;
use crate::world::proxy::SEND;
use crate::world::signer::{EVM_PATH, Heard, SECRET, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::Town;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use sha2::Sha256;

const OPERATORS_SECRET: &str = "the operator's own secret";

async fn founded() -> (Town, Signer, Scheduler) {
    let town = Town::found().await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let more = format!(
        "[callers.operator]\nkey = \"operator\"\nsecret = {OPERATORS_SECRET:?}\ncontrol = true\n"
    );
    std::fs::write(&path, format!("{before}\n{more}")).unwrap();
    let signer = town.signer().await;
    let (key, secret) = ("operator".to_owned(), OPERATORS_SECRET.to_owned());
    let operator = Scheduler { key, secret, ..signer.scheduler.clone() };
    (town, signer, operator)
}

fn billing(signer: &Signer, body: &Value) -> RequestBuilder {
    signer.scheduler.letter("POST", EVM_PATH, body.to_string().as_bytes(), unix_seconds())
}

async fn sent(letter: &RequestBuilder) -> Heard {
    hear(letter.try_clone().unwrap()).await.expect("the Signer answers")
}

async fn is_paused(operator: &Scheduler) -> bool {
    let shown = operator.send("GET", "/PayTool/control", b"", unix_seconds()).await.unwrap();
    !shown.body["data"][0]["paused"].is_null()
}

#[tokio::test]
async fn a_captured_resume_does_not_undo_the_next_pause() {
    let (_town, _signer, operator) = founded().await;
    assert_eq!(operator.post("/PayTool/control/pause", b"").await.unwrap().code(), 1);
    let shown = operator.send("GET", "/PayTool/control", b"", unix_seconds()).await.unwrap();
    let body = json!({"pauses": {"139": shown.body["data"][0]["pausedSince"]}}).to_string();
    let path = "/PayTool/control/resume";
    let resume = operator.letter("POST", path, body.as_bytes(), unix_seconds());
    let first = sent(&resume).await;
    assert_eq!(first.code(), 1, "{first:?}");
    assert!(!is_paused(&operator).await);
    assert_eq!(operator.post("/PayTool/control/pause", b"").await.unwrap().code(), 1);
    let captured = sent(&resume).await;
    assert_eq!((captured.status, captured.code()), (409, 0), "it names another: {captured:?}");
    assert!(is_paused(&operator).await, "and nothing is done");
    let stale = operator.post(path, body.as_bytes()).await.unwrap();
    assert_eq!((stale.status, stale.code()), (409, 0), "it names the pause before: {stale:?}");
    assert!(is_paused(&operator).await);
    assert_eq!(operator.resume().await.code(), 1);
    assert!(!is_paused(&operator).await);
}

#[tokio::test]
async fn a_pause_pauses_however_often_its_bytes_were_sent() {
    let (_town, _signer, operator) = founded().await;
    let pause = operator.letter("POST", "/PayTool/control/pause", b"", unix_seconds());
    for time in 1..=3 {
        let heard = sent(&pause).await;
        assert_eq!(heard.code(), 1, "{heard:?}");
        assert!(!heard.body["data"][0]["paused"].is_null(), "{heard:?}");
        assert!(is_paused(&operator).await, "told paused and not paused, time {time}");
        assert_eq!(operator.resume().await.code(), 1);
        assert!(!is_paused(&operator).await);
    }
}

#[tokio::test]
async fn what_a_clock_that_is_ahead_had_refused_is_not_charged_after_a_crash() {
    let (town, signer, operator) = founded().await;
    assert_eq!(operator.post("/PayTool/control/pause", b"").await.unwrap().code(), 1);
    let body = json!(town.entries([0])).to_string();
    let far = signer.scheduler.letter("POST", EVM_PATH, body.as_bytes(), unix_seconds() + 50);
    let far = sent(&far).await;
    assert_eq!((far.status, far.code()), (401, 0), "{far:?}");
    let said = far.body["msg"].as_str().unwrap();
    assert!(said.contains("s ahead of the server's time"), "{said}");
    let at = unix_seconds() + 4;
    let near = sent(&signer.scheduler.letter("POST", EVM_PATH, body.as_bytes(), at)).await;
    assert_eq!((near.status, near.code()), (403, 0), "{near:?}");
    assert!(unix_seconds() >= at, "it is judged when its time has come");
    assert_eq!(operator.resume().await.code(), 1);
    signer.kill();
    let signer = town.signer().await;
    for _ in 0..3 {
        let again = signer.scheduler.letter("POST", EVM_PATH, body.as_bytes(), at);
        let again = sent(&again).await;
        assert_eq!((again.status, again.code()), (401, 0), "{again:?}");
    }
    let hash = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    town.assert_paid(&[0, 1, 0]).await;
}

#[tokio::test]
async fn a_message_that_was_refused_charges_nobody_later() {
    let (town, signer, operator) = founded().await;
    assert_eq!(operator.post("/PayTool/control/pause", b"").await.unwrap().code(), 1);
    let message = billing(&signer, &json!(town.entries([0])));
    let refused = sent(&message).await;
    assert_eq!((refused.status, refused.code()), (403, 0), "{refused:?}");
    assert_eq!(operator.resume().await.code(), 1);
    assert_eq!(sent(&message).await, refused);
    assert_eq!(town.proxy.asked(SEND), 0, "it is not evaluated anew");
    let metrics = signer.scheduler.get("/metrics").await.text;
    assert!(metrics.contains("signer_replays_total 1"), "{metrics}");
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn the_same_message_twice_at_once_has_one_answer() {
    let (town, signer, _) = founded().await;
    town.proxy.hold_billings_of(&town.people);
    let message = billing(&signer, &json!(town.entries([0, 1])));
    let (first, second, ()) = tokio::join!(sent(&message), sent(&message), async {
        town.proxy.struck().await;
        eventually("the second waits", async || {
            signer.scheduler.get("/metrics").await.text.contains("signer_replays_total 1")
        })
        .await;
        town.proxy.heal();
    });
    let hash = first.tx_hash();
    assert_eq!(first, second);
    assert!(first.body["data"]["repeated"].is_null(), "both heard of the same charge: {first:?}");
    town.settled(&signer, &hash).await;
    assert_eq!(sent(&message).await, first, "still the first answer");
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn after_a_crash_what_was_signed_before_the_start_is_not_taken() {
    let (town, signer, _) = founded().await;
    let (at, body) = (unix_seconds(), rehearsal(&town, 0));
    assert_eq!(sent(&signer.scheduler.letter("POST", EVM_PATH, &body, at)).await.status, 200);
    signer.kill();
    eventually("the next second", async || unix_seconds() > at).await;
    let signer = town.signer().await;
    // The same bytes, to where the next process listens.
    let heard = sent(&signer.scheduler.letter("POST", EVM_PATH, &body, at)).await;
    assert_eq!((heard.status, heard.code()), (401, 0), "{heard:?}");
    assert!(heard.body["msg"].as_str().unwrap().contains("sign it again"), "{heard:?}");
}

#[tokio::test]
async fn after_an_end_as_it_should_be_what_was_judged_is_known_and_what_was_not_is_judged() {
    let (town, signer, _) = founded().await;
    let (at, judged, waited) = (unix_seconds(), rehearsal(&town, 0), rehearsal(&town, 1));
    assert_eq!(sent(&signer.scheduler.letter("POST", EVM_PATH, &judged, at)).await.status, 200);
    signer.terminate().await;
    let left = town.installation.path().join("journal.sqlite.handover");
    assert!(left.exists());
    eventually("the next second", async || unix_seconds() > at).await;
    let signer = town.signer().await;
    assert!(!left.exists(), "it is good for one start");
    let heard = sent(&signer.scheduler.letter("POST", EVM_PATH, &judged, at)).await;
    assert_eq!((heard.status, heard.code()), (409, 0), "{heard:?}");
    let heard = sent(&signer.scheduler.letter("POST", EVM_PATH, &waited, at)).await;
    assert_eq!(heard.status, 200, "{heard:?}");
}

/// A dry run for one person.
fn rehearsal(town: &Town, place: usize) -> Vec<u8> {
    json!({"dryRun": true, "list": town.entries([place])}).to_string().into_bytes()
}

#[tokio::test]
async fn an_answer_proves_whose_it_is_and_to_what() {
    let (town, signer, _) = founded().await;
    let message = billing(&signer, &json!(town.entries([0])));
    let question = signer.scheduler.letter("GET", "/PayTool/billings/x", b"", unix_seconds());
    for (letter, status) in [(&message, 200), (&message, 200), (&question, 404)] {
        let asked = letter.try_clone().unwrap().build().unwrap().headers()["x-pay-sign"].clone();
        let answer = letter.try_clone().unwrap().send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        let (at, sign) = (header("x-pay-timestamp"), header("x-pay-sign"));
        let body = answer.text().await.unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("{at}{status}{}{body}", asked.to_str().unwrap()).as_bytes());
        assert_eq!(sign, STANDARD.encode(mac.finalize().into_bytes()), "{body}");
    }
    let secret = "not the secret of anybody".to_owned();
    let stranger = Scheduler { secret, ..signer.scheduler.clone() };
    let letter = stranger.letter("GET", "/PayTool/billings/x", b"", unix_seconds());
    let answer = letter.send().await.unwrap();
    assert!(answer.headers().get("x-pay-sign").is_none(), "there is nobody to prove it to");
}
