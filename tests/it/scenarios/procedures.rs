//! What docs/changes.md tells an operator to do, done as it says, with batches open.

use super::resolve::{deaf, half_charged};
use crate::world::anvil::{Family, Mining};
use crate::world::contracts::Billing;
use crate::world::manual;
use crate::world::patience::eventually;
use crate::world::signer::{CALLER, Installation, SECRET, Signer};
use crate::world::town::{Founding, KEY, Town, put_key, signer_address};
use alloy::primitives::{Address, U256};
use alloy::signers::local::PrivateKeySigner;
use serde_json::{Value, json};
use std::fs;

on_both_families![
    the_signing_key_is_changed_with_a_batch_open,
    an_unproven_charge_is_resolved_with_a_batch_open,
    a_stolen_signing_key_is_replaced_and_its_open_batch_ends_without_it,
    a_stolen_caller_secret_is_replaced,
    claims_are_taken_from_one_installation_to_another,
];

/// The key that comes after the stolen one.
const NEXT: &str = "5b8e1f2a3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7";

/// Takes the Signer's account the role to bill.
async fn dismiss_the_signer(town: &Town) {
    let (mer_key, who) = (town.merchant.mer_key, signer_address());
    let call = Billing::setBillerCall { merKey: mer_key, who, allowed: false };
    town.merchant.execute(town.merchant.owner, &call).await;
}

/// Gives an account the role and money to bill; only what is asked for is mined afterwards.
pub(super) async fn introduce(town: &Town, who: Address) {
    town.anvil.set_automine(true).await;
    town.anvil.fund(&[who]).await;
    let rich = json!([who, U256::from(1_000_000_000_000_000_000_000_u128)]);
    town.anvil.call::<Value>("anvil_setBalance", rich).await;
    let call = Billing::setBillerCall { merKey: town.merchant.mer_key, who, allowed: true };
    town.merchant.execute(town.merchant.owner, &call).await;
    town.anvil.set_automine(false).await;
}

/// The same for the account that comes after the stolen one.
async fn introduce_next(town: &Town) -> Address {
    let next = NEXT.parse::<PrivateKeySigner>().unwrap().address();
    introduce(town, next).await;
    next
}

async fn the_signing_key_is_changed_with_a_batch_open(family: Family) {
    // A busy machine takes its time until the second key bills, and no block is mined meanwhile.
    let chain_keys = "clock_tolerance = \"10m\"".to_owned();
    let town =
        Town::with(Founding { mining: Mining::OnRequest, chain_keys, ..Founding::on(family) })
            .await;
    let key = town.installation.path().join("key.txt");
    fs::write(&key, KEY).unwrap();
    let install = "merchant-signer keys import billing < key.txt";
    assert!(manual::run(&town.installation, install, &[]).await.status.success());
    town.installation.edit("key = \"file:evm.key\"", "key = \"keystore:billing\"");
    let signer = town.signer().await;
    let open = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    town.anvil.call::<Value>("anvil_dropAllTransactions", json!([])).await;
    let next = introduce_next(&town).await;
    fs::write(&key, NEXT).unwrap();
    let import = "merchant-signer keys import billing-2 < key.txt";
    assert!(manual::run(&town.installation, import, &[]).await.status.success());
    let retired = manual::line("retired_keys = [\"keystore:billing\"]");
    let keys = format!("{}\n{retired}", manual::line("key = \"keystore:billing-2\""));
    town.installation.edit("key = \"keystore:billing\"", &keys);
    let checked = manual::run(&town.installation, "merchant-signer check", &[]).await;
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.contains(&format!("signs for {}", town.spell(next))), "{checked}");
    assert!(checked.contains("its key is retired"), "{checked}");
    let signer = town.signer().await;
    let following = async |signer: &Signer| {
        let ready = signer.scheduler.get("/health/ready").await.body;
        ready["chains"][0]["following"].clone()
    };
    let old = town.spell(signer_address());
    assert_eq!(following(&signer).await[0]["address"], old.as_str());
    let fresh = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    for hash in [&open, &fresh] {
        assert_eq!(town.settled(&signer, hash).await["state"], "charged");
    }
    town.quiet(&signer).await;
    signer.terminate().await;
    town.installation.edit(retired, "");
    town.anvil.set_automine(true).await;
    dismiss_the_signer(&town).await;
    let signer = town.signer().await;
    assert_eq!(following(&signer).await, json!([]), "nothing is left of the old account");
    town.assert_paid(&[1, 1, 0]).await;
}

async fn an_unproven_charge_is_resolved_with_a_batch_open(family: Family) {
    let town = deaf(family).await;
    let signer = town.signer().await;
    let hash = half_charged(&town, &signer).await;
    let open = signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    signer.terminate().await;
    let written = "merchant-signer resolve BILLING SUBSCRIPTION charged --why \"…\"";
    for (place, found) in [(0, "charged"), (1, "free")] {
        let who = town.people[place].subscribe_id.to_string();
        let why = "the token's transfers show it";
        let given = [("BILLING", &*hash), ("SUBSCRIPTION", &*who), ("charged", found), ("…", why)];
        let told = manual::run(&town.installation, written, &given).await;
        assert!(told.status.success(), "{told:?}");
    }
    let signer = town.signer().await;
    let paid = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(paid.tx_hash(), hash, "it has paid: {paid:?}");
    let anew = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_ne!(anew, hash, "it had not");
    for hash in [&open, &anew] {
        assert_eq!(town.settled(&signer, hash).await["state"], "charged");
    }
    town.assert_paid(&[1, 1, 1]).await;
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}

async fn a_stolen_signing_key_is_replaced_and_its_open_batch_ends_without_it(family: Family) {
    let town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    town.anvil.call::<Value>("anvil_dropAllTransactions", json!([])).await;
    // The contract lets the stolen key bill no more, and another one instead.
    let next = introduce_next(&town).await;
    town.anvil.set_automine(true).await;
    dismiss_the_signer(&town).await;
    town.anvil.set_automine(false).await;
    fs::write(town.installation.path().join("key.txt"), NEXT).unwrap();
    let written = "merchant-signer keys import billing-2 < key.txt";
    let imported = manual::run(&town.installation, written, &[]).await;
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    town.installation.edit("key = \"file:evm.key\"", manual::line("key = \"keystore:billing-2\""));
    let checked = town.installation.run(&["check"]).await;
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.contains(&format!("signs for {}", town.spell(next))), "{checked}");
    let signer = town.signer().await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(ended["state"], "reverted", "{ended}");
    town.assert_paid(&[0, 0, 0]).await;
    let fresh = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &fresh).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

async fn status_with(signer: &Signer, secret: &str) -> u16 {
    let mut scheduler = signer.scheduler.clone();
    secret.clone_into(&mut scheduler.secret);
    scheduler.billings("nothing").await.status
}

async fn a_stolen_caller_secret_is_replaced(family: Family) {
    const NEW: &str = "a secret that nobody has stolen";
    let town = Town::on(family).await;
    town.signer().await.terminate().await;
    // Both are good while the callers move.
    let both = format!("[callers.next]\nkey = {CALLER:?}\nsecret = {NEW:?}\n[callers.tests]");
    town.installation.edit("[callers.tests]", &both);
    let signer = town.signer().await;
    assert_eq!((status_with(&signer, SECRET).await, status_with(&signer, NEW).await), (404, 404));
    signer.terminate().await;
    town.installation
        .edit(&format!("[callers.tests]\nkey = {CALLER:?}\nsecret = {SECRET:?}\n"), "");
    let signer = town.signer().await;
    assert_eq!((status_with(&signer, SECRET).await, status_with(&signer, NEW).await), (401, 404));
}

/// The same configuration and key in another directory, with a journal of its own.
fn another_installation(town: &Town) -> Installation {
    let config = fs::read_to_string(town.installation.path().join("signer.toml")).unwrap();
    let chain = format!("[chains.139]{}", config.split_once("[chains.139]").unwrap().1);
    let other = Installation::new(&chain);
    put_key(&other);
    other
}

async fn claims_are_taken_from_one_installation_to_another(family: Family) {
    let mut town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &first).await["state"], "charged");
    let open = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    signer.terminate().await;
    let export = "merchant-signer claims export --out claims.jsonl";
    let told = manual::run(&town.installation, export, &[]).await;
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(said.contains("1 are still open, and are not in it"), "{said}");
    // As it says: what is open ends first, and the file is made again.
    let signer = town.signer().await;
    assert_eq!(town.settled(&signer, &open).await["state"], "charged");
    town.quiet(&signer).await;
    signer.terminate().await;
    fs::remove_file(town.installation.path().join("claims.jsonl")).unwrap();
    let told = manual::run(&town.installation, export, &[]).await;
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(said.contains("2 billings") && said.contains("0 are still open"), "{said}");
    let other = another_installation(&town);
    let checked = other.run(&["check"]).await;
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.contains("not known to this journal: if it has billed before"), "{checked}");
    let file = "claims.jsonl";
    fs::copy(town.installation.path().join(file), other.path().join(file)).unwrap();
    for added in ["2 billings added, 0 were known", "0 billings added, 2 were known"] {
        let import = "merchant-signer claims import claims.jsonl --why \"…\"";
        let told = manual::run(&other, import, &[("…", "the machine is changed")]).await;
        let said = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.status.success() && said.contains(added), "{said} {told:?}");
    }
    town.installation = other;
    let signer = town.signer().await;
    for (place, hash) in [&first, &open].into_iter().enumerate() {
        let heard = signer.scheduler.bill(&json!(town.entries([place]))).await;
        assert_eq!(&heard.tx_hash(), hash, "it is charged already");
    }
    eventually("the lane is open", async || {
        town.anvil.mine(1).await;
        signer.scheduler.get("/health/ready").await.status == 200
    })
    .await;
    let fresh = signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &fresh).await["state"], "charged");
    town.assert_paid(&[1, 1, 1]).await;
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}
