//! An installation that must not bill: the Signer does not start, or answers 503 before anything is
//! signed, and says what to do.

use crate::world::contracts::{Billing, Merchant};
use crate::world::signer::{Installation, program};
use crate::world::town::{Founding, KEY, Town};
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

#[tokio::test]
async fn without_its_journal_the_signer_does_not_start_and_makes_none() {
    let town = Town::found().await;
    fs::remove_file(town.installation.journal()).unwrap();
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("there is no journal at"), "{log}");
    assert!(log.contains("merchant-signer init") && log.contains("restore"), "{log}");
    assert!(!town.installation.journal().exists(), "a journal is made on request only");
}

/// As after a start of the machine without the journal's disk.
#[tokio::test]
async fn where_the_directory_of_the_journal_is_missing_that_alone_is_told() {
    let mut town = Town::found().await;
    let journal = town.installation.path().join("data/journal.sqlite");
    town.installation = town.installation.env("SIGNER__JOURNAL__PATH", journal.to_str().unwrap());
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("there is no journal at") && log.contains("Mount its disk"), "{log}");
    assert!(!log.contains("keys."), "{log}");
    assert!(!journal.parent().unwrap().exists());
}

#[tokio::test]
async fn beside_the_mark_of_a_journal_that_is_gone_none_is_made() {
    let town = Town::found().await;
    let journal = town.installation.journal();
    fs::remove_file(&journal).unwrap();
    let refused = town.installation.run(&["init"]).await;
    let told = said(&refused);
    assert!(!refused.status.success() && told.contains("its mark"), "{told}");
    assert!(told.contains("merchant-signer restore") && !journal.exists(), "{told}");
    fs::remove_file(town.installation.path().join("journal.sqlite.mark")).unwrap();
    assert!(town.installation.run(&["init"]).await.status.success());
}

#[test]
fn without_any_configuration_every_command_says_how_to_come_by_one() {
    let room = tempfile::tempdir().unwrap();
    for words in [&["check"][..], &[], &["init"], &["audit"]] {
        let mut command = Command::new(program());
        let ended = command.args(words).current_dir(room.path()).output().unwrap();
        let told = said(&ended);
        assert_eq!(ended.status.code(), Some(2), "{told}");
        assert!(told.starts_with("there is no signer.toml in ") && told.contains("--config"));
        assert!(told.contains("init --network") && told.lines().count() == 1, "{told}");
    }
}

#[tokio::test]
async fn a_port_that_is_in_use_is_told_with_its_key() {
    let mut town = Town::found().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    town.installation = town.installation.env("SIGNER__HTTP__LISTEN", &at);
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains(&format!("cannot listen on {at} (http.listen")), "{log}");
    assert!(log.contains("merchant-signer status"), "{log}");
}

#[tokio::test]
async fn a_journal_is_never_replaced() {
    let town = Town::found().await;
    let before = fs::read(town.installation.journal()).unwrap();
    let again = town.installation.run(&["init"]).await;
    assert!(!again.status.success());
    assert!(said(&again).contains("never replaced"), "{}", said(&again));
    assert_eq!(fs::read(town.installation.journal()).unwrap(), before);
}

#[tokio::test]
async fn two_signers_never_share_a_journal() {
    let town = Town::found().await;
    let signer = town.signer().await;
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("another process holds the journal"), "{log}");
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    signer.terminate().await;
    town.installation.start().await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_file_that_is_no_journal_is_refused() {
    let town = Town::found().await;
    town.installation.forge();
    fs::write(town.installation.journal(), "dear diary, today nobody paid").unwrap();
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("is not a journal of the Signer"), "{log}");
}

#[tokio::test]
async fn all_faults_of_a_configuration_are_told_at_once() {
    let chain = "[chains.139]\nname = \"x\"\nfamily = \"evm\"\neip155_id = 0\nrpc = \"ftp://x\"\n\
                 contract = \"0x12\"\nkey = \"somewhere\"\ncolour = \"red\"\n";
    let installation = Installation::without_journal(chain).env("SIGNER__HTTP__LISTEN", "nowhere");
    let output = installation.run(&["check"]).await;
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let faults = said(&output);
    let wrong = ["eip155_id", "rpc", "contract", "key", "colour", "billing.call", "fees"];
    for key in wrong {
        assert!(faults.contains(&format!("chains.139.{key}")), "{key} is not in\n{faults}");
    }
    assert!(faults.contains("http.listen"), "{faults}");
    assert_eq!(installation.try_start().await.unwrap_err(), faults, "serve says the same");
}

#[tokio::test]
async fn check_tells_an_account_that_may_bill_from_one_that_may_not() {
    let town = Town::found().await;
    let good = town.installation.run(&["check"]).await;
    assert!(good.status.success() && said(&good).contains("ready to bill"), "{}", said(&good));
    let Merchant { mer_key, owner, biller, .. } = town.merchant;
    let forbid = Billing::setBillerCall { merKey: mer_key, who: biller, allowed: false };
    town.merchant.execute(owner, &forbid).await;
    let drained = json!([biller, "0x0"]);
    drop::<serde_json::Value>(town.anvil.call("anvil_setBalance", drained).await);
    let bad = town.installation.run(&["check"]).await;
    assert!(!bad.status.success());
    let told = said(&bad);
    let faults: Vec<_> = told.lines().filter(|line| line.starts_with("FAULT")).collect();
    assert!(
        matches!(faults[..], [money, right]
        if money.contains("gas money") && right.contains("Signer not allowed to bill")),
        "{told}"
    );
}

#[tokio::test]
async fn a_key_that_others_can_read_is_not_used() {
    let town = Town::found().await;
    let key = town.installation.path().join("evm.key");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("chains.139.key") && log.contains("mode 0640"), "{log}");
    assert!(log.contains("chmod 600"), "{log}");
}

#[tokio::test]
async fn a_key_that_is_none_is_not_shown() {
    let town = Town::found().await;
    fs::write(town.installation.path().join("evm.key"), &KEY[..63]).unwrap();
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("chains.139.key: not a private key"), "{log}");
    assert!(!log.contains(&KEY[..16]), "part of the key is in the log");
}

#[tokio::test]
async fn with_a_full_disk_nothing_is_signed_and_what_was_charged_is_still_known() {
    let mut town = Town::with(Founding::default()).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    signer.terminate().await;
    town.installation = town.installation.env("SIGNER__JOURNAL__MIN_FREE", "1048576MiB");
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    assert!(heard.body["msg"].as_str().unwrap().contains("make room"), "{heard:?}");
    let ready = signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body["journal"].as_str().unwrap().contains("bytes are free"), "{ready:?}");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash);
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn what_is_dangerous_is_a_warning_and_strict_fails_on_it() {
    let town = Town::found().await;
    let strict = town.installation.run(&["check", "--strict"]).await;
    assert!(strict.status.success(), "a chain for tests warns of nothing: {}", said(&strict));
    assert!(said(&strict).contains("one provider: claims are released on its word alone"));
    let open = async |arguments: &[&str]| {
        let mut command = town.installation.command();
        command.env("SIGNER__HTTP__LISTEN", "0.0.0.0:9").env("SIGNER__CHAINS__139__PAUSED", "true");
        command.args(arguments);
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    };
    let warned = open(&["check"]).await;
    let told = said(&warned);
    assert!(warned.status.success() && told.contains("ready to bill, with 2 warnings"), "{told}");
    let warnings: Vec<_> = told.lines().filter(|line| line.starts_with("WARN")).collect();
    assert!(
        matches!(warnings[..], [clear, paused]
        if clear.contains("heard in the clear") && paused.contains("paused")),
        "{told}"
    );
    assert_eq!(open(&["check", "--strict"]).await.status.code(), Some(1));
}
