//! A charge that became known while an open batch had the claim waits behind that batch.

use crate::world::anvil::{Family, Mining};
use crate::world::contracts::{AnyToken, somebody};
use crate::world::town::{Founding, Town, signer_address};
use alloy::primitives::B256;
use serde_json::json;

on_both_families![what_a_file_says_was_charged_is_held_when_the_open_batch_ends_without_it,];

async fn what_a_file_says_was_charged_is_held_when_the_open_batch_ends_without_it(family: Family) {
    let town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let anybody = somebody("anybody");
    town.anvil.fund(&[anybody]).await;
    // Ahead of the billing in the next block: no simulation can know.
    let block = AnyToken::setBlackListedCall { who: town.people[1].wallet, blocked: true };
    town.anvil.submit(anybody, town.token.address, &block).await;
    let open = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    signer.terminate().await;

    let file = town.installation.path().join("claims.jsonl");
    let claims = file.to_str().unwrap();
    let exported = town.installation.run(&["claims", "export", "--out", claims]).await;
    assert!(exported.status.success(), "{exported:?}");
    let theirs = B256::repeat_byte(0x77);
    let entry = &town.entries([1])[0];
    let line = json!({
        "chain": 139, "contract": town.contract, "signer": signer_address(), "position": 1,
        "transaction": theirs, "block": 1, "blockTime": 1, "guard": 0,
        "claims": [{
            "subscribeId": entry["subscribeId"], "planId": entry["planId"],
            "userHash": entry["userHash"], "period": entry["period"].to_string(),
            "amount": entry["amount"].to_string(), "planVersion": null, "wallet": null, "token": null,
            "outcome": "charged",
        }],
    });
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{lines}{line}\n")).unwrap();
    let why = "another installation charged it";
    let imported = town.installation.run(&["claims", "import", claims, "--why", why]).await;
    assert!(imported.status.success(), "{imported:?}");

    let signer = town.signer().await;
    let held = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(held.tx_hash(), open, "{held:?}");
    let ended = town.settled(&signer, &open).await;
    // It fails in the next block, unless it is cancelled before.
    let state = &ended["subscriptions"][0]["state"];
    assert!(state == "failed" || state == "cancelled", "{ended}");
    let again = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(again.code(), 1, "{again:?}");
    let named: B256 = again.tx_hash().parse().unwrap();
    assert_eq!(named, theirs, "{again:?}");
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{audit:?}");
}
