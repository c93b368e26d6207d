//! The scheduler at 100,000 due subscriptions: time, memory and requests, printed.
//!
//! `cargo test -p merchant --test it a_hundred_thousand -- --ignored --nocapture`

use super::book_keeping::Ledger;
use super::peers::Peers;
use super::process::merchant;
use std::process::Stdio;
use std::time::{Duration, Instant};

const DUE: i64 = 100_000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures, and takes minutes"]
async fn a_hundred_thousand_due() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(DUE)).await;
    let arguments = ["schedule", "--once", "--chain", "139=EVM", "--batch-size", "500"];
    for run in 1..=2 {
        peers.hook(|_, _| false);
        let began = Instant::now();
        let mut command = merchant(folder.path(), &peers.url, &arguments);
        let mut child = command.stdout(Stdio::inherit()).stderr(Stdio::null()).spawn().unwrap();
        let mut peak = String::new();
        while child.try_wait().unwrap().is_none() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
            let line = status.unwrap_or_default();
            if let Some(line) = line.lines().find(|line| line.starts_with("VmHWM")) {
                line.clone_into(&mut peak);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        println!("run {run}: {:?}, {peak}, {} requests", began.elapsed(), peers.exchanges());
        tokio::time::sleep(Duration::from_secs(6)).await;
    }
    let ledger = peers.ledger.lock();
    assert_eq!(ledger.offences, Vec::<String>::new());
    assert_eq!(ledger.charged.len(), usize::try_from(DUE).unwrap());
}
