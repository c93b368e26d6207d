//! What Prometheus reads of a Signer that has seen something of everything.

use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::town::Town;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Where every metric is described.
const DOCUMENT: &str = include_str!("../../../docs/metrics.md");

on_both_families![
    promtool_finds_nothing_to_complain_of,
    the_document_describes_every_metric_and_no_other,
];

/// The type and the labels of a metric.
type Shape = (String, BTreeSet<String>);

/// A Signer that has charged, and has refused.
async fn seen_of_everything(family: Family) -> (Town, String) {
    let town = Town::on(family).await;
    town.token.set_balance(town.people[1].wallet, 5).await;
    let signer = town.signer().await;
    assert_eq!(signer.scheduler.bill(&json!(town.entries([0, 1]))).await.code(), 2);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    // An end is counted when it is written, and what a chain is fit for is seen by the next look.
    let scrape = async || signer.scheduler.get("/metrics").await.text;
    let seen = [
        "signer_charges_total{chain=\"139\",state=\"charged\",reason=\"none\"} 1\n",
        "signer_ready{chain=\"139\"} 1\n",
    ];
    eventually("the end is counted", async || {
        let metrics = scrape().await;
        seen.iter().all(|one| metrics.contains(one))
    })
    .await;
    (town, scrape().await)
}

async fn promtool_finds_nothing_to_complain_of(family: Family) {
    let (_town, metrics) = seen_of_everything(family).await;
    for one in [
        "signer_ready{chain=\"139\"} 1\n",
        "signer_charges_total{chain=\"139\",state=\"charged\",reason=\"none\"} 1\n",
        "signer_charges_total{chain=\"139\",state=\"failed\",reason=\"CALL_REVERTED\"} 0\n",
        "signer_batches_accepted_total{chain=\"139\"} 1\n",
        "signer_refusals_total{chain=\"139\",fail_code=\"BALANCE_INSUFFICIENT\",retry=\"USER\"} 1\n",
        "signer_refusals_total{chain=\"139\",fail_code=\"NOT_DUE_YET\",retry=\"WAIT\"} 0\n",
        "signer_answers_total{caller=\"tests\",chain=\"139\",code=\"1\",status=\"200\"} 1\n",
        "signer_answers_total{caller=\"nobody\",chain=\"none\",code=\"0\",status=\"401\"} 0\n",
        "signer_obstacle{chain=\"139\",reason=\"nodes\"} 0\n",
        "signer_journal_ready 1\n",
    ] {
        assert!(metrics.contains(one), "{one}{metrics}");
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

async fn the_document_describes_every_metric_and_no_other(family: Family) {
    let (_town, metrics) = seen_of_everything(family).await;
    let (told, mut documented) = (shapes(&metrics), documented());
    // That of a port with TLS, which is another scenario: `encrypted`.
    assert!(documented.remove("signer_certificate_end_timestamp_seconds").is_some());
    let names = |shapes: &BTreeMap<String, Shape>| shapes.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&told), names(&documented));
    for (name, (kind, labels)) in told {
        let (documented_kind, documented_labels) = &documented[&name];
        assert_eq!(kind, *documented_kind, "{name}");
        assert!(labels.is_empty() || labels == *documented_labels, "{name}: {labels:?}");
    }
}

/// What a scrape shows: every metric that it describes, with the labels of its values.
fn shapes(metrics: &str) -> BTreeMap<String, Shape> {
    let mut shapes = BTreeMap::<String, Shape>::new();
    for line in metrics.lines() {
        if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            shapes.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        }
        let Some((name, rest)) = line.split_once('{').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let of_histogram = ["_bucket", "_sum", "_count"];
        let base = of_histogram.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let labels = rest.rsplit_once('}').unwrap().0.split("\",").filter_map(|label| {
            label.split_once('=').map(|(label, _)| label.to_owned()).filter(|label| label != "le")
        });
        shapes.get_mut(base).unwrap().1.extend(labels);
    }
    shapes
}

/// The rows of the tables.
fn documented() -> BTreeMap<String, Shape> {
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| `signer_"));
    let rows = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = cells[3].split(", ").filter(|label| !label.is_empty());
        let labels = labels.map(|label| label.trim_matches('`').to_owned()).collect();
        (cells[1].trim_matches('`').to_owned(), (cells[2].to_owned(), labels))
    });
    rows.collect()
}
