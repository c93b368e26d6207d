//! The sums of the ledger beside the chain's own transfers: equal to the unit, or each difference is named.

use crate::world::anvil::Family;
use crate::world::signer::Signer;
use crate::world::town::{PRICE, Town};
use serde_json::{Value, json};

on_both_families![the_sums_are_those_of_the_chain_and_a_forged_one_is_found,];

async fn the_sums_are_those_of_the_chain_and_a_forged_one_is_found(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    for who in [vec![0, 2], vec![1]] {
        let heard = signer.scheduler.bill(&json!(town.entries(who))).await;
        assert_eq!(town.settled(&signer, &heard.tx_hash()).await["state"], "charged");
    }
    let running = Summed::of(&town, Some(&signer)).await;
    assert!(running.success, "{}", running.said);
    assert!(
        running.said.contains("3 charges, 2 transactions compared, 0 differences"),
        "{}",
        running.said
    );
    let sum = (3 * PRICE).to_string();
    let [group] = &running.groups[..] else { panic!("{:?}", running.groups) };
    assert_eq!((&group["amount"], &group["onChain"]), (&json!(sum), &json!(sum)));
    assert_eq!((&group["charges"], &group["unproven"]), (&json!("3"), &json!("0")));
    signer.terminate().await;
    let stopped = Summed::of(&town, None).await;
    assert_eq!(stopped.groups, running.groups, "the journal says what its Signer said");
    assert!(stopped.success, "{}", stopped.said);

    for (forgery, undo, found) in [
        (
            "UPDATE claim SET amount = '7' WHERE batch = 2",
            format!("UPDATE claim SET amount = '{PRICE}' WHERE batch = 2"),
            format!("the journal has 7 charged, the chain moved {PRICE}"),
        ),
        (
            "UPDATE claim SET outcome = 'unproven' WHERE batch = 2",
            "UPDATE claim SET outcome = 'charged' WHERE batch = 2".to_owned(),
            format!("the journal has 0 charged, the chain moved {PRICE}"),
        ),
        (
            "UPDATE claim SET wallet = zeroblob(20) WHERE batch = 1 AND item = 0",
            "UPDATE claim SET wallet = NULL WHERE batch = 1 AND item = 0".to_owned(),
            format!("the journal has {PRICE} charged, the chain moved 0"),
        ),
        (
            "UPDATE batch SET block = block + 1 WHERE id = 1",
            "UPDATE batch SET block = block - 1 WHERE id = 1".to_owned(),
            "the journal has it in block".to_owned(),
        ),
        (
            "UPDATE attempt SET hash = zeroblob(32) WHERE batch = 2; \
             UPDATE batch SET winner = zeroblob(32) WHERE id = 2",
            String::new(),
            "no such transaction is on record".to_owned(),
        ),
    ] {
        alter(&town, forgery);
        let told = Summed::of(&town, None).await;
        assert!(!told.success && told.said.contains(&found), "{forgery}: {}", told.said);
        alter(&town, &undo);
    }
}

fn alter(town: &Town, sql: &str) {
    town.installation.forge();
    rusqlite::Connection::open(town.installation.journal()).unwrap().execute_batch(sql).unwrap();
}

/// What `totals --prove` says.
#[derive(Debug)]
struct Summed {
    success: bool,
    groups: Vec<Value>,
    said: String,
}

impl Summed {
    async fn of(town: &Town, signer: Option<&Signer>) -> Self {
        let server = signer.map(|signer| format!("--server={}", signer.scheduler.url));
        let mut arguments = vec!["totals", "--prove", "--format", "jsonl"];
        arguments.extend(server.as_deref());
        let ended = town.installation.run(&arguments).await;
        let text = String::from_utf8(ended.stdout).unwrap();
        let groups = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        Self { success: ended.status.success(), groups, said }
    }
}
