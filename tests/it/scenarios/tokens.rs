//! A key that moves to a token of PKCS#11 and back while billings are open, as docs/keys.md has it, and a token
//! that is pulled out.

use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::search::Search;
use crate::world::softhsm::{PIN, SoftHsm};
use crate::world::town::{KEY, Town, signer_address};
use serde_json::json;

on_both_families![a_key_moves_to_a_token_and_back_with_open_billings,];

async fn a_key_moves_to_a_token_and_back_with_open_billings(family: Family) {
    let mut town = Town::on_request(family).await;
    let mut search = Search::default();
    search.forbid_key("the signing key", KEY);
    search.forbid_text("the PIN", PIN);
    let at_home = town.installation.clone().env("SIGNER__LOG__FILTER", "trace");
    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;

    let hsm = SoftHsm::with(KEY);
    town.installation = hsm.sign_for(at_home.clone(), &town.spell(signer_address()));
    let check = town.installation.run(&["check"]).await;
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    search.add("check", [check.stdout, check.stderr].concat());
    let signer = town.signer().await;
    let second = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();

    hsm.remove();
    let refused = signer.scheduler.bill(&json!(town.entries([2]))).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    let ready = signer.scheduler.get("/health/ready").await;
    assert!(ready.status == 503 && ready.text.contains("cannot be reached"), "{ready:?}");
    let metrics = signer.scheduler.get("/metrics").await.text;
    let obstacle = "signer_obstacle{chain=\"139\",reason=\"key\"} 1";
    assert!(metrics.contains(obstacle), "{metrics}");
    assert_eq!(town.settled(&signer, &first).await["state"], "charged", "what is open is followed");
    hsm.put_back();
    eventually("the token signs again", async || {
        signer.scheduler.get("/health/ready").await.status == 200
    })
    .await;
    let third = signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    for said in [refused.text, ready.text, metrics] {
        search.add("an answer", said);
    }
    search.add("the log", signer.terminate().await);
    search.add("the journal", std::fs::read(town.installation.journal()).unwrap());

    town.installation = at_home;
    let signer = town.signer().await;
    for hash in [second, third] {
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    }
    town.assert_paid(&[1, 1, 1]).await;
    town.nothing_is_stuck(signer).await;
    assert_eq!(search.found(), Vec::<String>::new());
}
