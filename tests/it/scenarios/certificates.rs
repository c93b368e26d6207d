//! A certificate shows a charge to whoever trusts its block: from the running Signer, and from the journal alone. What
//! no final block shows has none.

use crate::world::anvil::Family;
use crate::world::patience::PATIENCE;
use crate::world::proxy::Act;
use crate::world::signer::{Heard, Signer, unix_seconds};
use crate::world::town::{PRICE, Town};
use alloy::primitives::B256;
use certificate::form::{Certificate, Shown};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

on_both_families![
    a_charge_is_shown_to_whoever_trusts_its_block,
    what_no_final_block_shows_has_no_certificate,
    a_caller_has_two_made_at_once,
];

/// The most that a certificate may be, bytes, as docs/certificates.md says.
const LARGEST: [(Family, usize); 2] = [(Family::Evm, 8_000), (Family::Tron, 25_000)];

async fn read(signer: &Signer, path: &str) -> Heard {
    signer.scheduler.send("GET", path, b"", unix_seconds()).await.unwrap()
}

async fn rows(signer: &Signer) -> Vec<Value> {
    let heard = read(signer, "/PayTool/charges?order=oldest").await;
    heard.body["data"]["charges"].as_array().unwrap().clone()
}

async fn asked(signer: &Signer, cursor: &str) -> Heard {
    read(signer, &format!("/PayTool/charges/{cursor}/certificate")).await
}

/// Asks until nodes have answered: on a busy machine one that was slow a few times is left alone for a while.
async fn given(signer: &Signer, cursor: &str) -> Heard {
    let began = Instant::now();
    loop {
        let heard = asked(signer, cursor).await;
        if heard.status != 503 || began.elapsed() > PATIENCE {
            return heard;
        }
    }
}

fn shown(text: &str) -> (B256, Shown) {
    let read = Certificate::read(text).unwrap();
    (read.block(), read.verify(read.block()).unwrap())
}

/// Returns true if the verifier in Python takes a certificate for valid.
fn is_valid_elsewhere(town: &Town, text: &str, block: B256) -> bool {
    let file = town.installation.path().join("certificate.json");
    std::fs::write(&file, text).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/certificate/verify/certificate.py");
    let mut python = Command::new("python3");
    python.args(["-B", script]).arg(file).arg(block.to_string());
    python.output().unwrap().status.success()
}

async fn a_charge_is_shown_to_whoever_trusts_its_block(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0, 2]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let rows = rows(&signer).await;
    let mut texts = vec![];
    for row in &rows {
        let heard = given(&signer, row["cursor"].as_str().unwrap()).await;
        assert_eq!((heard.status, heard.code()), (200, 1), "{heard:?}");
        let text = heard.body["data"].to_string();
        assert!(heard.text.contains(&text), "the answer has the very text: {}", heard.text);
        let (block, shown) = shown(&text);
        assert_eq!(json!(shown.number), row["block"]);
        let transaction = format!("{:x}", shown.transaction);
        assert!(row["txHash"].as_str().unwrap().ends_with(&transaction));
        match family {
            Family::Evm => {
                let receipt: Value =
                    town.anvil.call("eth_getTransactionReceipt", json!([shown.transaction])).await;
                assert_eq!(receipt["blockHash"], json!(block));
                assert_eq!(json!(shown.event["subscribeId"]), row["subscribeId"]);
                assert_eq!(shown.event["amount"], PRICE.to_string());
            }
            Family::Tron => assert!(!shown.standing.is_empty(), "blocks stand on it"),
        }
        let of_row = &heard.body["data"]["claim"];
        assert_eq!((&of_row["period"], &of_row["billing"]), (&row["period"], &row["billing"]));
        assert!(
            is_valid_elsewhere(&town, &text, block)
                && !is_valid_elsewhere(&town, &text, B256::ZERO)
        );
        let largest = LARGEST.iter().find(|(of, _)| *of == family).unwrap().1;
        assert!(text.len() <= largest, "{} bytes", text.len());
        texts.push((row["cursor"].as_str().unwrap().to_owned(), text));
    }
    assert_eq!(texts.len(), 2);
    let (cursor, text) = &texts[1];
    let said =
        town.installation.run(&["certificate", cursor, "--server", &signer.scheduler.url]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(
        shown(&String::from_utf8(said.stdout).unwrap()),
        shown(text),
        "of the Signer that runs"
    );
    signer.terminate().await;
    let said = town.installation.run(&["certificate", cursor, "--out", "one.json"]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let kept = std::fs::read_to_string(town.installation.path().join("one.json")).unwrap();
    assert_eq!(shown(&kept), shown(text), "of the journal");
}

async fn what_no_final_block_shows_has_no_certificate(family: Family) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let row = rows(&signer).await.remove(0);
    let cursor = row["cursor"].as_str().unwrap();
    let open = asked(&signer, cursor).await;
    assert_eq!((open.status, open.code()), (409, 0), "{open:?}");
    assert!(open.body["msg"].as_str().unwrap().contains("the charge is open"), "{open:?}");
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    for unknown in ["17", "1.00000000.1.0", &format!("{cursor}7"), &cursor.replace(".0", ".r0")] {
        let none = asked(&signer, unknown).await;
        assert_eq!((none.status, none.code()), (404, 0), "{unknown}: {none:?}");
    }
    let (block, refusal) = match family {
        Family::Evm => ("eth_getBlockByHash", "Method not found"),
        Family::Tron => ("walletsolidity/getblock", "not now"),
    };
    town.proxy.fault(block, Act::Refuse(refusal));
    let hidden = asked(&signer, cursor).await;
    assert_eq!((hidden.status, hidden.code()), (503, 0), "{hidden:?}");
    let why = hidden.body["msg"].as_str().unwrap();
    assert!(why.contains("no node shows its block in a form that proves it"), "{why}");
    town.proxy.heal();
    assert_eq!(given(&signer, cursor).await.status, 200);
}

/// Each asks nodes for a whole block, and they have other things to tell.
async fn a_caller_has_two_made_at_once(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let rows = rows(&signer).await;
    let cursor = rows[0]["cursor"].as_str().unwrap();
    let record = match family {
        Family::Evm => "eth_getTransactionReceipt",
        Family::Tron => "gettransactioninfobyid",
    };
    town.proxy.fault(record, Act::Delay(Duration::from_secs(2)));
    let heard = join_all((0..3).map(|_| asked(&signer, cursor))).await;
    let refused: Vec<_> = heard.iter().filter(|one| one.status == 429).collect();
    assert_eq!(refused.len(), 1, "{heard:?}");
    assert!(refused[0].text.contains("certificates at work"), "{refused:?}");
    town.proxy.heal();
    assert_eq!(given(&signer, cursor).await.status, 200);
}
