//! Somebody who has a scheduler's secret: what docs/incidents.md says that he can do at worst, and no
//! more ("What a compromised caller can do at worst"), on a profile with a lookup and on one without.
//!
//! Of its other sentences: rights are narrowed in `callers`; tokens, amounts, days, midnight and gas in
//! `policy` (and in the crate's `policy::tests`); what he learns and no more, in `callers` too; how busy he
//! keeps the Signer in `door`; what the key itself can do in `strangers` and `procedures`.

use crate::world::anvil::Family;
use crate::world::signer::{Heard, Signer};
use crate::world::town::{Founding, PRICE, Town};
use alloy::primitives::{Address, U256};
use serde_json::{Value, json};

on_both_families![
    with_a_lookup_a_thief_charges_what_is_due_and_nothing_else,
    without_a_lookup_a_limit_that_he_could_step_around_is_refused_at_the_start,
    without_a_lookup_what_is_not_limited_is_held_by_the_contract_alone,
    what_he_uses_up_of_a_day_true_charges_wait_for_and_gas_is_part_of_it,
];

fn with_policy(town: &Town, policy: &str) {
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{before}\n[chains.139.policy]\n{policy}\n")).unwrap();
}

async fn tries(signer: &Signer, town: &Town, place: usize, changes: &[(&str, Value)]) -> Heard {
    let mut list = town.entries([place]);
    for (field, value) in changes {
        list[0][*field] = value.clone();
    }
    signer.scheduler.bill(&json!(list)).await
}

async fn with_a_lookup_a_thief_charges_what_is_due_and_nothing_else(family: Family) {
    let town = Town::with(Founding { people: 4, lookup: true, ..Founding::on(family) }).await;
    let usdt = town.spell(town.token.address);
    let day = PRICE * 2;
    with_policy(&town, &format!("tokens.USDT = \"{usdt}\"\nmax_amount_per_day.USDT = \"{day}\""));
    let signer = town.signer().await;
    let other = town.spell(Address::repeat_byte(0xDD));
    let his = town.spell(Address::repeat_byte(0x7E));
    // Never another token, wallet or amount, never early, whatever he states.
    let other_terms = [
        ("tokenAddress", json!(other)),
        ("userWallet", json!(his)),
        ("amount", json!((PRICE * 50).to_string())),
        ("amount", json!("1")),
        ("period", json!(2)),
        ("planId", json!(town.plan.id + 1)),
    ];
    for change in other_terms {
        let heard = tries(&signer, &town, 0, std::slice::from_ref(&change)).await;
        assert_eq!(heard.code(), 2, "{change:?}: {heard:?}");
    }
    assert_eq!(town.transactions().await, 0);
    // He can have due subscriptions charged, once for a period, to the payee that the contract names.
    let before = town.token.balance(town.merchant.payee).await;
    let hash = tries(&signer, &town, 0, &[]).await.tx_hash();
    town.settled(&signer, &hash).await;
    assert_eq!(tries(&signer, &town, 0, &[]).await.tx_hash(), hash, "never twice");
    let paid = town.token.balance(town.merchant.payee).await - before;
    assert_eq!(paid, U256::from(PRICE));
    // He can use the day's limit up, and no more than that.
    let hash = tries(&signer, &town, 1, &[]).await.tx_hash();
    town.settled(&signer, &hash).await;
    let heard = tries(&signer, &town, 2, &[]).await;
    assert_eq!((heard.status, heard.code()), (403, 0), "{heard:?}");
    // He cannot pause or resume.
    for what in ["pause", "resume"] {
        let path = format!("/PayTool/control/{what}");
        assert_eq!(signer.scheduler.post(&path, b"").await.unwrap().status, 403);
    }
    town.assert_paid(&[1, 1, 0, 0]).await;
}

async fn without_a_lookup_a_limit_that_he_could_step_around_is_refused_at_the_start(
    family: Family,
) {
    let town = Town::with(Founding { lookup: false, ..Founding::on(family) }).await;
    let usdt = town.spell(town.token.address);
    with_policy(&town, &format!("tokens.USDT = \"{usdt}\"\nmax_amount.USDT = \"{PRICE}\""));
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("chains.139.policy.tokens: limits nothing"), "{log}");
    assert!(log.contains("add a lookup that returns tokenAddress"), "{log}");
    let check = town.installation.run(&["check"]).await;
    assert!(!check.status.success());
    assert!(String::from_utf8_lossy(&check.stdout).contains("limits nothing"), "{check:?}");
}

async fn without_a_lookup_what_is_not_limited_is_held_by_the_contract_alone(family: Family) {
    let town = Town::with(Founding { lookup: false, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let early = tries(&signer, &town, 0, &[("period", json!(2))]).await;
    assert_eq!(early.code(), 2, "never early: {early:?}");
    assert_eq!(town.transactions().await, 0);
    let (other, his) = (Address::repeat_byte(0xDD), Address::repeat_byte(0x7E));
    let other_terms = [
        ("amount", json!("1")),
        ("amount", json!((PRICE * 50).to_string())),
        ("tokenAddress", json!(town.spell(other))),
        ("userWallet", json!(town.spell(his))),
    ];
    for change in other_terms {
        let heard = tries(&signer, &town, 0, std::slice::from_ref(&change)).await;
        assert_eq!(heard.code(), 2, "never another amount, token or wallet: {change:?}: {heard:?}");
    }
    assert_eq!(town.transactions().await, 0);
    let payee = town.token.balance(town.merchant.payee).await;
    let hash = tries(&signer, &town, 0, &[]).await.tx_hash();
    town.settled(&signer, &hash).await;
    let paid = town.token.balance(town.merchant.payee).await - payee;
    assert_eq!(paid, U256::from(PRICE), "to the payee that the contract names");
    assert_eq!(tries(&signer, &town, 0, &[]).await.tx_hash(), hash, "never twice");
    town.assert_paid(&[1, 0, 0]).await;
}

async fn what_he_uses_up_of_a_day_true_charges_wait_for_and_gas_is_part_of_it(family: Family) {
    let town = Town::with(Founding { lookup: false, ..Founding::on(family) }).await;
    // Less than any transaction can cost on either chain, and it counts at the most that it can cost.
    with_policy(&town, "max_fee_per_day = 1");
    let signer = town.signer().await;
    let heard = tries(&signer, &town, 0, &[]).await;
    assert_eq!((heard.status, heard.code()), (403, 0), "{heard:?}");
    assert!(heard.text.contains("max_fee_per_day"), "{heard:?}");
    assert_eq!(town.transactions().await, 0);
}
