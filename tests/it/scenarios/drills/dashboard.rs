//! The dashboard of operate/dashboard.json, without Grafana: every question is one that Prometheus takes, and
//! is answered by a Signer that is at work.

use super::lively;
use super::played::{Played, promtool};
use crate::world::anvil::{Family, Mining};
use crate::world::signer::WEBHOOK_SECRET;
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const DASHBOARD: &str = include_str!("../../../../operate/dashboard.json");

/// Metrics that no panel shows: a digest is compared and not looked at, a pause is told by its own panel, and a record
/// is proven or not only once it has decided something on EVM.
const UNSHOWN: [&str; 3] =
    ["signer_history_digest", "signer_paused_since_timestamp_seconds", "signer_records_proven"];

fn panels() -> Vec<Value> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(dashboard["id"].is_null() && dashboard["uid"].is_string(), "as provisioning wants it");
    dashboard["panels"].as_array().unwrap().clone()
}

/// Every question, with what Grafana fills in.
fn questions() -> Vec<String> {
    let targets = panels().into_iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        assert!(panel["type"] == "row" || !targets.is_empty(), "{panel}");
        targets
    });
    let filled = targets.map(|target| {
        assert_eq!(target["datasource"]["uid"], "${datasource}", "{target}");
        assert!(!target["legendFormat"].as_str().unwrap().is_empty(), "{target}");
        let asked = target["expr"].as_str().unwrap().replace("$__rate_interval", "5m");
        for of in ["job=~\"$job\"", "instance=~\"$instance\""] {
            assert_eq!(asked.matches("signer_").count(), asked.matches(of).count(), "{asked}");
        }
        ["$chain", "$job", "$instance"].iter().fold(asked, |asked, name| asked.replace(name, ".*"))
    });
    filled.collect()
}

#[test]
fn no_two_panels_have_one_id_or_one_place() {
    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{panel}");
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{panel}");
            }
        }
    }
}

#[tokio::test]
async fn every_panel_shows_something_of_a_signer_at_work_and_every_metric_is_on_one() {
    let mut town = Town::with(Founding {
        mining: Mining::OnRequest,
        ..lively(Family::Tron, "max_requests_per_day = 1000000000")
    })
    .await;
    town.installation = town.installation.env("SIGNER__JOURNAL__BACKUP_DIR", ".");
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let around = format!(
        "[webhook]\nurl = \"http://127.0.0.1:9\"\nsecret = {WEBHOOK_SECRET:?}\n\n\
         [traces]\nurl = \"http://127.0.0.1:9/v1/traces\"\n"
    );
    std::fs::write(&path, format!("{before}\n{around}")).unwrap();
    let signer = town.signer().await;
    signer.ready().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.wrote("the history goes so far").await;
    let names = signer.scheduler.get("/metrics").await.text;
    let names = names.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let all = questions().join("\n");
    let unshown: Vec<&str> = names.filter(|name| !all.contains(name)).collect();
    assert_eq!(unshown.into_iter().collect::<BTreeSet<_>>(), UNSHOWN.into());
    let input = Played::scrape(&signer).await.quiet();
    let asked = questions().into_iter().map(|question| {
        let one = json!([{"labels": "{}", "value": 1}]);
        json!({"expr": format!("clamp_max(count({question}), 1)"), "eval_time": "5m", "exp_samples": one})
    });
    let asked = asked.collect::<Vec<_>>();
    let test = json!({"interval": "1m", "input_series": input, "promql_expr_test": asked});
    let (good, said) = promtool(&json!({"evaluation_interval": "1m", "tests": [test]}));
    assert!(good, "{said}");
}
