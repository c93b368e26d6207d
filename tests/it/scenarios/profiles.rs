//! Other contracts and lesser nodes: what differs is configuration.

use crate::world::anvil::Family;
use crate::world::contracts::{
    CollectOne, Kind, Merchant, PlainCharge, Subscriber, deploy, somebody,
};
use crate::world::proxy::{Act, SIMULATE};
use crate::world::signer::Signer;
use crate::world::town::{Founding, PRICE, Town, entry, failure, refusals};
use alloy::primitives::U256;
use alloy::sol_types::{SolCall as _, SolValue as _};
use serde_json::{Value, json};

on_both_families![
    another_name_of_the_period_is_accepted_by_a_person_and_charges_nobody_twice,
    a_contract_that_fails_as_a_whole_has_its_culprits_named_one_by_one,
    a_wallet_that_can_pay_once_pays_for_one_of_two_where_nothing_isolates_them,
    two_at_once_are_turned_away_by_a_contract_for_one_at_a_time,
    the_errors_of_a_contract_for_one_at_a_time_become_reasons,
    four_fields_are_enough_where_the_contract_knows_the_rest,
    an_entry_that_contradicts_the_contract_is_never_charged,
    a_hundred_are_charged_on_a_chain_without_multicall,
];

/// A contract that reverts as a whole and knows no period.
const PLAIN: &str = r#"
call = "charge(bytes32[] userHash, uint256[] amount)"
charged = "event Charged(bytes32 indexed userHash, uint256 amount)"
guard = "1h"
"#;

/// A contract that charges one subscription per call and is asked for everything.
const COLLECT: &str = r#"
call = "collect(uint64 planId, bytes32 userHash)"
lookup = "terms(uint64 planId, bytes32 userHash) view returns (address userWallet, address tokenAddress, uint128 amount, uint32 period)"
charged = "event Collected(uint64 indexed planId, bytes32 indexed userHash, uint32 period, uint256 amount)"
[chains.139.billing.reasons]
NotFound = "SUBSCRIPTION_NOT_FOUND"
Cancelled = "SUBSCRIPTION_CANCELLED"
NotDue = "NOT_DUE_YET"
CannotPay = "TOKEN_TRANSFER_FAILED"
"#;

const MONTH: u32 = 30 * 24 * 60 * 60;

async fn plain_town(family: Family, people: u64) -> (Town, Signer) {
    let town = without_periods(family, people).await;
    let signer = town.signer().await;
    (town, signer)
}

/// A town whose contract knows no period; claims there end an hour after the charge is final.
pub(super) async fn without_periods(family: Family, people: u64) -> Town {
    let town = Town::with(Founding { people, token: Kind::Plain, ..Founding::on(family) }).await;
    let arguments = (town.token.address, town.merchant.payee).abi_encode();
    let contract = deploy(&town.anvil, "PlainCharge", arguments).await;
    let wallet = |who: &Subscriber| {
        let call = PlainCharge::setWalletCall { userHash: who.user_hash, wallet: who.wallet };
        (who.wallet, contract, call.abi_encode().into())
    };
    // The last one is unknown to the contract.
    let known = town.people.iter().rev().skip(1).map(wallet).collect();
    town.anvil.execute_all(known).await;
    town.billed_through(contract, PLAIN).await
}

async fn a_contract_that_fails_as_a_whole_has_its_culprits_named_one_by_one(family: Family) {
    let (town, signer) = plain_town(family, 9).await;
    let [.., no_allowance, no_balance, unknown] = &town.people[..] else { panic!() };
    let contract = town.contract;
    town.token.approve(no_allowance.wallet, contract, U256::from(PRICE - 1)).await;
    town.token.set_balance(no_balance.wallet, PRICE - 1).await;
    let named = refusals(&[
        (no_allowance, "ALLOWANCE_INSUFFICIENT"),
        (no_balance, "BALANCE_INSUFFICIENT"),
        (unknown, "CALL_REVERTED"),
    ]);
    let heard = signer.scheduler.bill(&json!(town.entries(0..9))).await;
    assert_eq!((heard.code(), heard.failures()), (2, named.clone()));
    let partial = json!({"mode": "partial", "list": town.entries(0..9)});
    let heard = signer.scheduler.bill(&partial).await;
    assert_eq!(heard.failures(), named);
    assert_eq!(town.settled(&signer, &heard.tx_hash()).await["state"], "charged");
    town.assert_paid(&[1; 6]).await;
}

/// Nothing of the contract keeps it from charging a month twice: the claims alone do.
async fn another_name_of_the_period_is_accepted_by_a_person_and_charges_nobody_twice(
    family: Family,
) {
    let town = without_periods(family, 3).await;
    let month = |who: usize, month: u32| {
        let mut entries = town.entries([who]);
        entries[0]["month"] = json!(month);
        json!(entries)
    };
    let signer = town.signer().await;
    signer.wrote("charges are guarded for a time alone").await;
    let hash = signer.scheduler.bill(&month(0, 11)).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    signer.terminate().await;
    let run = async |words: &[&str]| {
        let ended = town.installation.run(words).await;
        let told = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        (ended.status.success(), told)
    };
    let (_, checked) = run(&["check"]).await;
    assert!(checked.contains("charges are guarded for 3600 s"), "{checked}");
    town.installation.edit("guard = \"1h\"", "guard = \"1h\"\nperiod = \"month\"");
    let log = town.installation.try_start().await.unwrap_err();
    let told = "told apart by a guard time alone";
    assert!(log.contains(told) && log.contains("networks accept 139"), "{log}");
    assert!(run(&["check"]).await.1.contains("networks accept 139"));
    let (accepted, told) = run(&["networks", "accept", "139", "--why", "entries have one"]).await;
    assert!(accepted && told.contains("the entry field `month`"), "{told}");
    let signer = town.signer().await;
    let again = signer.scheduler.bill(&month(0, 11)).await;
    assert_eq!(again.tx_hash(), hash, "the guard meets every period: {again:?}");
    let hash = signer.scheduler.bill(&month(1, 11)).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 1]).await;
    signer.terminate().await;
    town.installation.edit("period = \"month\"", "period = \"billed_month\"");
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("`month`") && log.contains("`billed_month`"), "{log}");
    town.installation.edit("period = \"billed_month\"", "");
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("networks accept 139"), "{log}");
    let (accepted, told) = run(&["networks", "accept", "139", "--why", "back again"]).await;
    assert!(!accepted && told.contains("Bill nothing on chain 139 for"), "{told}");
}

#[tokio::test]
async fn a_charge_without_a_period_cannot_be_repeated_before_its_guard_has_passed() {
    let (town, signer) = plain_town(Family::Evm, 2).await;
    let batch = json!(town.entries([0]));
    let first = signer.scheduler.bill(&batch).await.tx_hash();
    let billing = town.settled(&signer, &first).await;
    let charged = town.anvil.time_of(&format!("{:#x}", billing["block"].as_u64().unwrap())).await;

    town.anvil.mine_at(charged + 3600 - 60).await;
    town.noticed().await;
    assert_eq!(signer.scheduler.bill(&batch).await.tx_hash(), first, "an hour less a minute");

    town.anvil.mine_at(charged + 3600).await;
    town.noticed().await;
    let early = signer.scheduler.bill(&batch).await.tx_hash();
    assert_eq!(early, first, "an hour, by a block that can be undone");

    town.anvil.mine(3).await;
    town.noticed().await;
    let second = signer.scheduler.bill(&batch).await.tx_hash();
    assert_ne!(second, first, "an hour");
    town.settled(&signer, &second).await;
    town.assert_paid(&[2, 0]).await;
}

async fn a_wallet_that_can_pay_once_pays_for_one_of_two_where_nothing_isolates_them(
    family: Family,
) {
    let (town, signer) = plain_town(family, 4).await;
    let [first, second, ..] = &town.people[..] else { panic!() };
    let call = PlainCharge::setWalletCall { userHash: second.user_hash, wallet: first.wallet };
    town.anvil.execute(first.wallet, town.contract, &call).await;
    town.token.set_balance(first.wallet, 2 * PRICE - 1).await;
    let second = Subscriber { wallet: first.wallet, ..second.clone() };
    let list = json!([entry(first, 1), entry(&second, 1), entry(&town.people[2], 1)]);
    let heard = signer.scheduler.bill(&json!({"mode": "partial", "list": list})).await;
    assert_eq!(heard.failures(), refusals(&[(&second, "BALANCE_INSUFFICIENT")]));
    town.settled(&signer, &heard.tx_hash()).await;
    assert_eq!(town.token.balance(first.wallet).await, U256::from(PRICE - 1));
}

async fn collect_town(family: Family) -> (Town, Signer) {
    let town = Town::with(Founding { token: Kind::Plain, ..Founding::on(family) }).await;
    let contract = deploy(&town.anvil, "CollectOne", vec![]).await;
    let plan = CollectOne::Plan {
        token: town.token.address,
        payee: town.merchant.payee,
        amount: PRICE,
        interval: MONTH,
    };
    let set = CollectOne::setPlanCall { planId: town.plan.id, plan };
    town.anvil.execute(town.people[0].wallet, contract, &set).await;
    for who in &town.people {
        let join = CollectOne::joinCall { planId: town.plan.id, userHash: who.user_hash };
        town.anvil.execute(who.wallet, contract, &join).await;
    }
    let town = town.billed_through(contract, COLLECT).await;
    let signer = town.signer().await;
    (town, signer)
}

/// What a caller must state in any case.
fn bare(who: &Subscriber) -> Value {
    let full = entry(who, 1);
    let keep = ["subscribeId", "planId", "userHash", "chainId"];
    keep.iter().map(|field| ((*field).to_owned(), full[field].clone())).collect()
}

#[tokio::test]
async fn a_contract_for_one_at_a_time_charges_each_in_a_transaction_of_its_own() {
    let (town, signer) = collect_town(Family::Evm).await;
    let mut hashes = vec![];
    for who in &town.people {
        hashes.push(signer.scheduler.bill(&json!([bare(who)])).await.tx_hash());
    }
    town.settled(&signer, &hashes[2]).await;
    town.assert_paid(&[1, 1, 1]).await;

    let again = signer.scheduler.bill(&json!([bare(&town.people[0])])).await;
    assert_eq!(again.tx_hash(), hashes[0], "the period is paid");
    town.anvil.pass(MONTH.into()).await;
    town.noticed().await;
    let next = signer.scheduler.bill(&json!([bare(&town.people[0])])).await.tx_hash();
    town.settled(&signer, &next).await;
    town.assert_paid(&[2, 1, 1]).await;
}

async fn two_at_once_are_turned_away_by_a_contract_for_one_at_a_time(family: Family) {
    let (town, signer) = collect_town(family).await;
    let two = json!([bare(&town.people[0]), bare(&town.people[1])]);
    let heard = signer.scheduler.bill(&two).await;
    assert_eq!((heard.code(), heard.status), (0, 400));
    let says =
        "the contract of this chain charges one subscription per request: post them one by one";
    assert_eq!(heard.body["msg"], says);
    town.assert_paid(&[0, 0, 0]).await;
}

async fn the_errors_of_a_contract_for_one_at_a_time_become_reasons(family: Family) {
    let (town, signer) = collect_town(family).await;
    let [gone, poor, _] = &town.people[..] else { panic!() };
    let quit = CollectOne::quitCall { planId: town.plan.id, userHash: gone.user_hash };
    town.anvil.execute(gone.wallet, town.contract, &quit).await;
    town.token.set_balance(poor.wallet, 0).await;
    let stranger = Merchant::subscriber(&town.plan, 99);
    for (who, code) in [
        (gone, "SUBSCRIPTION_CANCELLED"),
        (poor, "BALANCE_INSUFFICIENT"),
        (&stranger, "SUBSCRIPTION_NOT_FOUND"),
    ] {
        let heard = signer.scheduler.bill(&json!([bare(who)])).await;
        assert_eq!((heard.code(), heard.failures()), (2, refusals(&[(who, code)])));
    }
}

async fn looked_up(family: Family, people: u64) -> (Town, Signer) {
    let town = Town::with(Founding { people, lookup: true, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    (town, signer)
}

async fn four_fields_are_enough_where_the_contract_knows_the_rest(family: Family) {
    let (town, signer) = looked_up(family, 100).await;
    let stranger = Merchant::subscriber(&town.plan, 999);
    let list: Vec<Value> = town.people.iter().chain([&stranger]).map(bare).collect();
    let heard = signer.scheduler.bill(&json!({"mode": "partial", "list": list})).await;
    assert_eq!(heard.failures(), refusals(&[(&stranger, "SUBSCRIPTION_NOT_FOUND")]));
    town.settled(&signer, &heard.tx_hash()).await;
    town.assert_paid(&[1; 100]).await;
}

async fn an_entry_that_contradicts_the_contract_is_never_charged(family: Family) {
    let (town, signer) = looked_up(family, 3).await;
    let who = &town.people[0];
    let stranger = somebody("stranger");
    let lies = [
        ("amount", json!(1), format!("amount is {PRICE} on chain, but the entry says 1")),
        ("planVersion", json!("2"), "planVersion is 1 on chain, but the entry says 2".to_owned()),
        (
            "userWallet",
            json!(town.spell(stranger)),
            format!(
                "userWallet is {} on chain, but the entry says {}",
                town.spell(who.wallet),
                town.spell(stranger)
            ),
        ),
        ("period", json!(2), "period is 1 on chain, but the entry says 2".to_owned()),
    ];
    for (field, value, words) in lies {
        let mut entry = entry(who, 1);
        entry[field] = value;
        let heard = signer.scheduler.bill(&json!([entry])).await;
        let told = failure(&heard, who);
        assert_eq!(told["failCode"], "TERMS_MISMATCH", "{field}");
        assert_eq!(told["failReason"], format!("Terms mismatch: {words}"));
    }
    town.assert_paid(&[0, 0, 0]).await;
}

async fn a_hundred_are_charged_on_a_chain_without_multicall(family: Family) {
    for lookup in [false, true] {
        let founding = Founding { people: 110, multicall: false, lookup, ..Founding::on(family) };
        let town = Town::with(founding).await;
        let signer = town.signer().await;
        let [.., poor] = &town.people[..] else { panic!() };
        town.token.set_balance(poor.wallet, 0).await;
        let list =
            if lookup { town.people.iter().map(bare).collect() } else { town.entries(0..110) };
        let heard = signer.scheduler.bill(&json!({"mode": "partial", "list": list})).await;
        assert_eq!(heard.failures(), refusals(&[(poor, "BALANCE_INSUFFICIENT")]));
        assert_eq!(failure(&heard, poor)["tokenBalance"], "0");
        town.settled(&signer, &heard.tx_hash()).await;
        town.assert_paid(&[1; 109]).await;
    }
}

#[tokio::test]
async fn a_node_that_cannot_simulate_is_good_enough() {
    let town = Town::found().await;
    town.proxy.fault(SIMULATE, Act::Refuse("the method eth_simulateV1 does not exist"));
    let signer = town.signer().await;
    town.token.block(town.people[1].wallet).await;
    let blocked = refusals(&[(&town.people[1], "HOLDER_BLOCKED")]);
    let heard = signer.scheduler.bill(&json!(town.entries(0..3))).await;
    assert_eq!((heard.code(), heard.failures()), (2, blocked.clone()));
    let partial = json!({"mode": "partial", "list": town.entries(0..3)});
    let heard = signer.scheduler.bill(&partial).await;
    assert_eq!(heard.failures(), blocked);
    town.settled(&signer, &heard.tx_hash()).await;
    town.assert_paid(&[1, 0, 1]).await;
}
