//! Time comes from the chain, and no single node tells it: claims without a period end by final blocks
//! that two nodes bear out, and nothing new is signed by a head that is far from this machine's clock.

use super::profiles::without_periods;
use super::strangers::lane;
use crate::world::anvil::{Family, Mining};
use crate::world::lies::two_hours_later;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act, BLOCK, Proxy};
use crate::world::town::{Founding, Town};
use alloy::primitives::U256;
use serde_json::json;

#[tokio::test]
async fn one_node_of_two_ends_no_guard_whether_the_other_is_up_or_down() {
    let mut town = without_periods(Family::Evm, 2).await;
    let other = Proxy::before(&town.anvil.url).await;
    let both = format!("{} {}", town.proxy.url, other.url);
    town.installation = town.installation.env("SIGNER__CHAINS__139__RPC", &both);
    let signer = town.signer().await;
    signer.ready().await;
    let batch = json!(town.entries([0]));
    let first = signer.scheduler.bill(&batch).await.tx_hash();
    assert_eq!(town.settled(&signer, &first).await["state"], "charged");

    town.proxy.fault(BLOCK, Act::Rewrite(two_hours_later));
    for other_is_up in [true, false] {
        if !other_is_up {
            other.fault(ANYTHING, Act::Break);
        }
        town.anvil.mine(1).await;
        town.noticed().await;
        town.noticed().await;
        let again = signer.scheduler.bill(&batch).await;
        assert_eq!(again.tx_hash(), first, "the other is up: {other_is_up}");
    }
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0]).await;
}

#[tokio::test]
async fn nothing_new_is_signed_by_a_head_that_is_far_from_the_clock_and_readiness_says_so() {
    let chain_keys = "clock_tolerance = \"30m\"".to_owned();
    let town = Town::with(Founding { chain_keys, ..Founding::default() }).await;
    let signer = town.signer().await;
    signer.ready().await;
    town.proxy.fault(BLOCK, Act::Rewrite(two_hours_later));
    let ahead = "ahead of this machine's clock";
    eventually("readiness says so", async || lane(&signer).await.contains(ahead)).await;
    assert_eq!(signer.scheduler.get("/health/ready").await.status, 503);
    let refused = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains(ahead), "{refused:?}");
    let checked = town.installation.run(&["check"]).await;
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(told.contains(ahead) && told.contains("not ready to bill"), "{told}");
    town.proxy.heal();
    signer.ready().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn no_replacement_is_signed_by_a_head_that_is_far_from_the_clock() {
    let chain_keys = "clock_tolerance = \"30m\"\nreplace_after = \"1s\"".to_owned();
    let founding = Founding { chain_keys, mining: Mining::OnRequest, ..Founding::default() };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.proxy.fault(BLOCK, Act::Rewrite(two_hours_later));
    let dear = json!([U256::from(100_000_000_000_u64)]);
    town.anvil.call::<serde_json::Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
    town.anvil.mine(1).await;
    signer.wrote("no other attempt can be signed now").await;
    let hashes = async || {
        let heard = signer.scheduler.billings(&first).await;
        heard.body["data"][0]["txHashes"].as_array().map_or(0, Vec::len)
    };
    assert!(signer.log().contains("ahead of this machine's clock"));
    assert_eq!(hashes().await, 1);
    town.proxy.heal();
    eventually("it is replaced", async || hashes().await >= 2).await;
    assert_eq!(town.settled(&signer, &first).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}
