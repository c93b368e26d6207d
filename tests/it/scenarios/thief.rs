//! Somebody who has a scheduler's secret: what docs/operations.md says that he can do at worst, and no
//! more ("What a compromised caller can do at worst"), on a profile with a lookup and on one without.

use crate::world::anvil::Family;
use crate::world::signer::{Heard, Signer};
use crate::world::town::{Founding, PRICE, Town};
use alloy::primitives::{Address, U256};
use serde_json::{Value, json};

on_both_families![
    with_a_lookup_a_thief_charges_what_is_due_and_nothing_else,
    without_a_lookup_a_limit_that_he_could_step_around_is_refused_at_the_start,
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
