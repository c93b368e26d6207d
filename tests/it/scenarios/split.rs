//! The keys are in a process of their own, and nowhere else: what that process can do, what becomes of charges
//! when it dies, and what it says to whoever asks it past the Signer.

mod asked;
mod holder;
mod service;

use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::signer::{SECRET, Signer, WEBHOOK_KEY, WEBHOOK_SECRET};
use crate::world::town::{KEY, Town};
use holder::Holder;
use rustix::process::Signal;
use serde_json::json;

on_both_families![
    the_key_is_in_the_memory_of_the_other_process_alone_and_that_one_can_do_nothing_else,
    killed_before_a_signature_nobody_is_charged_and_the_next_process_charges_once,
    killed_after_a_commit_the_charge_lands_once,
    one_that_hangs_is_ended_and_what_was_asked_is_charged_by_the_next_process_alone,
    it_ends_with_the_signer_and_is_not_told_to_by_anybody_else,
];

/// A town whose Signer has its keys held apart, whatever is the default.
async fn town(family: Family) -> Town {
    let mut town = Town::on(family).await;
    town.installation = town.installation.env("SIGNER__KEYS__SPLIT", "true");
    town
}

/// The Signer ends by itself, and says why.
async fn gave_up(signer: Signer) -> String {
    let (status, log) = signer.left().await;
    assert_eq!(status.code(), Some(1), "its supervisor is to start it again: {log}");
    assert!(log.contains("the process that held the keys has ended"), "{log}");
    log
}

async fn the_key_is_in_the_memory_of_the_other_process_alone_and_that_one_can_do_nothing_else(
    family: Family,
) {
    let town = town(family).await;
    let signer = town.signer().await;
    let holder = Holder::of(&signer);
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(town.settled(&signer, &heard.tx_hash()).await["state"], "charged");
    let key = hex::decode(KEY).unwrap();
    // As big-endian bytes, as numbers of this machine, and as text.
    let mut turned = key.clone();
    turned.reverse();
    let forms = [key, turned, KEY.as_bytes().to_vec()];
    let there = holder::found(holder.process, &forms);
    assert!(there.iter().any(|found| *found), "this search finds nothing at all");
    assert_eq!(holder::found(signer.process.id(), &forms), [false; 3]);
    let status = holder.status();
    for line in ["Seccomp:\t2", "NoNewPrivs:\t1"] {
        assert!(status.contains(line), "{status}");
    }
    assert!(!status.contains("VmLck:\t       0 kB"), "the key can be swapped out: {status}");
    assert_eq!(holder.core_limit(), ["0", "0"]);
    let first = std::fs::read_to_string(format!("/proc/{}/status", signer.process.id())).unwrap();
    assert!(first.contains("Seccomp:\t2"), "{first}");
    assert!(first.contains("Seccomp_filters:\t2"), "it may still run programs: {first}");
    // The part of the configuration that it was given is a file in memory.
    let known = ["socket:", "pipe:", "/dev/null", "/memfd:configuration"];
    let odd = |file: &&String| !known.iter().any(|known| file.starts_with(known));
    assert_eq!(holder.files().iter().find(odd), None, "{:?}", holder.files());
    assert!(!signer.log().contains("the process that holds the keys:"), "{}", signer.log());
    let secrets = ["PATH=", "HOME="];
    let environment = holder.environment();
    assert!(secrets.iter().all(|name| !environment.contains(name)), "{environment}");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn no_secret_is_in_its_memory_but_the_key() {
    let mut town = town(Family::Evm).await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let webhook = format!(
        "\n[webhook]\nurl = \"http://127.0.0.1:1/token-in-an-url\"\nsecret = {WEBHOOK_SECRET:?}\n"
    );
    std::fs::write(&path, before + &webhook).unwrap();
    let node = format!("{}/token-of-a-node", town.proxy.url);
    town.installation = town.installation.env("SIGNER__CHAINS__139__SEND_ONLY", &node);
    let signer = town.signer().await;
    let holder = Holder::of(&signer);
    assert_eq!(signer.scheduler.bill(&json!(town.entries([0]))).await.code(), 1);
    // The Signer keeps the webhook's key, and not the text that spells it.
    let secrets = [SECRET, WEBHOOK_KEY, "token-in-an-url", "token-of-a-node"];
    let secrets = secrets.map(|text| text.as_bytes().to_vec());
    let spelt = [WEBHOOK_SECRET.as_bytes().to_vec()];
    assert_eq!(holder::found(holder.process, &secrets), [false; 4]);
    assert_eq!(holder::found(holder.process, &spelt), [false]);
    let found = holder::found(signer.process.id(), &secrets);
    assert_eq!(found, [true; 4], "this search finds nothing");
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

async fn killed_before_a_signature_nobody_is_charged_and_the_next_process_charges_once(
    family: Family,
) {
    let town = town(family).await;
    let signer = town.signer().await;
    let holder = Holder::of(&signer);
    town.proxy.hold_billings_of(&town.people);
    let body = json!({"requestId": "the-one", "list": town.entries([0])});
    let (heard, ()) = tokio::join!(signer.scheduler.try_bill(&body), async {
        town.proxy.struck().await;
        holder.send(Signal::KILL);
        signer.wrote("the process that held the keys has ended").await;
        town.proxy.heal();
    });
    let heard = heard.expect("a request that has begun is answered");
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    gave_up(signer).await;
    assert_eq!(town.transactions().await, 0);
    charged_once(&town, &body).await;
}

async fn killed_after_a_commit_the_charge_lands_once(family: Family) {
    let town = town(family).await;
    let signer = town.signer().await;
    let body = json!({"requestId": "the-one", "list": town.entries([0])});
    assert_eq!(signer.scheduler.bill(&body).await.code(), 1);
    Holder::of(&signer).send(Signal::KILL);
    gave_up(signer).await;
    charged_once(&town, &body).await;
}

async fn one_that_hangs_is_ended_and_what_was_asked_is_charged_by_the_next_process_alone(
    family: Family,
) {
    let town = town(family).await;
    let signer = town.signer().await;
    Holder::of(&signer).send(Signal::STOP);
    let body = json!({"requestId": "the-one", "list": town.entries([0])});
    let heard = signer.scheduler.bill(&body).await;
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    assert!(gave_up(signer).await.contains("does not answer"));
    assert_eq!(town.transactions().await, 0);
    charged_once(&town, &body).await;
}

/// The next process charges it, and asking again changes nothing.
async fn charged_once(town: &Town, body: &serde_json::Value) {
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(body).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    assert_eq!(signer.scheduler.bill(body).await.tx_hash(), hash);
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}

async fn it_ends_with_the_signer_and_is_not_told_to_by_anybody_else(family: Family) {
    let town = town(family).await;
    let signer = town.signer().await;
    let holder = Holder::of(&signer);
    // What a supervisor tells to every process of a unit means the Signer.
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        holder.send(signal);
    }
    assert_eq!(signer.scheduler.bill(&json!(town.entries([0]))).await.code(), 1);
    let log = signer.terminate().await;
    assert!(!log.contains("has ended"), "{log}");
    eventually("it has ended", async || !holder.runs()).await;
    let signer = town.signer().await;
    let holder = Holder::of(&signer);
    signer.kill();
    eventually("it has ended with one that was killed", async || !holder.runs()).await;
    let signer = town.signer().await;
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}
