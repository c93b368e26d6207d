//! The sums of the ledger beside the chain's own transfers: equal to the unit, or each difference is named.

use super::policy::town_with;
use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::signer::{Signer, unix_seconds};
use crate::world::town::{PRICE, Town};
use serde_json::{Value, json};

on_both_families![
    the_sums_are_those_of_the_chain_and_a_forged_one_is_found,
    what_a_copy_learns_has_the_wallet_and_the_token_of_its_event,
    a_month_is_the_same_for_totals_export_and_page,
];

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
            format!("the journal has 7 base units charged, the chain moved {PRICE} base units"),
        ),
        (
            "UPDATE claim SET outcome = 'unproven' WHERE batch = 2",
            "UPDATE claim SET outcome = 'charged' WHERE batch = 2".to_owned(),
            format!("the journal has 0 base units charged, the chain moved {PRICE} base units"),
        ),
        (
            "UPDATE claim SET wallet = zeroblob(20) WHERE batch = 1 AND item = 0",
            "UPDATE claim SET wallet = NULL WHERE batch = 1 AND item = 0".to_owned(),
            format!("the journal has {PRICE} base units charged, the chain moved 0 base units"),
        ),
        (
            "UPDATE batch SET block = block + 1 WHERE id = 1",
            "UPDATE batch SET block = block - 1 WHERE id = 1".to_owned(),
            "the journal has it in block".to_owned(),
        ),
        (
            "INSERT INTO tx (hash, batch) VALUES (zeroblob(32), 2); \
             UPDATE batch SET hash = zeroblob(32), winner = zeroblob(32) WHERE id = 2",
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

/// What the call of a transaction does not carry is told by the event of the charge: whose wallet paid, and in
/// which token.
async fn what_a_copy_learns_has_the_wallet_and_the_token_of_its_event(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    bill(&town, &signer, town.entries([0])).await;
    signer.terminate().await;
    let copy = town.installation.path().join("copy");
    std::fs::copy(town.installation.journal(), &copy).unwrap();
    let signer = town.signer().await;
    let forgotten = bill(&town, &signer, town.entries([1, 2])).await;
    signer.terminate().await;
    std::fs::copy(copy, town.installation.journal()).unwrap();
    let signer = town.signer().await;
    eventually("it is learnt", async || {
        let heard = signer.scheduler.billings(&forgotten).await;
        heard.body["data"][0]["state"] == "charged"
    })
    .await;
    let told = Summed::of(&town, Some(&signer)).await;
    assert!(told.success && told.said.contains("0 differences"), "{}", told.said);
    let [group] = &told.groups[..] else { panic!("one token: {:?}", told.groups) };
    assert_eq!(group["token"], town.spell(town.token.address));
    for who in &town.people {
        let wallet = town.spell(who.wallet);
        let path = format!("/PayTool/charges?wallet={wallet}");
        let heard = signer.scheduler.send("GET", &path, b"", unix_seconds()).await.unwrap();
        let [charge] = &heard.body["data"]["charges"].as_array().unwrap()[..] else {
            panic!("one charge of {wallet}: {heard:?}")
        };
        assert_eq!((&charge["wallet"], &charge["chargedWallet"]), (&json!(wallet), &Value::Null));
        assert_eq!(charge["subscribeId"], json!(who.subscribe_id.to_string()), "{charge}");
    }
    town.assert_paid(&[1, 1, 1]).await;
}

/// Accepted in the last seconds of January, in a block of February.
const AT_MIDNIGHT: &str =
    "UPDATE batch SET accepted_ms = 1769903998000, block_s = 1769904010 WHERE id = 1";

async fn a_month_is_the_same_for_totals_export_and_page(family: Family) {
    let named = |usdt| format!("tokens.USDT = \"{usdt}\"\ndecimals.USDT = 18");
    let town = town_with(family, named).await;
    let token = town.spell(town.token.address);
    let signer = town.signer().await;
    bill(&town, &signer, town.entries([0, 1])).await;
    bill(&town, &signer, town.entries([2])).await;
    signer.terminate().await;
    alter(&town, AT_MIDNIGHT);
    let run = async |words: &[&str]| {
        let ended = town.installation.run(words).await;
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    };
    let january = ["--from", "2026-01-01", "--to", "2026-02-01"];
    let february = ["--from", "2026-02-01", "--to", "2026-03-01"];
    for (range, charges) in [(january, 0), (february, 2)] {
        let lines = run(&[&["export"], &range[..]].concat()).await;
        assert_eq!(lines.lines().count(), 1 + charges, "{lines}");
        let sums = run(&[&["totals"], &range[..]].concat()).await;
        let groups = usize::from(charges > 0);
        assert_eq!(sums.lines().count(), 1 + groups, "{sums}");
        assert!(charges == 0 || sums.contains(&format!(",USDT,2,{},", 2 * PRICE)), "{sums}");
    }
    let accepted = run(&[&["export", "--by", "accepted"], &january[..]].concat()).await;
    assert_eq!(accepted.lines().count(), 3, "{accepted}");
    let whole = format!(",{PRICE},{},USDT,{token},", PRICE / 10_u128.pow(18));
    assert_eq!(accepted.matches(&whole).count(), 2, "{accepted}");

    let all = run(&["export"]).await;
    let signer = town.signer().await;
    let path = "/PayTool/charges?order=oldest&format=csv";
    let heard = signer.scheduler.send("GET", path, b"", unix_seconds()).await.unwrap();
    assert_eq!(heard.body["data"], json!({"csv": all, "rows": 3, "next": null}));
}

async fn bill(town: &Town, signer: &Signer, entries: Vec<Value>) -> String {
    let hash = signer.scheduler.bill(&json!(entries)).await.tx_hash();
    assert_eq!(town.settled(signer, &hash).await["state"], "charged");
    hash
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
