//! What Prometheus reads of a Signer that has seen something of everything.

use crate::world::anvil::Family;
use crate::world::town::Town;
use serde_json::json;
use std::io::Write as _;
use std::process::{Command, Stdio};

on_both_families![promtool_finds_nothing_to_complain_of,];

async fn promtool_finds_nothing_to_complain_of(family: Family) {
    let town = Town::on(family).await;
    town.token.set_balance(town.people[1].wallet, 5).await;
    let signer = town.signer().await;
    assert_eq!(signer.scheduler.bill(&json!(town.entries([0, 1]))).await.code(), 2);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    let metrics = signer.scheduler.get("/metrics").await.text;
    for name in ["signer_refusals_total", "signer_answers_total", "signer_history_rows"] {
        assert!(metrics.contains(name), "{name}: {metrics}");
    }
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = promtool.expect("this test asks promtool: apt-get install prometheus");
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let ended = promtool.wait_with_output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(ended.status.success() && said.is_empty(), "{said}\n{metrics}");
}
