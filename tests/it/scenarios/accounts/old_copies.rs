//! Several accounts on an old copy of their journal.

use super::super::strangers::opens;
use super::*;
use crate::world::patience::unix_ms;
use crate::world::proxy::Act;
use std::collections::BTreeMap;
use std::time::Duration;

on_both_families![
    an_old_copy_that_ends_the_batch_of_one_account_knows_what_another_has_charged_since,
];

/// The key of the third account, where there are three.
const THIRD: &str = "5d4c3b2a1908f7e6d5c4b3a291807f6e5d4c3b2a1908f7e6d5c4b3a291807f6e";

/// Lets a third account bill as well.
async fn with_a_third(town: &Town) {
    let who = address(THIRD);
    town.anvil.set_automine(true).await;
    endow(town, who, plenty(town.family())).await;
    let allow = Billing::setBillerCall { merKey: town.merchant.mer_key, who, allowed: true };
    town.merchant.execute(town.merchant.owner, &allow).await;
    town.anvil.set_automine(false).await;
    put(&town.installation, "third.key", THIRD);
    sign_with(town, "\"file:second.key\"]", "\"file:second.key\", \"file:third.key\"]");
}

/// The copy has a batch open whose charge fails; another account has made that charge since.
async fn an_old_copy_that_ends_the_batch_of_one_account_knows_what_another_has_charged_since(
    family: Family,
) {
    let town = of_two(family).await;
    let signer = town.signer().await;
    let [first, second] = parts(&town, &signer).await;
    let their_account = town.spell(second_address());
    let mut pair = None;
    let pairs = first.iter().flat_map(|one| second.iter().map(move |two| [*one, *two]));
    for people in pairs {
        if pair.is_none() && account_of(&town, &signer, &people).await == their_account {
            pair = Some(people);
        }
    }
    let [person, other] = pair.expect("somebody falls to the other account in company");
    let open = post(&town, &signer, &[person]).await.tx_hash();
    signer.terminate().await;
    let copy = town.installation.path().join("copy");
    fs::copy(town.installation.journal(), &copy).unwrap();
    may_pay(&town, person, Some(&open), U256::ZERO).await;
    let signer = town.signer().await;
    let ended = town.settled(&signer, &open).await;
    assert_eq!(ended["subscriptions"][0]["state"], "failed", "{ended}");
    may_pay(&town, person, None, U256::MAX).await;
    let since = post(&town, &signer, &[person, other]).await;
    assert_eq!(since.body["data"]["address"], their_account, "{since:?}");
    assert_eq!(town.settled(&signer, &since.tx_hash()).await["state"], "charged");
    signer.terminate().await;

    fs::copy(&copy, town.installation.journal()).unwrap();
    let signer = town.signer().await;
    eventually("what was forgotten is learnt", async || {
        town.anvil.mine(1).await;
        let heard = signer.scheduler.billings(&since.tx_hash()).await;
        heard.body["data"][0]["state"] == "charged"
    })
    .await;
    assert_eq!(town.settled(&signer, &open).await["subscriptions"][0]["state"], "failed");
    let again = post(&town, &signer, &[person]).await;
    assert_eq!(again.tx_hash(), since.tx_hash(), "{again:?}");
    only_these_paid(&town, &[person, other]).await;
    ends_well(&town, signer).await;
}

/// Together they have more questions on their way than a node takes at once.
#[tokio::test]
async fn three_accounts_on_tron_read_blocks_beside_each_other() {
    let town = of_two(Family::Tron).await;
    with_a_third(&town).await;
    let signer = town.signer().await;
    eventually("all are open", async || health(&signer).await["status"] == "ok").await;
    signer.terminate().await;
    let copy = town.installation.path().join("copy");
    fs::copy(town.installation.journal(), &copy).unwrap();
    let signer = town.signer().await;
    let mut of_each = BTreeMap::new();
    for person in 0..town.people.len() {
        of_each.insert(account_of(&town, &signer, &[person]).await, person);
    }
    let people: Vec<usize> = of_each.into_values().collect();
    assert_eq!(people.len(), 3, "each account bills somebody");
    let mut billed = Vec::new();
    for person in &people {
        billed.push(post(&town, &signer, &[*person]).await.tx_hash());
    }
    for hash in &billed {
        town.settled(&signer, hash).await;
    }
    town.tron().solidify_at(unix_ms() + 60_000);
    signer.terminate().await;

    fs::copy(&copy, town.installation.journal()).unwrap();
    // All questions of a group are on their way when the first is answered.
    town.proxy.fault("getblock", Act::Delay(Duration::from_millis(50)));
    let signer = town.signer().await;
    opens(&town, &signer).await;
    for (person, hash) in people.iter().zip(&billed) {
        assert_eq!(post(&town, &signer, &[*person]).await.tx_hash(), *hash);
    }
    only_these_paid(&town, &people).await;
    ends_well(&town, signer).await;
}

/// Has a person let the contract take so much from now on; `before` is forgotten by the pool first.
async fn may_pay(town: &Town, person: usize, before: Option<&str>, value: U256) {
    if let Some(hash) = before {
        town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    }
    town.anvil.set_automine(true).await;
    town.token.approve(town.people[person].wallet, town.contract, value).await;
    town.anvil.set_automine(false).await;
}
