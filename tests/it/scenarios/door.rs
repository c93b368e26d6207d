//! Strangers at the door. They have no secret; what they open, half-send and never read is theirs to
//! pay for, and a signed caller is answered meanwhile. The whole of it, a thousand of each under small
//! limits, is `./test --siege`.

use crate::world::patience::eventually;
use crate::world::signer::{EVM_PATH, Installation, Signer, hear, unix_seconds};
use crate::world::town::Town;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// Another address of this machine.
const ELSEWHERE: &str = "127.0.0.2:0";

async fn found(how: impl FnOnce(Installation) -> Installation) -> (Town, Signer) {
    let mut town = Town::found().await;
    town.installation = how(town.installation);
    let signer = town.signer().await;
    (town, signer)
}

/// Connects from elsewhere and says `words`.
pub(super) async fn stranger(signer: &Signer, words: &str) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(ELSEWHERE.parse().unwrap()).unwrap();
    let address = signer.scheduler.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = socket.connect(address).await.ok()?;
    stream.write_all(words.as_bytes()).await.ok()?;
    Some(stream)
}

async fn strangers(signer: &Signer, many: usize, words: &str) -> Vec<TcpStream> {
    let mut streams = Vec::with_capacity(many);
    for _ in 0..many {
        streams.extend(stranger(signer, words).await);
    }
    streams
}

/// The head of a request that will have a body, with these headers.
pub(super) fn head(headers: &str) -> String {
    format!("POST {EVM_PATH} HTTP/1.1\r\nhost: signer\r\n{headers}content-length: 1000\r\n\r\n{{")
}

/// Headers as a caller has them, with a signature that is none.
pub(super) fn plausible() -> String {
    let sign = format!("{}=", "A".repeat(43));
    let (key, now) = (crate::world::signer::CALLER, unix_seconds());
    format!("x-pay-key: {key}\r\nx-pay-timestamp: {now}\r\nx-pay-sign: {sign}\r\n")
}

#[tokio::test]
async fn half_sent_bodies_stand_in_nobodys_way() {
    let (town, signer) = found(|here| here).await;
    for headers in [String::new(), plausible()] {
        let held = strangers(&signer, 300, &head(&headers)).await;
        assert_eq!(held.len(), 300);
        let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
        assert_eq!(heard.code(), 1, "{heard:?}");
    }
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_head_that_proves_nothing_is_answered_before_its_body() {
    let (_town, signer) = found(|here| here).await;
    let mut answered = stranger(&signer, &head("x-pay-key: nobody\r\n")).await.unwrap();
    let mut text = [0; 12];
    answered.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"HTTP/1.1 401");
    let metrics = async || signer.scheduler.get("/metrics").await.text;
    assert!(metrics().await.contains("signer_auth_failures_total{reason=\"missing\"} 1"));
    assert!(signer.log().contains("127.0.0.2"), "the log tells from where: {}", signer.log());
    for _ in 0..200 {
        drop(stranger(&signer, &head("x-pay-key: nobody\r\n")).await);
    }
    eventually("all are counted", async || {
        metrics().await.contains("signer_auth_failures_total{reason=\"missing\"} 201")
    })
    .await;
    let lines = signer.log().matches("turned away").count();
    assert!(lines < 60, "{lines} lines for 201 strangers");
}

#[tokio::test]
async fn nobody_finds_out_which_keys_there_are() {
    let (_town, signer) = found(|here| here).await;
    let known = plausible();
    let unknown = known.replace("test-merchant", "nobody");
    for headers in [known, unknown] {
        let mut asked = stranger(&signer, &head(&headers)).await.unwrap();
        let mut text = [0; 12];
        let early = asked.read_exact(&mut text);
        let early = tokio::time::timeout(Duration::from_millis(500), early).await;
        assert!(early.is_err(), "{headers} is answered before its body: {text:?}");
        asked.write_all(" ".repeat(999).as_bytes()).await.unwrap();
        asked.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"HTTP/1.1 401");
    }
}

#[tokio::test]
async fn silent_connections_and_unfinished_heads_do_not_use_up_the_descriptors() {
    let (town, signer) = found(|here| here.files(120)).await;
    let silent = strangers(&signer, 150, "").await;
    let unfinished = strangers(&signer, 150, "POST / HTTP/1.1\r\nx: ").await;
    assert_eq!((silent.len(), unfinished.len()), (150, 150));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    assert!(!signer.log().contains("could not be accepted"), "{}", signer.log());
}

#[tokio::test]
async fn one_address_does_not_push_another_out() {
    let few = |here: Installation| {
        here.env("SIGNER__HTTP__MAX_CONNECTIONS", "20")
            .env("SIGNER__HTTP__MAX_CONNECTIONS_PER_ADDRESS", "10")
    };
    let (_town, signer) = found(few).await;
    let address = signer.scheduler.url.strip_prefix("http://").unwrap();
    let mut quiet = TcpStream::connect(address).await.unwrap();
    drop(strangers(&signer, 50, "").await);
    let held = strangers(&signer, 50, "").await;
    quiet.write_all(b"GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut text = [0; 12];
    quiet.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"HTTP/1.1 200", "it was open before all of them");
    drop(held);
}

#[tokio::test]
async fn whoever_never_reads_is_cut_off() {
    let (_town, signer) = found(|here| here.env("SIGNER__HTTP__WRITE_TIMEOUT", "500ms")).await;
    let question = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2000);
    let deaf = stranger(&signer, "").await.unwrap();
    // Once its buffers are full nothing more is taken, and in the end it is closed.
    eventually("the connection is closed", async || {
        loop {
            match deaf.try_write(question.as_bytes()) {
                Ok(_) => {}
                Err(error) => break error.kind() != std::io::ErrorKind::WouldBlock,
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_head_of_a_request_is_small() {
    let (_town, signer) = found(|here| here).await;
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(40_000));
    let mut refused = stranger(&signer, "").await.unwrap();
    drop(refused.write_all(long.as_bytes()).await);
    let mut text = [0; 12];
    refused.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"HTTP/1.1 431");
    let path = "/PayTool/control/pause";
    let heard = signer.scheduler.post(path, &[b' '; 5000]).await.unwrap();
    assert_eq!(heard.status, 413, "no long body is expected there: {heard:?}");
}

#[tokio::test]
async fn hanging_up_frees_no_place_while_the_work_goes_on() {
    let patient = |here: Installation| {
        here.env("SIGNER__HTTP__MAX_CONCURRENT_REQUESTS", "2")
            .env("SIGNER__HTTP__REQUEST_DEADLINE", "60s")
            .env("SIGNER__CHAINS__139__RPC_TIMEOUT", "30s")
    };
    let (town, signer) = found(patient).await;
    town.proxy.hold_billings_of(&town.people);
    for place in [0, 1] {
        let body = json!(town.entries([place])).to_string();
        let letter = signer.scheduler.letter("POST", EVM_PATH, body.as_bytes(), unix_seconds());
        tokio::select! {
            heard = hear(letter) => panic!("{heard:?}"),
            // Nobody waits for the answer from here on: the connection is closed.
            () = town.proxy.struck_times(place + 1) => {}
        }
    }
    let third = json!(town.entries([2]));
    let heard = signer.scheduler.bill(&third).await;
    assert_eq!((heard.status, heard.code()), (429, 0), "{heard:?}");
    let rehearsal = json!({"dryRun": true, "list": town.entries([2])}).to_string();
    let letter = signer.scheduler.letter("POST", EVM_PATH, rehearsal.as_bytes(), unix_seconds());
    let again = letter.try_clone().unwrap();
    assert_eq!(hear(letter).await.unwrap().status, 429);
    let operator = signer.scheduler.send("GET", "/PayTool/billings/x", b"", unix_seconds()).await;
    assert_eq!(operator.unwrap().status, 404, "who does not bill has places of his own");
    town.proxy.heal();
    eventually("the very bytes that met no room are judged when there is some", async || {
        hear(again.try_clone().unwrap()).await.unwrap().status == 200
    })
    .await;
    eventually("there is room again", async || signer.scheduler.bill(&third).await.code() == 1)
        .await;
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 1]).await;
}

#[tokio::test]
async fn health_and_metrics_have_a_port_of_their_own_where_it_is_configured() {
    // Neither the work nor a stranger goes away by itself before an answer is taken for late.
    let patient = |here: Installation| {
        let times = ["REQUEST_DEADLINE", "HEADER_TIMEOUT", "BODY_TIMEOUT"];
        let here =
            times.iter().fold(here, |here, key| here.env(&format!("SIGNER__HTTP__{key}"), "60s"));
        here.env("SIGNER__CHAINS__139__RPC_TIMEOUT", "60s")
            .env("SIGNER__HTTP__HEALTH_LISTEN", "127.0.0.1:0")
    };
    let (town, signer) = found(patient).await;
    let log = signer.log();
    let line = log.lines().find(|line| line.contains("health and metrics")).expect(&log);
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let mut machines = signer.scheduler.clone();
    machines.url = format!("http://{}", line["address"].as_str().unwrap());
    for path in ["/health/live", "/health/ready", "/metrics"] {
        assert_eq!(signer.scheduler.get(path).await.status, 404, "{path}");
        eventually(path, async || machines.get(path).await.status == 200).await;
    }
    // As much as the other port takes, and more: work that does not end, and strangers on every place.
    town.proxy.hold_billings_of(&town.people);
    let held_up = json!({"dryRun": true, "list": town.entries([1])});
    let working = signer.scheduler.try_bill(&held_up);
    let crowd = async {
        town.proxy.struck().await;
        let silent = strangers(&signer, 600, "").await;
        let begun = strangers(&signer, 300, &head(&plausible())).await;
        for path in ["/health/live", "/health/ready", "/metrics"] {
            let asked = tokio::time::timeout(Duration::from_secs(10), machines.get(path));
            assert_eq!(asked.await.expect("it is answered at once").status, 200, "{path}");
        }
        drop((silent, begun));
        town.proxy.heal();
    };
    tokio::join!(working, crowd);
    let body = json!(town.entries([0]));
    assert_eq!(machines.bill(&body).await.status, 404, "nobody bills there");
    assert_eq!(signer.scheduler.bill(&body).await.code(), 1);
}
