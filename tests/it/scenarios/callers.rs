//! Who asked, and what he may ask for.

use crate::world::signer::{Heard, Scheduler, Signer, unix_seconds};
use crate::world::town::Town;
use serde_json::{Value, json};

/// A town whose Signer knows these callers beside the usual one, each with these rights (TOML).
async fn with_callers(callers: &[(&str, &str)]) -> (Town, Signer) {
    let town = Town::found().await;
    let path = town.installation.path().join("signer.toml");
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (label, rights) in callers {
        let secret = secret(label);
        let section =
            format!("\n[callers.{label}]\nkey = \"shared\"\nsecret = {secret:?}\n{rights}\n");
        text.push_str(&section);
    }
    std::fs::write(&path, text).unwrap();
    let signer = town.signer().await;
    (town, signer)
}

fn secret(label: &str) -> String {
    format!("a secret of {label}, of the tests")
}

fn caller(signer: &Signer, label: &str) -> Scheduler {
    let (key, secret) = ("shared".to_owned(), secret(label));
    Scheduler { key, secret, ..signer.scheduler.clone() }
}

fn forbidden(heard: &Heard, says: &str) {
    assert_eq!((heard.status, heard.code()), (403, 0), "{heard:?}");
    assert!(heard.body["msg"].as_str().unwrap().contains(says), "{says}: {heard:?}");
}

async fn shown(caller: &Scheduler) -> Heard {
    caller.send("GET", "/PayTool/control", b"", unix_seconds()).await.unwrap()
}

async fn charges(caller: &Scheduler) -> Heard {
    caller.send("GET", "/PayTool/charges", b"", unix_seconds()).await.unwrap()
}

#[tokio::test]
async fn the_label_of_the_secret_stands_wherever_somebody_may_look_for_it() {
    let (town, signer) = with_callers(&[("older", ""), ("newer", "")]).await;
    for (place, label) in [(0, "older"), (1, "newer")] {
        let body = json!(town.entries([place]));
        let hash = caller(&signer, label).bill(&body).await.tx_hash();
        let billing = town.settled(&signer, &hash).await;
        assert_eq!(billing["caller"], label, "{billing}");
    }
    let metrics = signer.scheduler.get("/metrics").await.text;
    for label in ["older", "newer"] {
        let line = format!(
            "signer_answers_total{{caller=\"{label}\",chain=\"139\",code=\"1\",status=\"200\"}} 1"
        );
        assert!(metrics.contains(&line), "{metrics}");
    }
    let log = signer.terminate().await;
    for label in ["older", "newer"] {
        let billed = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            line["message"] == "billed" && line["caller"] == label
        };
        assert!(log.lines().any(billed), "{log}");
    }
    let journal = rusqlite::Connection::open(town.installation.journal()).unwrap();
    let told: Vec<String> = journal
        .prepare("SELECT body FROM history WHERE event = 'accepted' ORDER BY seq")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let callers: Vec<Value> = told
        .iter()
        .map(|row| serde_json::from_str::<Value>(row).unwrap()["caller"].clone())
        .collect();
    assert_eq!(callers, ["older", "newer"]);
    town.installation.forge();
    journal.execute("UPDATE batch SET caller_label = 'older'", []).unwrap();
    drop(journal);
    let audit = town.installation.run(&["audit"]).await;
    assert!(!audit.status.success(), "it is under the digest");
}

#[tokio::test]
async fn an_export_from_a_running_signer_needs_a_caller_from_whom_nothing_is_kept() {
    let mut town = Town::found().await;
    town.installation = town.installation.env("SIGNER__CALLERS__TESTS__CHAINS", "139");
    let signer = town.signer().await;
    let url = signer.scheduler.url.clone();
    let export = ["export", "--server", &url];
    let refused = town.installation.run(&export).await;
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && told.contains("no configured caller sees all"), "{told}");
    let seeing = [("KEY", "auditor"), ("SECRET", "a secret of the auditor alone")];
    for (key, value) in seeing {
        let name = format!("SIGNER__CALLERS__AUDITOR__{key}");
        town.installation = town.installation.env(&name, value);
    }
    drop(signer);
    let signer = town.signer().await;
    let url = signer.scheduler.url.clone();
    let export = ["export", "--server", &url];
    assert!(town.installation.run(&export).await.status.success());
}

#[tokio::test]
async fn a_caller_does_what_its_rights_say_and_nothing_else() {
    let (town, signer) = with_callers(&[
        ("reader", "bill = false"),
        ("writer", "read = false"),
        ("elsewhere", "chains = [140]\ncontrol = true"),
        ("other_plan", "plans = [70, 71]"),
        ("operator", "read = false\nbill = false\ncontrol = true\nchains = [139]"),
    ])
    .await;
    let [reader, writer, elsewhere, other_plan, operator] =
        ["reader", "writer", "elsewhere", "other_plan", "operator"]
            .map(|label| caller(&signer, label));
    let body = json!(town.entries([0]));
    forbidden(&reader.bill(&body).await, "may not bill");
    forbidden(&elsewhere.bill(&body).await, "on chain 139");
    forbidden(&other_plan.bill(&body).await, "may not bill plan 7");
    forbidden(&operator.bill(&body).await, "may not bill");
    assert_eq!(town.transactions().await, 0);

    let hash = writer.bill(&body).await.tx_hash();
    forbidden(&writer.billings(&hash).await, "may not read");
    assert_eq!(reader.billings(&hash).await.code(), 1);
    assert_eq!(elsewhere.billings(&hash).await.status, 404, "it is of a chain that is not its own");

    forbidden(&charges(&writer).await, "may not read");
    assert_eq!(charges(&reader).await.body["data"]["charges"][0]["txHash"], json!(hash));
    let none = json!({"charges": [], "next": null});
    assert_eq!(charges(&elsewhere).await.body["data"], none, "it is told of its own chain alone");

    for caller in [&reader, &writer] {
        forbidden(&shown(caller).await, "control = true");
    }
    assert_eq!(shown(&elsewhere).await.body["data"], json!([]));
    forbidden(&elsewhere.post("/PayTool/control/pause", b"").await.unwrap(), "on chain 139");
    let why = br#"{"why": "first\n2026-11-29T10:30:00Z  INFO second"}"#;
    let paused = operator.post("/PayTool/control/pause", why).await.unwrap();
    let told = paused.body["data"][0]["paused"].as_str().unwrap();
    assert!(told.contains(r"first\n2026") && !told.contains('\n'), "one line of the log: {told}");
    assert_eq!(operator.resume().await.code(), 1);
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1, 0, 0]).await;
}
