//! The program from an empty directory to money that arrived: `init`, `check`, one billing, `export`,
//! `audit`.
//!
//! `./test` runs this also on the program as it is shipped, built by itself: a build of the whole
//! workspace gives its dependencies the features that any member wants.

use crate::world::anvil::Family;
use crate::world::signer::{Signer, unix_seconds};
use crate::world::town::Town;
use serde_json::{Value, json};

on_both_families![the_program_goes_from_init_to_a_charge_that_it_can_account_for,];

async fn the_program_goes_from_init_to_a_charge_that_it_can_account_for(family: Family) {
    let town = Town::on(family).await;
    let run = async |command: &'static str| {
        let ended = town.installation.run(&[command]).await;
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        (ended.status.success(), said + &String::from_utf8_lossy(&ended.stderr))
    };
    let (again, said) = run("init").await;
    assert!(!again && said.contains("never replaced"), "a journal is made once: {said}");
    let (passed, said) = run("check").await;
    assert!(passed, "{said}");

    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0, 2]))).await;
    assert_eq!(town.settled(&signer, &heard.tx_hash()).await["state"], "charged");
    let again = signer.scheduler.bill(&json!(town.entries([0, 2]))).await;
    assert_eq!(again.tx_hash(), heard.tx_hash(), "a repeat is answered with the same transaction");
    let running = Ledger::of(&town, Some(&signer)).await;
    drop(signer);
    assert_eq!(Ledger::of(&town, None).await, running, "the journal exports what its Signer told");
    running.is_of(&heard.tx_hash());

    let (sound, said) = run("audit").await;
    assert!(sound && said.contains("1 batches"), "{said}");
    town.assert_paid(&[1, 0, 1]).await;
}

/// What `export` writes of both charges.
#[derive(Debug, PartialEq)]
struct Ledger {
    csv: String,
    charges: Vec<Value>,
}

impl Ledger {
    /// Exports in both formats, and compares with what a running Signer tells.
    async fn of(town: &Town, signer: Option<&Signer>) -> Self {
        let server = signer.map(|signer| format!("--server={}", signer.scheduler.url));
        let run = async |mut arguments: Vec<&str>| {
            arguments.extend(server.as_deref());
            let ended = town.installation.run(&arguments).await;
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && said.contains("2 lines, complete"), "{said}");
            String::from_utf8(ended.stdout).unwrap()
        };
        let csv = run(vec!["export", "--from", "2020-01-01"]).await;
        let lines = run(vec!["export", "--format", "jsonl"]).await;
        let charges = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        if let Some(signer) = signer {
            let path = "/PayTool/charges?order=oldest&state=charged";
            let told = signer.scheduler.send("GET", path, b"", unix_seconds()).await.unwrap();
            assert_eq!(told.body["data"], json!({"charges": charges, "next": null}));
        }
        Self { csv, charges }
    }

    fn is_of(&self, hash: &str) {
        let rows: Vec<&str> = self.csv.split("\r\n").collect();
        assert_eq!(rows.len(), 4, "a header, two charges, and nothing: {}", self.csv);
        let mut parts = 0;
        for (charge, row) in self.charges.iter().zip(&rows[1..]) {
            let text = |name: &str| charge[name].as_str().unwrap().to_owned();
            assert!(row.starts_with(&format!(
                "{},{},{}",
                text("cursor"),
                text("billing"),
                text("subscribeId")
            )));
            assert!(row.contains(hash) && row.contains(&text("feeShare")), "{row}");
            parts += text("feeShare").parse::<u128>().unwrap();
        }
        let fee: u128 = self.charges[0]["fee"].as_str().unwrap().parse().unwrap();
        assert_eq!(parts, fee, "the parts of a transaction make its fee");
    }
}
