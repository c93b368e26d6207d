//! Who may sign for the account, and who makes the blocks: looked at before anything is signed, and told by `check`.

use super::*;
use alloy::primitives::Address;
use sandbox_chains::tron::address::base58;
use sandbox_chains::tron::ledger::Permission;

const OTHER: Address = Address::repeat_byte(0x11);

/// A permission of these keys, by their weights.
fn permission(threshold: u64, keys: &[(Address, u64)]) -> Permission {
    Permission { keys: keys.to_vec(), threshold }
}

/// What `check` says of something, and whether that is a fault.
async fn found(town: &Town, what: &str) -> (bool, String) {
    let output = town.installation.run(&["check"]).await;
    let said = String::from_utf8(output.stdout).unwrap();
    let line = said.lines().find(|line| line.contains(what)).expect(&said);
    (line.starts_with("FAULT"), line.to_owned())
}

async fn checked(town: &Town) -> (bool, String) {
    found(town, "permission to sign").await
}

#[tokio::test]
async fn a_key_that_an_active_permission_alone_lets_sign_signs_nothing_and_is_told_why() {
    let town = founded(1, "").await;
    town.tron().approach(20_000);
    let (me, node) = (signer_address(), &town.tron().node);
    node.set_owner(me, &permission(2, &[(me, 1), (OTHER, 1)]));
    node.set_active(me, permission(1, &[(me, 1)]));
    let (fault, said) = checked(&town).await;
    assert!(
        fault && said.contains("weighs 1 of the 2 that its owner permission asks for"),
        "{said}"
    );
    assert!(said.contains("active permission 2 would do, and nothing is signed by that"), "{said}");
    let signer = town.signer().await;
    town.noticed().await;
    let ready = signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.status, 503, "{ready:?}");
    let refused = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains("owner permission"), "{refused:?}");
    assert_eq!(town.tron().transactions_of(me), (vec![], vec![]), "nothing was sent");
    // An active permission that asks for two says nothing about what is signed by the owner's.
    node.set_owner(me, &permission(2, &[(me, 2), (OTHER, 1)]));
    node.set_active(me, permission(2, &[(me, 1), (OTHER, 1)]));
    signer.ready().await;
    let (fault, said) = checked(&town).await;
    assert!(!fault && !said.contains("Other keys"), "neither can sign without it: {said}");
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1]).await;
}

#[tokio::test]
async fn whoever_else_can_sign_for_the_account_is_named_by_check() {
    let town = founded(1, "").await;
    town.tron().approach(20_000);
    let (me, node) = (signer_address(), &town.tron().node);
    node.set_owner(me, &permission(1, &[(me, 1)]));
    node.set_active(me, permission(1, &[(OTHER, 1)]));
    let (fault, said) = checked(&town).await;
    assert!(!fault, "it can bill: {said}");
    assert!(
        said.contains("Other keys can sign for it as well, by its active permission 2"),
        "{said}"
    );
    node.set_owner(me, &permission(1, &[(me, 1), (OTHER, 1)]));
    let (fault, said) = checked(&town).await;
    assert!(!fault && said.contains("owner permission and active permission 2"), "{said}");
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1]).await;
}

/// The row of `check` is written into the configuration as it is, and ends a charge.
#[tokio::test]
async fn the_row_that_check_prints_pins_who_makes_the_blocks() {
    let town = founded(1, "").await;
    town.tron().approach(20_000);
    let (fault, said) = found(&town, "witnesses").await;
    let all = town.tron().node.node().chain().family().witnesses.clone();
    let named: Vec<String> =
        all.iter().map(|one| format!("\"{}\"", base58(&one.address))).collect();
    let row = format!("witnesses = [{}]", named.join(", "));
    assert!(!fault && said.ends_with(&format!("write: {row}")), "{said}");
    town.installation.edit("family = \"tvm\"", &format!("family = \"tvm\"\n{row}"));
    let (fault, said) = found(&town, "witnesses").await;
    assert!(!fault && said.contains("pinned in the configuration"), "{said}");
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1]).await;
}
