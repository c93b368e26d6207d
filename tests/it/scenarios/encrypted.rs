//! A Signer that speaks TLS by itself: who gets in, who does not, what silence costs, and a certificate
//! that is renewed while it runs.

use crate::world::authority::{Authority, Paper, scheduler};
use crate::world::patience::eventually;
use crate::world::signer::{EVM_PATH, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::Town;
use rcgen::ExtendedKeyUsagePurpose;
use reqwest::Identity;
use serde_json::json;
use std::fs::{Permissions, set_permissions, write};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// An installation with TLS, which wants certificates of `callers` if there are any.
async fn town(authority: &Authority, callers: Option<&Authority>) -> Town {
    let mut town = Town::found().await;
    authority.server().lies_in(&town.installation);
    town.installation = town
        .installation
        .env("SIGNER__HTTP__TLS__CERTIFICATE_FILE", "tls.pem")
        .env("SIGNER__HTTP__TLS__KEY_FILE", "tls.key");
    if let Some(callers) = callers {
        write(town.installation.path().join("ca.pem"), &callers.pem).unwrap();
        town.installation = town.installation.env("SIGNER__HTTP__TLS__CLIENT_CA_FILE", "ca.pem");
    }
    town
}

fn address(signer: &Signer) -> std::net::SocketAddr {
    signer.scheduler.url.strip_prefix("http://").unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_charge_is_billed_over_tls_and_by_nothing_else() {
    let authority = Authority::new("ours");
    let town = town(&authority, None).await;
    let signer = town.signer().await;
    let ours = scheduler(&signer, &authority, None);
    let entries = json!(town.entries([0]));
    assert_eq!(signer.scheduler.try_bill(&entries).await, None, "nothing is heard in the clear");
    let doubting = scheduler(&signer, &Authority::new("another"), None);
    assert_eq!(doubting.try_bill(&entries).await, None, "a client that knows another authority");
    assert_eq!(ours.bill(&entries).await.code(), 1);
    let unsigned = hear(ours.client.post(format!("{}{EVM_PATH}", ours.url)).body("[]")).await;
    assert_eq!(unsigned.unwrap().status, 401, "requests are signed all the same");
    let ready = ours.get("/health/ready").await;
    assert_eq!(ready.body["tls"]["status"], "ok", "{ready:?}");
    let metrics = ours.get("/metrics").await.text;
    assert!(metrics.contains("signer_certificate_end_timestamp_seconds{port=\"http.listen\"} "));
    signer.wrote("no TLS").await;
    let exported = town.installation.run(&["export", "--server", &ours.url]).await;
    let told = String::from_utf8_lossy(&exported.stderr);
    assert!(exported.status.success() && told.contains("1 lines, complete"), "{told}");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn where_callers_need_a_certificate_a_signature_alone_gets_nobody_in() {
    let (authority, callers) = (Authority::new("ours"), Authority::new("callers"));
    let town = town(&authority, Some(&callers)).await;
    let signer = town.signer().await;
    let entries = json!(town.entries([0]));
    let server_of_ours = authority.server();
    let server_of_ours = format!("{}{}", server_of_ours.certificate, server_of_ours.key);
    let strangers = [
        ("none", None),
        ("of another authority", Some(Authority::new("another").client())),
        ("of a server", Some(Identity::from_pem(server_of_ours.as_bytes()).unwrap())),
    ];
    for (place, (whose, identity)) in strangers.into_iter().enumerate() {
        let stranger = scheduler(&signer, &authority, identity);
        assert_eq!(stranger.try_bill(&entries).await, None, "{whose}");
        let ours = scheduler(&signer, &authority, Some(callers.client()));
        let counted = format!("signer_auth_failures_total{{reason=\"certificate\"}} {}", place + 1);
        eventually("it is counted", async || ours.get("/metrics").await.text.contains(&counted))
            .await;
    }
    assert!(signer.log().contains("no certificate of a caller"), "{}", signer.log());
    let mut ours = scheduler(&signer, &authority, Some(callers.client()));
    assert_eq!(ours.bill(&entries).await.code(), 1);
    ours.secret = "a secret that nobody was given".to_owned();
    assert_eq!(ours.bill(&entries).await.status, 401, "a certificate alone gets nobody in either");
    town.assert_paid(&[1, 0, 0]).await;
    let Paper { certificate, key } = callers.signs("operator", ExtendedKeyUsagePurpose::ClientAuth);
    write(town.installation.path().join("me.pem"), format!("{certificate}{key}")).unwrap();
    let export = ["export", "--server", &ours.url];
    let without = town.installation.run(&export).await;
    assert!(
        String::from_utf8_lossy(&without.stderr).contains("http.tls.identity_file"),
        "{without:?}"
    );
    let identified = town.installation.clone().env("SIGNER__HTTP__TLS__IDENTITY_FILE", "me.pem");
    let with = identified.run(&export).await;
    assert!(String::from_utf8_lossy(&with.stderr).contains("1 lines, complete"), "{with:?}");
}

/// Connects from elsewhere and says nothing, or half of a handshake.
async fn silent(signer: &Signer, words: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut stream = socket.connect(address(signer)).await.unwrap();
    stream.write_all(words).await.unwrap();
    stream
}

#[tokio::test]
async fn silence_in_place_of_a_handshake_stands_in_nobodys_way() {
    let authority = Authority::new("ours");
    let mut town = town(&authority, None).await;
    town.installation = town.installation.files(120).env("SIGNER__HTTP__HEADER_TIMEOUT", "3s");
    let signer = town.signer().await;
    let ours = scheduler(&signer, &authority, None);
    // The record says that a long hello follows, and it does not.
    let half = [&[0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb][..], &[0; 4000]].concat();
    let mut held = Vec::new();
    for words in [&[][..], &half] {
        for _ in 0..150 {
            held.push(silent(&signer, words).await);
        }
    }
    let heard = ours.bill(&json!(town.entries([0]))).await;
    assert_eq!(heard.code(), 1, "{heard:?}");
    assert!(!signer.log().contains("could not be accepted"), "{}", signer.log());
    // Those that were not pushed out by others are closed when their time is over.
    for mut stream in held {
        let mut text = [0; 64];
        let closed = tokio::time::timeout(Duration::from_secs(20), async {
            loop {
                match stream.read(&mut text).await {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                        break;
                    }
                }
            }
        });
        closed.await.expect("a silent connection is closed");
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_up_without_a_restart() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let mut town = town(&old, None).await;
    for (key, time) in [("CHAINS__139__RPC_TIMEOUT", "30s"), ("HTTP__REQUEST_DEADLINE", "60s")] {
        town.installation = town.installation.env(&format!("SIGNER__{key}"), time);
    }
    let signer = town.signer().await;
    let (believes_old, believes_new) =
        (scheduler(&signer, &old, None), scheduler(&signer, &new, None));
    let path = "/PayTool/billings/x";
    let status =
        async |who: &Scheduler| Some(who.send("GET", path, b"", unix_seconds()).await?.status);
    assert_eq!((status(&believes_old).await, status(&believes_new).await), (Some(404), None));
    // One request is at work meanwhile, on a connection of before.
    town.proxy.hold_billings_of(&town.people);
    let entries = json!(town.entries([0]));
    let (heard, ()) = tokio::join!(believes_old.bill(&entries), async {
        town.proxy.struck_times(1).await;
        write(town.installation.path().join("tls.key"), "no key").unwrap();
        signer.wrote("are not used: key_file: holds no private key").await;
        assert_eq!(status(&scheduler(&signer, &old, None)).await, Some(404), "the old one stays");
        new.server().lies_in(&town.installation);
        eventually("the new one is shown", async || status(&believes_new).await == Some(404)).await;
        town.proxy.heal();
    });
    assert_eq!(heard.code(), 1, "{heard:?}");
    assert_eq!(status(&scheduler(&signer, &old, None)).await, None, "the old one is gone");
    let checked = town.installation.run(&["check"]).await;
    assert!(String::from_utf8_lossy(&checked.stdout).contains("http.tls"), "{checked:?}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_faults_and_an_open_door_without_tls_is_told() {
    let mut town = town(&Authority::new("ours"), None).await;
    let here = town.installation.clone();
    write(here.path().join("tls.pem"), "no certificate").unwrap();
    set_permissions(here.path().join("tls.key"), Permissions::from_mode(0o640)).unwrap();
    let refused = here.try_start().await.unwrap_err();
    assert!(refused.contains("http.tls.certificate_file: holds no certificate"), "{refused}");
    assert!(refused.contains("http.tls.key_file: others can read"), "{refused}");
    town.installation = Town::found().await.installation.env("SIGNER__HTTP__LISTEN", "0.0.0.0:0");
    let signer = town.signer().await;
    signer.wrote("other machines are heard in the clear").await;
    drop(signer);
    let checked = town.installation.run(&["check"]).await;
    assert!(String::from_utf8_lossy(&checked.stdout).contains("heard in the clear"), "{checked:?}");
}
