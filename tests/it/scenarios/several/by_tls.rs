//! Signers that reach each other by TLS, with certificates of an authority of their own.

use super::who_reach_each_other;
use crate::world::authority::{Authority, scheduler};
use crate::world::patience::eventually;
use crate::world::proxy::Proxy;
use crate::world::signer::{EVM_PATH, Installation, SECRET, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::Town;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use rcgen::ExtendedKeyUsagePurpose;
use serde_json::{Value, json};
use sha2::Sha256;
use std::fs::write;

/// Two machines with certificates of `authority`, each of which believes those in `believed` (PEM).
async fn encrypted(authority: &Authority, believed: &str) -> (Town, [Installation; 2], Proxy) {
    let (town, machines, node) = who_reach_each_other("https").await;
    let machines = machines.map(|machine| {
        authority.server().lies_in(&machine);
        write(machine.path().join("peers.pem"), believed).unwrap();
        machine
            .env("SIGNER__HTTP__TLS__CERTIFICATE_FILE", "tls.pem")
            .env("SIGNER__HTTP__TLS__KEY_FILE", "tls.key")
            .env("SIGNER__JOURNAL__PEERS_AUTHORITY_FILE", "peers.pem")
    });
    (town, machines, node)
}

/// Starts it; whoever asks it believes `authority`.
async fn start(machine: &Installation, authority: &Authority) -> Signer {
    let mut signer = machine.start().await;
    signer.scheduler = scheduler(&signer, authority, None);
    signer
}

/// Bills by way of a Signer, and holds the answer to its signature, as docs/api.md tells callers to.
async fn billed(signer: &Signer, entries: &Value) -> Value {
    let letter =
        signer.scheduler.letter("POST", EVM_PATH, entries.to_string().as_bytes(), unix_seconds());
    let (client, letter) = (&signer.scheduler.client, letter.build().unwrap());
    let asked = letter.headers()["x-pay-sign"].clone();
    let heard = client.execute(letter).await.unwrap();
    assert_eq!(heard.status(), 200, "{heard:?}");
    let header = |name: &str| heard.headers()[name].to_str().unwrap().to_owned();
    let (at, sign) = (header("x-pay-timestamp"), header("x-pay-sign"));
    let body = heard.bytes().await.unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{at}200{}", asked.to_str().unwrap()).as_bytes());
    mac.update(&body);
    assert_eq!(STANDARD.encode(mac.finalize().into_bytes()), sign, "{body:?}");
    serde_json::from_slice(&body).unwrap()
}

/// Waits until it shows a certificate of `authority`.
async fn shows(signer: &Signer, authority: &Authority) {
    let Scheduler { url, client, .. } = scheduler(signer, authority, None);
    let asked = || client.get(format!("{url}/health/live"));
    eventually("the new certificate is shown", async || hear(asked()).await.is_some()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_charge_posted_to_a_standby_is_billed_by_way_of_tls_also_with_renewed_certificates() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let both = format!("{}{}", old.pem, new.pem);
    let (town, [one, other], _node) = encrypted(&old, &both).await;
    let first = start(&one, &old).await;
    first.ready().await;
    let mut second = start(&other, &old).await;
    second.knows("first").await;
    // Nobody has connected from the one to the other so far: who does now sees the new certificate.
    new.server().lies_in(&one);
    shows(&first, &new).await;
    let told = billed(&second, &json!(town.entries([0]))).await;
    assert_eq!(told["code"], 1, "{told}");
    let hash = told["data"]["txHash"].as_str().unwrap().to_owned();
    assert_eq!(town.settled(&second, &hash).await["state"], "charged");
    // A standby may stand by for longer than a certificate lives.
    new.server().lies_in(&other);
    shows(&second, &new).await;
    let to_second = scheduler(&second, &new, None);
    assert_eq!(to_second.get("/health/ready").await.body["tls"]["status"], "ok");
    let metrics = to_second.get("/metrics").await.text;
    assert!(metrics.contains("signer_certificate_end_timestamp_seconds{"), "{metrics}");
    second.scheduler = to_second;
    first.kill();
    second.ready().await;
    let first = start(&one, &new).await;
    first.knows("second").await;
    let told = billed(&first, &json!(town.entries([0, 1]))).await;
    let next = told["data"]["txHash"].as_str().unwrap();
    assert_ne!(next, hash, "{told}");
    assert_eq!(town.settled(&first, next).await["state"], "charged");
    town.assert_paid(&[1, 1, 0]).await;
    town.nothing_is_stuck(second).await;
}

/// Nothing was heard by the one that serves: so it says, and what is wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn nothing_is_passed_on_to_a_certificate_that_proves_nothing() {
    let (ours, another) = (Authority::new("ours"), Authority::new("another"));
    let (town, [one, other], _node) = encrypted(&ours, &ours.pem).await;
    write(other.path().join("peers.pem"), &another.pem).unwrap();
    let first = start(&one, &ours).await;
    first.ready().await;
    let entries = json!(town.entries([0]));
    let refused = async |second: &Signer, told: &str| {
        second.knows("first").await;
        let heard = second.scheduler.bill(&entries).await;
        assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
        assert!(heard.text.contains("nothing was passed on"), "{heard:?}");
        assert!(heard.text.contains(told), "{heard:?}");
        second.wrote(told).await;
    };
    let second = start(&other, &ours).await;
    refused(&second, "not proven by journal.peers_authority_file").await;
    second.kill();
    write(other.path().join("peers.pem"), &ours.pem).unwrap();
    ours.signs("elsewhere.example", ExtendedKeyUsagePurpose::ServerAuth).lies_in(&one);
    first.wrote("the files were changed").await;
    let second = start(&other, &ours).await;
    refused(&second, "not for the host that journal.peers names it by").await;
    assert_eq!(town.sent().await.map(|sent| sent.to::<u64>()), [0, 0], "nothing was signed");
    // Whoever mends the certificate need do nothing at the standby.
    ours.server().lies_in(&one);
    eventually("it is passed on", async || second.scheduler.bill(&entries).await.code() == 1).await;
    second.wrote("passed on again").await;
    town.quiet(&first).await;
    town.assert_paid(&[1, 0, 0]).await;
    town.nothing_is_stuck(first).await;
}
