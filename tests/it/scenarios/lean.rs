//! The program that was built without what can be left out: what it says to a configuration that wants it.

use crate::world::anvil::Family;
use crate::world::town::{Town, signer_address};

#[tokio::test]
#[ignore = "needs a lean program, which ./test --only lean builds"]
async fn a_store_that_is_not_built_in_is_refused_by_the_name_of_the_key() {
    let mut town = Town::on(Family::Evm).await;
    let pin = town.installation.path().join("evm.key").display().to_string();
    town.installation = town
        .installation
        .env("SIGNER__KEYS__PKCS11__MODULE", "/usr/lib/hsm.so")
        .env("SIGNER__KEYS__PKCS11__TOKEN", "billing")
        .env("SIGNER__KEYS__PKCS11__PIN_FILE", &pin)
        .env("SIGNER__CHAINS__139__KEY", &format!("pkcs11:billing@{}", signer_address()));
    for command in [["check"].as_slice(), &[]] {
        let ended = town.installation.run(command).await;
        let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert!(!ended.status.success(), "{command:?}: {said}");
        assert!(said.contains("chains.139.key: this build"), "{command:?}: {said}");
        assert!(said.contains("feature `pkcs11`"), "{command:?}: {said}");
    }
}

#[tokio::test]
#[ignore = "needs a lean program, which ./test --only lean builds"]
async fn a_journal_on_a_server_is_refused_where_that_is_not_built_in() {
    let mut town = Town::on(Family::Evm).await;
    let mark = town.installation.path().join("journal.mark").display().to_string();
    let url = "postgresql://signer:hunter2@db.example/billing";
    town.installation =
        town.installation.env("SIGNER__JOURNAL__MARK_PATH", &mark).env("SIGNER__JOURNAL__URL", url);
    for command in [["check"].as_slice(), &["init"], &[]] {
        let ended = town.installation.run(command).await;
        let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("journal.url: needs a program that was built with"), "{said}");
        assert!(said.contains("feature `postgres`") && !said.contains("hunter2"), "{said}");
    }
}
