//! On EVM a record has to be in the block that it names. A sole provider that tells it otherwise is caught, and releases
//! nothing; one whose blocks cannot be judged is believed as before, and readiness says so.

use crate::world::anvil::Mining;
use crate::world::lies::{one_unit_more_was_taken, reverted};
use crate::world::patience::eventually;
use crate::world::proxy::{Act, Proxy};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};

const RECEIPT: &str = "eth_getTransactionReceipt";
const RECEIPTS: &str = "eth_getBlockReceipts";
const BLOCK: &str = "eth_getBlockByHash";

const NO_SUCH_CALL: Act = Act::Refuse("the method does not exist/is not available");

/// Blocks are made on request, and the Signer knows so many providers.
async fn town_of(providers: usize) -> (Town, Vec<Proxy>) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    Town::with_nodes(providers, founding).await
}

async fn chain(signer: &Signer) -> Value {
    signer.scheduler.get("/health/ready").await.body["chains"][0].clone()
}

/// Bills one person until the chain has decided.
async fn charged(town: &Town, signer: &Signer, person: usize) {
    let hash = signer.scheduler.bill(&json!(town.entries([person]))).await.tx_hash();
    assert_eq!(town.settled(signer, &hash).await["state"], "charged");
}

/// The value of the gauge for the only chain.
async fn gauge(signer: &Signer) -> Option<String> {
    let metrics = signer.scheduler.get("/metrics").await.text;
    let line = metrics.lines().find(|line| line.starts_with("signer_records_proven{"))?;
    line.rsplit(' ').next().map(str::to_owned)
}

/// A question, and what is made of its answer.
type Lie = (&'static str, fn(&mut Value));

/// The lies of a sole provider.
const LIES: [Lie; 6] = [
    (RECEIPT, reverted),
    (RECEIPT, one_unit_more_was_taken),
    (RECEIPT, |receipt| receipt["gasUsed"] = json!("0x5208")),
    (RECEIPTS, |receipts| receipts.as_array_mut().unwrap().iter_mut().for_each(reverted)),
    (BLOCK, |block| block["transactions"][0]["input"] = json!("0x")),
    (BLOCK, |block| block["receiptsRoot"] = json!(format!("0x{}", "ab".repeat(32)))),
];

#[tokio::test]
async fn a_sole_provider_whose_word_its_own_block_contradicts_is_caught_and_releases_nothing() {
    for (method, lie) in LIES {
        let (town, proxies) = town_of(1).await;
        let signer = town.signer().await;
        charged(&town, &signer, 1).await;
        proxies[0].fault(method, Act::Rewrite(lie));
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        eventually("it is caught", async || {
            town.anvil.mine(1).await;
            chain(&signer).await["nodes"][0]["state"] == "quarantined"
        })
        .await;
        let caught = chain(&signer).await["nodes"][0]["caught"].to_string();
        assert!(caught.contains("final block"), "{caught}");
        let billing = signer.scheduler.billings(&hash).await.body["data"][0].clone();
        assert_eq!(billing["state"], "open", "{billing}");
        signer.terminate().await;
        proxies[0].heal();
        let signer = town.signer().await;
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
        town.assert_paid(&[1, 1, 0]).await;
    }
}

#[tokio::test]
async fn a_provider_without_receipts_of_whole_blocks_proves_them_one_by_one_and_is_not_sick() {
    let (town, proxies) = town_of(1).await;
    proxies[0].fault(RECEIPTS, NO_SUCH_CALL);
    let signer = town.signer().await;
    for person in 0..3 {
        charged(&town, &signer, person).await;
        let told = chain(&signer).await;
        assert_eq!(told["records"], "proven by the blocks that they name", "{told}");
        assert_eq!(told["nodes"][0]["state"], "alive", "{told}");
    }
    let metrics = signer.scheduler.get("/metrics").await.text;
    let asked = metrics.lines().find(|line| {
        line.starts_with("signer_node_answer_seconds_count{") && line.contains(RECEIPTS)
    });
    assert!(asked.unwrap().ends_with(" 1"), "not asked again for a while: {asked:?}");
    assert_eq!(gauge(&signer).await.as_deref(), Some("1"));
    town.assert_paid(&[1, 1, 1]).await;
}

#[tokio::test]
async fn a_block_that_cannot_be_judged_convicts_nobody_and_readiness_says_why_it_is_counted() {
    let ahead: [(&str, Act, &str); 4] = [
        (BLOCK, NO_SUCH_CALL, "does not exist"),
        (
            BLOCK,
            Act::Rewrite(|block| block["transactions"][0]["type"] = json!("0x7e")),
            "a transaction of it has type 0x7e",
        ),
        (
            BLOCK,
            Act::Rewrite(|block| {
                block["mixHash"] = json!(format!("0x{}", "ab".repeat(32)));
                block["rootToCome"] = json!("0x01");
            }),
            "it has the field rootToCome",
        ),
        (
            RECEIPTS,
            Act::Rewrite(|receipts| receipts[0]["type"] = json!("0x64")),
            "a receipt of it has type 0x64",
        ),
    ];
    for (method, act, why) in ahead {
        let (town, proxies) = town_of(1).await;
        let signer = town.signer().await;
        assert_eq!(chain(&signer).await["records"], "nothing was decided since the start");
        assert_eq!(gauge(&signer).await, None);
        proxies[0].fault(method, act);
        charged(&town, &signer, 0).await;
        let told = chain(&signer).await;
        let records = told["records"].as_str().unwrap();
        assert!(records.starts_with("counted, not proven: ") && records.contains(why), "{told}");
        assert_eq!(told["nodes"][0]["state"], "alive", "{told}");
        assert_eq!(gauge(&signer).await.as_deref(), Some("0"));
        signer.wrote("what nodes say of final blocks is counted and not proven").await;
        town.assert_paid(&[1, 0, 0]).await;
    }
}

/// The first provider proves the block for both.
#[tokio::test]
async fn of_two_providers_the_one_that_lies_is_caught_by_the_block_that_the_other_tells() {
    let (town, proxies) = town_of(2).await;
    let signer = town.signer().await;
    proxies[1].fault(RECEIPT, Act::Rewrite(reverted));
    proxies[1].fault(BLOCK, NO_SUCH_CALL);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    eventually("it is caught", async || {
        town.anvil.mine(1).await;
        let told = chain(&signer).await;
        (&told["nodes"][0]["state"], &told["nodes"][1]["state"])
            == (&json!("alive"), &json!("quarantined"))
    })
    .await;
    signer.terminate().await;
    proxies[1].heal();
    let signer = town.signer().await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}
