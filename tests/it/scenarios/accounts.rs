//! Several accounts that sign on one chain: each takes its part, a claim is everybody's, and what befalls one
//! account is its own.

use crate::world::anvil::{Family, Mining};
use crate::world::contracts::Billing;
use crate::world::manual;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act};
use crate::world::signer::{Heard, Installation, Signer};
use crate::world::town::{Founding, Town, signer_address};
use alloy::primitives::{Address, B256, U256};
use alloy::signers::local::PrivateKeySigner;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Output;

mod old_copies;

on_both_families![
    so_many_accounts_so_much_at_once_and_a_repeat_meets_its_transaction,
    whoever_is_asked_of_together_is_charged_by_one_transaction,
    a_key_that_goes_with_something_open_is_followed_and_its_claims_hold,
    neither_a_kill_nor_another_order_of_the_keys_moves_anybody,
    an_account_without_gas_is_named_and_the_others_bill_on,
    while_nobody_knows_what_one_account_does_no_other_charges,
    a_limit_of_the_day_is_one_for_all_accounts,
    two_keys_of_one_account_are_no_two_accounts,
];

/// The key of the second account.
const SECOND: &str = "2c9f8e7d6b5a4938271605f4e3d2c1b0a9f8e7d6c5b4a39281706f5e4d3c2b1a";

/// More than is needed for anything, wei or sun.
fn plenty(family: Family) -> u128 {
    match family {
        Family::Evm => 1_000_000_000_000_000_000_000,
        Family::Tron => 1_000_000_000_000,
    }
}

fn address(key: &str) -> Address {
    key.parse::<PrivateKeySigner>().unwrap().address()
}

fn second_address() -> Address {
    address(SECOND)
}

fn put(installation: &Installation, name: &str, key: &str) {
    use std::io::Write as _;
    let path = installation.path().join(name);
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    writeln!(file.unwrap(), "{key}").unwrap();
}

/// Gives an account so much, wei or sun.
async fn endow(town: &Town, account: Address, amount: u128) {
    match town.family() {
        Family::Tron => town.tron().node.fund(account, amount.try_into().unwrap()),
        Family::Evm => {
            let asked = json!([account, U256::from(amount)]);
            town.anvil.call::<Value>("anvil_setBalance", asked).await;
        }
    }
}

/// A town whose chain makes no block by itself, billed by two accounts: at most one transaction of each waits
/// for a block.
pub(super) async fn of_two(family: Family) -> Town {
    of_two_with(Founding::on(family)).await
}

/// The same, of another founding.
async fn of_two_with(founding: Founding) -> Town {
    let family = founding.family;
    // Blocks are made faster than time passes.
    let chain_keys = "max_in_flight = 1\nclock_tolerance = \"1d\"".to_owned();
    let mining = Mining::OnRequest;
    let mut town = Town::with(Founding { mining, people: 8, chain_keys, ..founding }).await;
    town.installation = town.installation.env("SIGNER__HTTP__REQUEST_DEADLINE", "3s");
    town.anvil.set_automine(true).await;
    town.anvil.fund(&[second_address()]).await;
    endow(&town, second_address(), plenty(family)).await;
    let (mer_key, who) = (town.merchant.mer_key, second_address());
    let allow = Billing::setBillerCall { merKey: mer_key, who, allowed: true };
    town.merchant.execute(town.merchant.owner, &allow).await;
    town.anvil.set_automine(false).await;
    put(&town.installation, "second.key", SECOND);
    let listed = manual::line("keys = [\"keystore:billing\", \"keystore:billing-2\"]");
    let listed = listed.replace("keystore:billing-2", "file:second.key");
    let listed = listed.replace("keystore:billing", "file:evm.key");
    sign_with(&town, "key = \"file:evm.key\"", &listed);
    town
}

/// Who signs from the next start on.
fn sign_with(town: &Town, before: &str, after: &str) {
    town.installation.edit(before, after);
}

/// Posts, and again while nobody can tell: the deadline is short.
async fn post(town: &Town, signer: &Signer, people: &[usize]) -> Heard {
    signer.scheduler.insist(&json!(town.entries(people.iter().copied()))).await
}

/// Posts once.
async fn post_once(town: &Town, signer: &Signer, people: &[usize]) -> Heard {
    signer.scheduler.bill(&json!(town.entries(people.iter().copied()))).await
}

/// The account that would bill these people together.
async fn account_of(town: &Town, signer: &Signer, people: &[usize]) -> String {
    let list = town.entries(people.iter().copied());
    let heard = signer.scheduler.insist(&json!({"dryRun": true, "list": list})).await;
    heard.body["data"]["address"].as_str().unwrap_or_else(|| panic!("{heard:?}")).to_owned()
}

/// The people who fall to the first account, and those who fall to the second.
pub(super) async fn parts(town: &Town, signer: &Signer) -> [Vec<usize>; 2] {
    let mut parts = [vec![], vec![]];
    let [first, second] = [signer_address(), second_address()].map(|account| town.spell(account));
    for person in 0..town.people.len() {
        let account = account_of(town, signer, &[person]).await;
        assert!(account == first || account == second, "{account}");
        parts[usize::from(account == second)].push(person);
    }
    assert!(parts.iter().all(|part| part.len() >= 2), "{parts:?}");
    parts
}

async fn health(signer: &Signer) -> Value {
    signer.scheduler.get("/health/ready").await.body["chains"][0].clone()
}

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// How often everybody has paid, where these have paid once.
pub(super) async fn only_these_paid(town: &Town, people: &[usize]) {
    let times: Vec<u128> =
        (0..town.people.len()).map(|person| u128::from(people.contains(&person))).collect();
    town.assert_paid(&times).await;
}

/// Ends with the audit.
async fn ends_well(town: &Town, signer: Signer) {
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", said(&audit));
}

async fn so_many_accounts_so_much_at_once_and_a_repeat_meets_its_transaction(family: Family) {
    let town = of_two(family).await;
    let signer = town.signer().await;
    let [first, second] = parts(&town, &signer).await;
    let mine = post(&town, &signer, &first[..1]).await;
    let full = post_once(&town, &signer, &first[1..2]).await;
    assert_eq!((full.status, full.code()), (503, 0), "one waits for a block: {full:?}");
    let why = full.body["msg"].as_str().unwrap();
    assert!(why.contains(&town.spell(signer_address())) && why.contains("max_in_flight"), "{why}");
    let theirs = post(&town, &signer, &second[..1]).await;
    assert_eq!(theirs.code(), 1, "the other account has room: {theirs:?}");
    assert_eq!(mine.body["data"]["address"], town.spell(signer_address()));
    assert_eq!(theirs.body["data"]["address"], town.spell(second_address()));
    for (person, sent) in [(first[0], &mine), (second[0], &theirs)] {
        let again = post(&town, &signer, &[person]).await;
        assert_eq!(again.tx_hash(), sent.tx_hash(), "{again:?}");
        assert_eq!(again.body["data"]["repeated"], true, "{again:?}");
    }
    let both = post(&town, &signer, &[first[0], second[0]]).await;
    assert_eq!(both.tx_hash(), theirs.tx_hash(), "the newer of the two: {both:?}");
    let earlier = &both.body["data"]["earlier"];
    assert_eq!(earlier[0]["txHash"], json!(mine.tx_hash()), "{both:?}");
    assert_eq!(health(&signer).await["undecided"], 2);
    town.quiet(&signer).await;
    only_these_paid(&town, &[first[0], second[0]]).await;
    ends_well(&town, signer).await;
}

async fn whoever_is_asked_of_together_is_charged_by_one_transaction(family: Family) {
    let town = of_two(family).await;
    let signer = town.signer().await;
    let [first, second] = parts(&town, &signer).await;
    let all: Vec<usize> = (0..town.people.len()).collect();
    let mixed = [first[0], second[0], first[1], second[1]];
    let backwards: Vec<usize> = mixed.iter().rev().copied().collect();
    let account = account_of(&town, &signer, &mixed).await;
    assert_eq!(account_of(&town, &signer, &backwards).await, account, "in whatever order");
    let sent = post(&town, &signer, &backwards).await;
    assert_eq!(sent.body["data"]["address"], account, "{sent:?}");
    assert_eq!(sent.body["data"]["subscriptionIds"].as_array().unwrap().len(), mixed.len());
    // The rest of them, with those that are held: whichever account that falls to.
    town.quiet(&signer).await;
    let rest = post(&town, &signer, &all).await;
    assert_eq!(rest.code(), 1, "{rest:?}");
    let data = &rest.body["data"];
    assert_eq!(data["subscriptionIds"].as_array().unwrap().len(), all.len() - mixed.len());
    assert_eq!(data["earlier"].as_array().unwrap().len(), mixed.len(), "{rest:?}");
    town.quiet(&signer).await;
    only_these_paid(&town, &all).await;
    ends_well(&town, signer).await;
}

async fn a_key_that_goes_with_something_open_is_followed_and_its_claims_hold(family: Family) {
    let town = of_two(family).await;
    let signer = town.signer().await;
    let [_, second] = parts(&town, &signer).await;
    let open = post(&town, &signer, &second[..1]).await;
    signer.kill();
    sign_with(&town, "keys = [\"file:evm.key\", \"file:second.key\"]", "key = \"file:evm.key\"");
    let signer = town.signer().await;
    let left = town.spell(second_address());
    let told = health(&signer).await;
    assert_eq!(told["following"][0]["address"], json!(left), "{told}");
    assert_eq!(told["following"][0]["undecided"], 1, "{told}");
    let again = post(&town, &signer, &second[..1]).await;
    assert_eq!(again.tx_hash(), open.tx_hash(), "whoever signs now: {again:?}");
    let next = post(&town, &signer, &second[1..2]).await;
    assert_eq!(next.body["data"]["address"], town.spell(signer_address()), "{next:?}");
    town.quiet(&signer).await;
    let again = post(&town, &signer, &second[..2]).await;
    assert_eq!(again.body["data"]["repeated"], true, "{again:?}");
    only_these_paid(&town, &second[..2]).await;
    // And when the key is back, what the other account has charged in its stead stays charged.
    signer.terminate().await;
    sign_with(&town, "key = \"file:evm.key\"", "keys = [\"file:second.key\", \"file:evm.key\"]");
    let signer = town.signer().await;
    let again = post(&town, &signer, &second[..2]).await;
    assert_eq!(again.body["data"]["repeated"], true, "{again:?}");
    only_these_paid(&town, &second[..2]).await;
    ends_well(&town, signer).await;
}

async fn neither_a_kill_nor_another_order_of_the_keys_moves_anybody(family: Family) {
    let town = of_two(family).await;
    let signer = town.signer().await;
    let before = parts(&town, &signer).await;
    let [first, second] = &before;
    let sent = [
        post(&town, &signer, &first[..1]).await.tx_hash(),
        post(&town, &signer, &second[..1]).await.tx_hash(),
    ];
    signer.kill();
    let keys = ["\"file:evm.key\", \"file:second.key\"", "\"file:second.key\", \"file:evm.key\""];
    sign_with(&town, keys[0], keys[1]);
    let signer = town.signer().await;
    for (hash, person) in sent.iter().zip([first[0], second[0]]) {
        assert_eq!(&post(&town, &signer, &[person]).await.tx_hash(), hash);
    }
    town.quiet(&signer).await;
    let after = [&first[1..], &second[1..]];
    for (part, account) in after.into_iter().zip([signer_address(), second_address()]) {
        for person in part {
            assert_eq!(account_of(&town, &signer, &[*person]).await, town.spell(account));
        }
    }
    only_these_paid(&town, &[first[0], second[0]]).await;
    ends_well(&town, signer).await;
}

async fn an_account_without_gas_is_named_and_the_others_bill_on(family: Family) {
    let town = of_two(family).await;
    let signer = town.signer().await;
    let [first, second] = parts(&town, &signer).await;
    endow(&town, second_address(), 0).await;
    town.noticed().await;
    town.noticed().await;
    let poor = town.spell(second_address());
    let refused = post_once(&town, &signer, &second[..1]).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains("top it up"), "{refused:?}");
    let billed = post(&town, &signer, &first[..1]).await;
    assert_eq!(billed.code(), 1, "the other account: {billed:?}");

    let told = health(&signer).await;
    let why = told["status"].as_str().unwrap();
    assert!(why.starts_with(&format!("account {poor}: ")), "{why}");
    let accounts = told["accounts"].as_array().unwrap();
    let status = |account: &str| {
        let found = accounts.iter().find(|one| one["address"] == account).unwrap();
        found["status"].clone()
    };
    assert_eq!(status(&town.spell(signer_address())), "ok", "{told}");
    assert_ne!(status(&poor), "ok", "{told}");
    let metrics = signer.scheduler.get("/metrics").await.text;
    for (account, ready) in [(poor.clone(), 0), (town.spell(signer_address()), 1)] {
        let line = format!("signer_account_ready{{chain=\"139\",account=\"{account}\"}} {ready}\n");
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    assert!(
        metrics.contains("signer_obstacle{chain=\"139\",reason=\"gas_money\"} 1\n"),
        "{metrics}"
    );
    signer.terminate().await;
    let checked = said(&town.installation.run(&["check"]).await);
    let faults: Vec<&str> = checked.lines().filter(|line| line.starts_with("FAULT")).collect();
    assert!(!faults.is_empty() && faults.iter().all(|fault| fault.contains(&poor)), "{checked}");

    endow(&town, second_address(), plenty(family)).await;
    let signer = town.signer().await;
    signer.ready().await;
    assert_eq!(post(&town, &signer, &second[..1]).await.code(), 1);
    town.quiet(&signer).await;
    only_these_paid(&town, &[first[0], second[0]]).await;
    ends_well(&town, signer).await;
}

/// True of a line of the metrics that names what keeps a chain from new work.
fn is_obstacle(line: &&str) -> bool {
    line.starts_with("signer_obstacle{") && line.ends_with(" 1")
}

async fn while_nobody_knows_what_one_account_does_no_other_charges(family: Family) {
    let town = of_two(family).await;
    let signer = town.signer().await;
    let [first, _] = parts(&town, &signer).await;
    town.proxy.fault_about(ANYTHING, &[second_address()], Act::Break);
    // A stranger with its key may charge this one's customers from here on, and no look would tell.
    let asked = json!({"dryRun": true, "list": town.entries([first[0]])});
    let refused = async || signer.scheduler.bill(&asked).await.status == 503;
    eventually("looks have failed for too long", refused).await;
    let heard = post_once(&town, &signer, &first[..1]).await;
    let why = heard.body["msg"].as_str().unwrap();
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    assert!(why.contains(&town.spell(second_address())), "{why}");
    let metrics = signer.scheduler.get("/metrics").await.body;
    let obstacles: Vec<&str> = metrics.as_str().unwrap().lines().filter(is_obstacle).collect();
    assert!(obstacles[0].contains("reason=\"nodes\"") && obstacles.len() == 1, "{obstacles:?}");
    town.proxy.heal();
    let open = async || signer.scheduler.bill(&asked).await.status == 200;
    eventually("a look has told what it did", open).await;
    assert_eq!(post(&town, &signer, &first[..1]).await.code(), 1);
    town.quiet(&signer).await;
    only_these_paid(&town, &first[..1]).await;
    ends_well(&town, signer).await;
}

async fn a_limit_of_the_day_is_one_for_all_accounts(family: Family) {
    let town = of_two_with(Founding { lookup: true, ..Founding::on(family) }).await;
    let token = town.spell(town.token.address);
    let policy = format!(
        "[chains.139.policy]\ntokens.coin = \"{token}\"\nmax_amount_per_day.coin = \"20000000000000000000\"\n\
         [chains.139.billing]\n"
    );
    town.installation.edit("[chains.139.billing]\n", &policy);
    let signer = town.signer().await;
    let [first, second] = parts(&town, &signer).await;
    for person in [first[0], second[0]] {
        assert_eq!(post(&town, &signer, &[person]).await.code(), 1);
    }
    town.quiet(&signer).await;
    for person in [first[1], second[1]] {
        let over = post(&town, &signer, &[person]).await;
        assert_eq!((over.status, over.code()), (403, 0), "two are all of it: {over:?}");
        assert!(over.body["msg"].as_str().unwrap().contains("max_amount_per_day"), "{over:?}");
    }
    only_these_paid(&town, &[first[0], second[0]]).await;
    ends_well(&town, signer).await;
}

async fn two_keys_of_one_account_are_no_two_accounts(family: Family) {
    let town = of_two(family).await;
    put(&town.installation, "copy.key", SECOND);
    sign_with(
        &town,
        "\"file:evm.key\", \"file:second.key\"",
        "\"file:second.key\", \"file:copy.key\"",
    );
    let told = town.installation.try_start().await.unwrap_err();
    let fault = "chains.139.keys[1]: has the account of keys[0]; name it once";
    assert!(told.contains(fault), "{told}");
    sign_with(
        &town,
        "keys = [\"file:second.key\", \"file:copy.key\"]",
        "key = \"file:second.key\"\nretired_keys = [\"file:copy.key\"]",
    );
    let told = town.installation.try_start().await.unwrap_err();
    assert!(
        told.contains("chains.139.retired_keys[0]: has the account of key; name it once"),
        "{told}"
    );
}
