//! What an operator changes between two starts: the key, the contract, the number of a chain, or whether
//! it is there at all. Whatever is open is followed all the same, or the Signer does not start.

use super::changes::ANOTHER_CHAIN;
use super::profiles::without_periods;
use crate::world::anvil::{Family, Mining};
use crate::world::contracts::{Billing, Merchant};
use crate::world::manual;
use crate::world::patience::eventually;
use crate::world::proxy::{Act, SEND};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town, signer_address};
use alloy::primitives::{Address, B256, U256};
use alloy::signers::local::PrivateKeySigner;
use sandbox_chains::faults::{Fault, On};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

on_both_families![
    a_changed_key_leaves_its_open_batch_to_a_lane_that_follows_it,
    what_a_node_forgot_is_offered_again_without_its_key,
    a_key_that_is_changed_back_goes_on_where_it_was,
    a_new_key_bills_while_the_old_one_is_followed,
    a_chain_that_is_gone_with_something_open_is_a_fault_at_start,
    a_retired_chain_ends_what_it_has_open_and_takes_nothing_new,
    a_chain_moves_to_another_number_with_its_claims_and_only_deliberately,
    a_changed_contract_does_not_change_what_an_open_batch_is_read_by,
    an_account_with_nothing_but_guarded_charges_is_followed_and_named,
];

/// The key that comes after the usual one.
const NEW_KEY: &str = "3d0a5c1b9e8f7a6d5c4b3a29181706f5e4d3c2b1a0908f7e6d5c4b3a29180706";

/// Its account.
pub(super) fn new_address() -> Address {
    NEW_KEY.parse::<PrivateKeySigner>().unwrap().address()
}

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Has the Signer sign with another key from the next start on; `keys` are more lines of the chain.
pub(super) fn change_key(town: &Town, keys: &str) {
    use std::io::Write as _;
    let path = town.installation.path().join("new.key");
    let file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    writeln!(file.unwrap(), "{NEW_KEY}").unwrap();
    let new = format!("key = \"file:new.key\"\n{keys}");
    town.installation.edit("key = \"file:evm.key\"", &new);
}

/// A town in which the first subscriber is billed and nothing is mined; the hash, and no Signer.
async fn with_one_open(town: &Town) -> String {
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    hash
}

async fn health(signer: &Signer) -> Value {
    signer.scheduler.get("/health/ready").await.body["chains"][0].clone()
}

/// A Signer whose `check`, readiness and metrics name the account whose key it has not, with so many open
/// batches and guarded charges.
async fn followed(town: &Town, [open, guarded]: [u64; 2]) -> Signer {
    let old = town.spell(signer_address());
    let checked = said(&town.installation.run(&["check"]).await);
    let left = format!("{open} open billings and {guarded} guarded charges of the account {old}");
    assert!(checked.contains(&format!("{left}: its key is not configured")), "{checked}");
    let signer = town.signer().await;
    let health = health(&signer).await;
    let [lane] = health["following"].as_array().unwrap().as_slice() else { panic!("{health}") };
    assert_eq!((&lane["address"], &lane["undecided"]), (&json!(old), &json!(open)), "{health}");
    assert_eq!(lane["status"], "ok", "{health}");
    assert!(lane["why"].as_str().unwrap().contains("its key is not configured"), "{health}");
    let metrics = signer.scheduler.get("/metrics").await.text;
    let gauge = format!("signer_following_batches{{chain=\"139\",account=\"{old}\"}} {open}");
    assert!(metrics.contains(&gauge), "{metrics}");
    signer
}

async fn a_changed_key_leaves_its_open_batch_to_a_lane_that_follows_it(family: Family) {
    let town = Town::on_request(family).await;
    let hash = with_one_open(&town).await;
    change_key(&town, "");
    let signer = followed(&town, [1, 0]).await;
    assert_eq!(health(&signer).await["undecided"], 1);
    assert!(signer.log().contains("following the account: its key is not configured"));
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash, "it is charged already: {again:?}");
    town.assert_paid(&[1, 0, 0]).await;
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", said(&audit));
}

async fn what_a_node_forgot_is_offered_again_without_its_key(family: Family) {
    let town = Town::on_request(family).await;
    let hash = with_one_open(&town).await;
    change_key(&town, "");
    town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    town.anvil.mine(1).await;
    assert_eq!(town.transactions().await, 0, "the node forgot it");
    let signer = town.signer().await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!((&ended["state"], &ended["txHash"]), (&json!("charged"), &json!(hash)));
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}

async fn a_key_that_is_changed_back_goes_on_where_it_was(family: Family) {
    let town = Town::on_request(family).await;
    let hash = with_one_open(&town).await;
    change_key(&town, "");
    town.signer().await.terminate().await;
    town.installation.edit("file:new.key", "file:evm.key");
    let signer = town.signer().await;
    assert_eq!(health(&signer).await["following"], json!([]));
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let next = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &next).await["state"], "charged");
    assert_eq!(town.transactions().await, 2);
    town.assert_paid(&[1, 1, 0]).await;
}

/// Lets the new account bill, and gives it money.
pub(super) async fn introduce_the_new_key(town: &Town) {
    let (mer_key, rich) = (town.merchant.mer_key, U256::from(1_000_000_000_000_000_000_000_u128));
    let rich = json!([new_address(), rich]);
    town.anvil.set_automine(true).await;
    town.anvil.fund(&[new_address()]).await;
    town.anvil.call::<Value>("anvil_setBalance", rich).await;
    let allow = Billing::setBillerCall { merKey: mer_key, who: new_address(), allowed: true };
    town.merchant.execute(town.merchant.owner, &allow).await;
    town.anvil.set_automine(false).await;
}

async fn a_new_key_bills_while_the_old_one_is_followed(family: Family) {
    let town = Town::on_request(family).await;
    introduce_the_new_key(&town).await;
    let hash = with_one_open(&town).await;
    town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    change_key(&town, "retired_keys = [\"file:evm.key\"]");
    let signer = town.signer().await;
    let why = health(&signer).await["following"][0]["why"].clone();
    assert!(why.as_str().unwrap().contains("its key is retired"), "{why}");
    let fresh = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    let ended = town.settled(&signer, &fresh).await;
    assert_eq!(
        (&ended["state"], &ended["address"]),
        (&json!("charged"), &json!(town.spell(new_address())))
    );
    let old = town.settled(&signer, &hash).await;
    assert_eq!(
        (&old["state"], &old["address"]),
        (&json!("charged"), &json!(town.spell(signer_address())))
    );
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

/// Replaces the chain's section by that of another chain; tells the file and what it held.
fn with_another_section(town: &Town) -> (PathBuf, String) {
    let path = town.installation.path().join("signer.toml");
    let before = fs::read_to_string(&path).unwrap();
    let (usual, _) = before.split_once("[chains.139]").unwrap();
    fs::write(&path, format!("{usual}{ANOTHER_CHAIN}")).unwrap();
    (path, before)
}

async fn a_chain_that_is_gone_with_something_open_is_a_fault_at_start(family: Family) {
    let town = Town::on_request(family).await;
    let hash = with_one_open(&town).await;
    let (path, before) = with_another_section(&town);
    let log = town.installation.try_start().await.unwrap_err();
    let orphan = format!(
        "1 open billings and 0 guarded charges of the account {}",
        town.spell(signer_address())
    );
    assert!(log.contains(&orphan) && log.contains("no [chains.139] is configured"), "{log}");
    let checked = town.installation.run(&["check"]).await;
    assert!(!checked.status.success() && said(&checked).contains(&orphan), "{}", said(&checked));
    fs::write(&path, &before).unwrap();
    let signer = town.signer().await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    signer.terminate().await;
    with_another_section(&town);
    town.installation.start().await;
    town.assert_paid(&[1, 0, 0]).await;
}

async fn a_retired_chain_ends_what_it_has_open_and_takes_nothing_new(family: Family) {
    let town = Town::on_request(family).await;
    let hash = with_one_open(&town).await;
    town.installation.edit("test = true", "test = true\nretired = true");
    let signer = town.signer().await;
    signer.ready().await;
    let retired = health(&signer).await;
    assert_eq!((&retired["retired"], &retired["undecided"]), (&json!(true), &json!(1)));
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains("the chain is retired"), "{refused:?}");
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash, "what was charged is still known");
    town.assert_paid(&[1, 0, 0]).await;
}

async fn a_chain_moves_to_another_number_with_its_claims_and_only_deliberately(family: Family) {
    let town = Town::on_request(family).await;
    let hash = with_one_open(&town).await;
    town.installation.edit("[chains.139", "[chains.140");
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("merchant-signer networks rename 139 140"), "{log}");
    let checked = said(&town.installation.run(&["check"]).await);
    assert!(checked.contains("merchant-signer networks rename 139 140"), "{checked}");
    let rename = async |from, to| {
        let words = ["networks", "rename", from, to, "--why", "the platform says so"];
        town.installation.run(&words).await
    };
    let unknown = rename("138", "140").await;
    assert!(!unknown.status.success() && said(&unknown).contains("knows no chain 138"));
    let written = "merchant-signer networks rename 139 140 --why \"…\"";
    let renamed = manual::run(&town.installation, written, &[("…", "the platform says so")]).await;
    assert!(renamed.status.success(), "{}", said(&renamed));
    let signer = town.signer().await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let mut entries = town.entries([0]);
    entries[0]["chainId"] = json!(140);
    assert_eq!(signer.scheduler.bill(&json!(entries)).await.tx_hash(), hash, "its claim moved too");
    town.assert_paid(&[1, 0, 0]).await;
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", said(&audit));
}

async fn a_changed_contract_does_not_change_what_an_open_batch_is_read_by(family: Family) {
    let town = Town::on_request(family).await;
    town.anvil.set_automine(true).await;
    let other = Merchant::open(&town.anvil.rpc(), signer_address()).await;
    town.anvil.set_automine(false).await;
    let hash = with_one_open(&town).await;
    town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    let (from, to) = (town.spell(town.contract), town.spell(other.billing));
    town.installation.edit(&from, &to);
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("merchant-signer networks accept 139"), "{log}");
    let checked = said(&town.installation.run(&["check"]).await);
    assert!(checked.contains("merchant-signer networks accept 139"), "{checked}");
    let written = "merchant-signer networks accept 139 --why \"…\"";
    let accepted = manual::run(&town.installation, written, &[("…", "a new contract")]).await;
    assert!(accepted.status.success() && said(&accepted).contains(&to), "{}", said(&accepted));
    let signer = town.signer().await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(ended["state"], "charged");
    assert_eq!(ended["contract"], from.as_str());
    assert_eq!(ended["subscriptions"][0]["state"], "charged", "{ended}");
    town.assert_paid(&[1, 0, 0]).await;
}

async fn an_account_with_nothing_but_guarded_charges_is_followed_and_named(family: Family) {
    let town = without_periods(family, 3).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    signer.terminate().await;
    change_key(&town, "");
    let signer = followed(&town, [0, 1]).await;
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash, "the guard of the old account's charge holds: {again:?}");
    town.assert_paid(&[1, 0]).await;
    signer.terminate().await;
    with_another_section(&town);
    let log = town.installation.try_start().await.unwrap_err();
    let old = town.spell(signer_address());
    let orphan = format!("0 open billings and 1 guarded charges of the account {old}");
    assert!(log.contains(&orphan) && log.contains("no [chains.139] is configured"), "{log}");
}

/// On TRON: a batch whose transaction every node forgets, under a key that is changed then.
async fn forgotten(keys: &str) -> (Town, Signer, String) {
    let founding = Founding {
        mining: Mining::OnRequest,
        chain_keys: "expiry = \"1m\"".to_owned(),
        behind: Duration::from_mins(10),
        ..Founding::on(Family::Tron)
    };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    town.tron().approach(40_000);
    town.noticed().await;
    town.tron().node.faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    change_key(&town, keys);
    let signer = town.signer().await;
    town.tron().solidify_at(town.tron().now_ms() + 60_000);
    (town, signer, hash)
}

#[tokio::test]
async fn what_dies_without_its_key_on_tron_is_expired_and_free() {
    let (town, signer, hash) = forgotten("").await;
    eventually("it is expired", async || signer.billing(&hash).await["state"] == "expired").await;
    assert_eq!(signer.billing(&hash).await["txHashes"], json!([hash]), "nothing else was signed");
    town.assert_paid(&[0, 0, 0]).await;
}

#[tokio::test]
async fn what_dies_is_renewed_with_a_retired_key_on_tron() {
    let (town, signer, hash) = forgotten("retired_keys = [\"file:evm.key\"]").await;
    town.tron().node.faults().clear();
    eventually("another attempt is signed", async || {
        signer.billing(&hash).await["txHashes"].as_array().is_some_and(|all| all.len() == 2)
    })
    .await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(
        (&ended["state"], &ended["address"]),
        (&json!("charged"), &json!(town.spell(signer_address())))
    );
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_retired_key_cancels_what_no_node_can_take() {
    let town = Town::on_request(Family::Evm).await;
    introduce_the_new_key(&town).await;
    let hash = with_one_open(&town).await;
    town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    change_key(&town, "retired_keys = [\"file:evm.key\"]");
    town.proxy.fault(SEND, Act::Refuse("intrinsic gas too low"));
    let signer = town.signer().await;
    eventually("a cancel is signed", async || {
        signer.billing(&hash).await["txHashes"].as_array().is_some_and(|all| all.len() == 2)
    })
    .await;
    town.proxy.heal();
    assert_eq!(town.settled(&signer, &hash).await["state"], "cancelled");
    let fresh = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &fresh).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_retired_key_outbids_what_bids_too_little() {
    let chain_keys = "replace_after = \"1s\"".to_owned();
    let founding = Founding { chain_keys, mining: Mining::OnRequest, ..Founding::default() };
    let town = Town::with(founding).await;
    introduce_the_new_key(&town).await;
    let hash = with_one_open(&town).await;
    change_key(&town, "retired_keys = [\"file:evm.key\"]");
    let dear = json!([U256::from(100_000_000_000_u64)]);
    town.anvil.call::<Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
    town.anvil.mine(1).await;
    let signer = town.signer().await;
    eventually("another bid is signed", async || {
        signer.billing(&hash).await["txHashes"].as_array().is_some_and(|all| all.len() >= 2)
    })
    .await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(
        (&ended["state"], &ended["address"]),
        (&json!("charged"), &json!(town.spell(signer_address())))
    );
    town.assert_paid(&[1, 0, 0]).await;
}
