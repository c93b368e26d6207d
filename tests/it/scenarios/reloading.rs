//! Another configuration, taken up by a Signer that works: no request is lost, and nothing is taken up by half.

use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Proxy};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};
use std::cell::Cell;
use std::time::{Duration, Instant};

on_both_families![
    under_load_callers_limits_fees_nodes_and_lines_change_and_no_request_is_lost,
    what_cannot_change_is_named_and_nothing_is_taken_up,
];

const PEOPLE: usize = 12;
const CLERKS: usize = 3;

/// Somebody who may control, and is not configured at first.
const OPERATOR: &str = "[callers.operator]\nkey = \"operator-key\"\n\
                        secret = \"the operator's own secret\"\ncontrol = true\n";

async fn town(family: Family) -> Town {
    Town::with(Founding { people: u64::try_from(PEOPLE).unwrap(), ..Founding::on(family) }).await
}

/// Writes more at the end of the configuration.
fn add(town: &Town, section: &str) {
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{before}\n{section}")).unwrap();
}

fn hang_up(signer: &Signer) {
    let id = rustix::process::Pid::from_child(&signer.process);
    rustix::process::kill_process(id, rustix::process::Signal::HUP).unwrap();
}

/// Whether the command succeeded, and what it said.
async fn reload(town: &Town, signer: &Signer) -> (bool, String) {
    let server = ["reload", "--server", signer.scheduler.url.as_str()];
    let output = town.installation.run(&server).await;
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.success(), said)
}

/// Posts the same people again and again until `over`: every request is answered with a transaction.
async fn post(town: &Town, signer: &Signer, clerk: usize, over: &Cell<bool>) -> usize {
    let mut posted = 0;
    while !over.get() || posted < PEOPLE / CLERKS {
        let place = clerk + CLERKS * (posted % (PEOPLE / CLERKS));
        let heard = signer.scheduler.bill(&json!(town.entries([place]))).await;
        assert_eq!((heard.status, heard.code()), (200, 1), "{heard:?}");
        posted += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    posted
}

/// The rows of the history that tell of it.
fn rows(town: &Town) -> Vec<Value> {
    let file = rusqlite::Connection::open(town.installation.journal()).unwrap();
    let mut select = file.prepare("SELECT body FROM history WHERE event = 'reloaded'").unwrap();
    let bodies = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    bodies.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect()
}

async fn under_load_callers_limits_fees_nodes_and_lines_change_and_no_request_is_lost(
    family: Family,
) {
    let town = town(family).await;
    let signer = town.signer().await;
    signer.ready().await;
    let (first, behind) = match family {
        Family::Evm => ("10 ether", town.anvil.url.clone()),
        Family::Tron => ("15000 TRX", town.tron().served.full.clone()),
    };
    let second_node = Proxy::before(&behind).await;
    let over = Cell::new(false);
    let changing = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        add(&town, OPERATOR);
        add(&town, "[chains.139.policy]\nmax_batch = 2\n");
        town.installation.edit(first, &first.replacen('1', "2", 1));
        hang_up(&signer);
        signer.wrote("the configuration was taken up anew").await;
        town.installation.edit(&format!("{:?}", town.proxy.url), &format!("{:?}", second_node.url));
        town.installation.edit("debug,hyper=info", "info");
        let (done, said) = reload(&town, &signer).await;
        assert!(done && said.contains("taken up: ") && said.contains("log.filter"), "{said}");
        tokio::time::sleep(Duration::from_millis(300)).await;
        over.set(true);
    };
    let clerks = (0..CLERKS).map(|clerk| post(&town, &signer, clerk, &over));
    let (posted, ()) = tokio::join!(futures_util::future::join_all(clerks), changing);
    assert!(posted.iter().sum::<usize>() > PEOPLE, "{posted:?}");

    let (now, said) = (Instant::now(), signer.log().len());
    let refused = signer.scheduler.bill(&json!(town.entries([0, 1, 2]))).await;
    assert_eq!(refused.status, 200, "what is billed is told, whatever the limit: {refused:?}");
    town.quiet(&signer).await;
    let next: Vec<Value> =
        town.people.iter().take(3).map(|who| crate::world::town::entry(who, 2)).collect();
    let refused = signer.scheduler.bill(&json!(next)).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.text.contains("max_batch"), "{refused:?}");
    // On TRON the other doors of the node are still those of the first.
    if family == Family::Evm {
        let asked = town.proxy.asked_since(ANYTHING, now);
        assert_eq!(asked, 0, "the first node is not asked any more");
    }
    assert!(second_node.asked_since(ANYTHING, now) > 0);
    assert!(!signer.log()[said..].contains("DEBUG"), "{}", &signer.log()[said..]);
    town.assert_paid(&[1; PEOPLE]).await;
    let log = signer.terminate().await;
    assert!(!log.contains("operator's own secret"));
    let rows = rows(&town);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!((&rows[0]["by"], &rows[1]["by"]), (&json!("SIGHUP"), &json!("operator")));
    let keys = rows[0]["keys"].to_string();
    for key in ["callers.operator.secret", "chains.139.fees.", "chains.139.policy.max_batch"] {
        assert!(keys.contains(key), "{keys}");
    }
    assert!(!keys.contains("own secret"), "{keys}");
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{audit:?}");
}

async fn what_cannot_change_is_named_and_nothing_is_taken_up(family: Family) {
    let town = town(family).await;
    add(&town, OPERATOR);
    let signer = town.signer().await;
    signer.ready().await;
    let right = std::fs::read_to_string(town.installation.path().join("signer.toml")).unwrap();
    // With what could change beside it.
    add(&town, "[chains.139.policy]\nmax_batch = 1\n");
    town.installation.edit("min_free = \"1MiB\"", "min_free = \"2MiB\"");
    town.installation.edit("file:evm.key", "file:other.key");
    let (done, said) = reload(&town, &signer).await;
    assert!(!done, "{said}");
    for key in ["journal.min_free", "chains.139.key"] {
        assert!(said.contains(key), "{key}: {said}");
    }
    std::fs::write(town.installation.path().join("signer.toml"), &right).unwrap();
    town.installation.edit("min_free = \"1MiB\"", "min_free = \"1MB\"\nmin_fre = 1");
    hang_up(&signer);
    signer.wrote("the configuration was not taken up").await;
    eventually("both faults are told", async || {
        let log = signer.log();
        log.contains("journal.min_fre") && log.contains("journal.min_free: ")
    })
    .await;
    let heard = signer.scheduler.bill(&json!(town.entries([0, 1]))).await;
    assert_eq!(heard.code(), 1, "the limit is as it was: {heard:?}");
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1]).await;
    let refused = signer.scheduler.post("/PayTool/control/reload", b"{}").await.unwrap();
    assert_eq!(refused.status, 403, "a scheduler may not: {refused:?}");
    signer.terminate().await;
    assert_eq!(rows(&town), Vec::<Value>::new());
}
