//! A new installation: a first configuration, a key that nobody has seen, and nodes that are reached
//! straight.

use crate::world::signer::program;
use crate::world::town::Town;
use serde_json::json;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

#[tokio::test]
async fn a_first_configuration_asks_for_what_only_the_merchant_knows() {
    let town = Town::found().await;
    let (run, room) =
        (async |words: &[&str]| town.installation.run(words).await, town.installation.path());
    fs::remove_file(room.join("signer.toml")).unwrap();
    let polygon = ["init", "--network", "polygon", "--chain", "7"];
    for (arguments, told) in [
        (&polygon[..3], "--chain"),
        (&["init", "--network", "polgon", "--chain", "7"][..], "polygon"),
    ] {
        let refused = run(arguments).await;
        assert!(!refused.status.success() && said(&refused).contains(told), "{}", said(&refused));
    }
    let made = run(&polygon).await;
    assert!(made.status.success() && said(&made).contains("keys new billing"), "{}", said(&made));
    let mode = |path: &str| fs::metadata(room.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("signer.toml"), mode("secrets"), mode("secrets/scheduler"), mode("secrets/operator")),
        (0o600, 0o700, 0o600, 0o600)
    );
    let secret = |of: &str| fs::read_to_string(room.join("secrets").join(of)).unwrap();
    assert_eq!((secret("scheduler").len(), secret("operator").len()), (32, 32));
    assert_ne!(secret("scheduler"), secret("operator"));

    let open = run(&["check"]).await;
    let open = said(&open);
    for key in ["chains.7.contract: ", "chains.7.rpc", "chains.7.policy.max_amount.USDT: "] {
        assert!(open.contains(key), "{key}: {open}");
    }
    assert!(!open.contains("callers"), "the secret is good: {open}");
    let key = run(&["keys", "new", "billing"]).await;
    assert!(key.status.success(), "a key is made before the rest is known: {}", said(&key));
    let again = run(&polygon).await;
    assert!(!again.status.success() && said(&again).contains("never replaced"), "{}", said(&again));
}

#[tokio::test]
async fn a_key_is_made_that_nobody_has_seen() {
    let town = Town::found().await;
    let made = town.installation.run(&["keys", "new", "second"]).await;
    let made_it = said(&made);
    assert!(made.status.success() && made_it.contains("  second"), "{made_it}");
    let list = said(&town.installation.run(&["keys", "list"]).await);
    assert!(list.contains(made_it.trim()), "{list}");
    let again = town.installation.run(&["keys", "new", "second"]).await;
    assert!(!again.status.success(), "{}", said(&again));
    let keystore = town.installation.path().join("keys/second.json");
    fs::set_permissions(keystore, fs::Permissions::from_mode(0o644)).unwrap();
    let list = said(&town.installation.run(&["keys", "list"]).await);
    assert!(list.contains("unreadable  second: ") && list.contains("mode 0644"), "{list}");
}

#[tokio::test]
async fn a_key_that_is_typed_is_not_shown() {
    let town = Town::found().await;
    let key = "8f2a55949038a9610f50fb23b5883af3b4ecb3c3bb792cbcefbd1542c692be63";
    let command = format!("{} --config signer.toml keys import typed", program().display());
    let mut terminal = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(town.installation.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keyboard = terminal.stdin.take().unwrap();
    let mut screen = terminal.stdout.take().unwrap();
    let mut shown = vec![];
    while !shown.ends_with(b"not shown: ") {
        let mut byte = [0];
        let read = screen.read(&mut byte).unwrap();
        assert_eq!(read, 1, "it ended: {}", String::from_utf8_lossy(&shown));
        shown.extend(byte);
    }
    // The terminal shows what is typed until the program says otherwise, right after it has asked.
    std::thread::sleep(std::time::Duration::from_secs(1));
    writeln!(keyboard, "{key}").unwrap();
    screen.read_to_end(&mut shown).unwrap();
    let ended = terminal.wait_with_output().unwrap();
    drop(keyboard);
    let shown = format!("{}{}", String::from_utf8_lossy(&shown), said(&ended));
    assert!(ended.status.success(), "{shown}");
    assert!(shown.contains("  typed"), "its address is: {shown}");
    assert!(!shown.contains(&key[..16]), "{shown}");
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_used_where_that_is_said() {
    let mut town = Town::found().await;
    town.installation = town.installation.env("HTTP_PROXY", "http://127.0.0.1:9");
    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.wrote("HTTP_PROXY is set and not used").await;
    town.quiet(&signer).await;
    signer.terminate().await;
    town.installation = town.installation.env("SIGNER__OUTBOUND__ENVIRONMENT_PROXIES", "true");
    let log = match town.installation.try_start().await {
        Ok(signer) => {
            assert_eq!(signer.scheduler.get("/health/ready").await.status, 503);
            signer.terminate().await
        }
        Err(log) => log,
    };
    assert!(!log.contains("HTTP_PROXY is set and not used"), "{log}");
    town.assert_paid(&[1, 0, 0]).await;
}
