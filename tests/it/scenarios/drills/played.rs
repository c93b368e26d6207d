//! Scrapes of a Signer, played to the alert rules.

use crate::world::patience::unix_ms;
use crate::world::signer::Signer;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

/// The rules.
pub(super) const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/operate/alerts.yml");

/// The document that tells what every drill comes to.
const DOCUMENT: &str = include_str!("../../../../docs/alerts.md");

/// Between two scrapes of one state: blocks are made meanwhile, and looks.
const APART: Duration = Duration::from_millis(3500);

/// How long the quiet before an outage is played, minutes.
const QUIET: usize = 6;

/// How long the outage is, minutes.
const OUTAGE: usize = 30;

/// Two scrapes of one state: what moved between them goes on moving when it is played.
#[derive(Clone, Debug)]
pub(in crate::scenarios) struct Played {
    /// When the second was made, Unix seconds.
    at: f64,
    series: BTreeMap<String, (f64, bool)>,
}

impl Played {
    /// Scrapes twice.
    pub(in crate::scenarios) async fn scrape(signer: &Signer) -> Self {
        let first = series(&signer.scheduler.get("/metrics").await.text);
        tokio::time::sleep(APART).await;
        let second = series(&signer.scheduler.get("/metrics").await.text);
        let at = Duration::from_millis(unix_ms()).as_secs_f64();
        let moved = |(name, value): (String, f64)| {
            let before = first.get(&name).copied().unwrap_or(value);
            (name, (value, value > before))
        };
        Self { at, series: second.into_iter().map(moved).collect() }
    }

    /// Of a process that is not there.
    pub(in crate::scenarios) fn nothing() -> Self {
        Self { at: 0.0, series: BTreeMap::new() }
    }

    /// A whole number.
    pub(super) fn value(&self, name: &str) -> u64 {
        format!("{:.0}", self.series[name].0).parse().unwrap()
    }

    /// How a series goes in so many minutes from `start`. A time moves on with the clock, or stays; all
    /// else stays as it is.
    #[expect(clippy::float_arithmetic, reason = "metrics are floats")]
    fn values(&self, name: &str, minutes: usize, start: usize) -> String {
        let more = minutes - 1;
        match self.series.get(name) {
            // What a scrape does not show any more is over at once.
            None if start > 0 => format!("stale _x{}", more - 1),
            None => format!("_x{more}"),
            Some((value, moves)) if name.contains("_timestamp_seconds") => {
                let start = f64::from(u32::try_from(start * 60).unwrap());
                format!("{}+{}x{more}", value - self.at + start, if *moves { 60 } else { 0 })
            }
            Some((value, _)) => format!("{value}+0x{more}"),
        }
    }

    /// This state, as the input of a test.
    pub(super) fn quiet(&self) -> Vec<Value> {
        let one = |name: &String| json!({"series": name, "values": self.values(name, QUIET, 0)});
        self.series.keys().map(one).collect()
    }

    /// What `signer_obstacle` says.
    pub(super) fn obstacle(&self) -> String {
        let named = self.series.iter().filter(|(_, (value, _))| *value > 0.0);
        let named = named.filter_map(|(name, _)| {
            name.strip_prefix("signer_obstacle{")?.split("reason=\"").nth(1)?.split('"').next()
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// The alerts that fire from this state through `outage`, each with how many minutes of it that takes.
    pub(super) fn firing(self, outage: Option<Self>) -> Alerts {
        let outage = outage.unwrap_or_else(|| self.clone());
        firing_of(&[("", self, outage)])
    }

    /// This state and the one after it, as the input of a test.
    fn through(&self, instance: &str, outage: &Self) -> Vec<Value> {
        let names: BTreeSet<&String> = self.series.keys().chain(outage.series.keys()).collect();
        let one = |name: &String| {
            let (quiet, then) = (self.values(name, QUIET, 0), outage.values(name, OUTAGE, QUIET));
            json!({"series": of_instance(name, instance), "values": format!("{quiet} {then}")})
        };
        names.into_iter().map(one).collect()
    }
}

/// A series as it is scraped of an instance; of the only one without its name.
fn of_instance(name: &str, instance: &str) -> String {
    let label = format!("instance=\"{instance}\"");
    match name.split_once('{') {
        _ if instance.is_empty() => name.to_owned(),
        Some((name, labels)) => format!("{name}{{{label},{labels}"),
        None => format!("{name}{{{label}}}"),
    }
}

/// The alerts that fire where one Prometheus scrapes these instances, each from one state through another, and after
/// how many minutes of the other.
#[expect(clippy::float_arithmetic, reason = "Prometheus tells times as floats")]
pub(in crate::scenarios) fn firing_of(all: &[(&str, Played, Played)]) -> Alerts {
    let input: Vec<Value> =
        all.iter().flat_map(|(instance, quiet, outage)| quiet.through(instance, outage)).collect();
    let end = QUIET + OUTAGE - 1;
    let fired = format!(
        "min by (alertname) (min_over_time(timestamp(ALERTS{{alertstate=\"firing\"}})[{end}m:1m])) / 60"
    );
    let test = json!({
        "rule_files": [RULES],
        "evaluation_interval": "1m",
        "tests": [{
            "interval": "1m",
            "input_series": input,
            "promql_expr_test": [{"expr": fired, "eval_time": format!("{end}m"), "exp_samples": []}],
        }],
    });
    let (good, said) = promtool(&test);
    let parts = said.split("alertname=\"").skip(1).filter_map(|rest| rest.split_once("\"} "));
    let quiet = f64::from(u32::try_from(QUIET).unwrap());
    let fired: Alerts = parts
        .map(|(name, rest)| {
            let at: f64 = rest.split([',', '\n']).next().unwrap().trim().parse().unwrap();
            (name.to_owned(), format!("{:.0}m", at - quiet))
        })
        .collect();
    assert!(good == fired.is_empty(), "{said}");
    fired
}

/// Alerts, and after how long of an outage each fires.
pub(in crate::scenarios) type Alerts = BTreeMap<String, String>;

/// What docs/alerts.md tells of an outage.
#[derive(Debug)]
pub(super) struct Documented {
    /// The status of `/health/ready`, and what it says.
    pub(super) ready: (u16, String),
    pub(super) obstacle: String,
    pub(super) alerts: Alerts,
    /// What the log says, each by itself.
    pub(super) log: Vec<String>,
}

/// Has promtool run a test of rules; tells whether it passed, and what it said.
pub(super) fn promtool(test: &Value) -> (bool, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("drill.yml");
    std::fs::write(&path, test.to_string()).unwrap();
    let ended = Command::new("promtool").args(["test", "rules"]).arg(&path).output();
    let ended = ended.expect("this test asks promtool: apt-get install prometheus");
    let said = [ended.stdout, ended.stderr].concat();
    (ended.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Every series of a scrape.
fn series(metrics: &str) -> BTreeMap<String, f64> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    let split = lines.filter_map(|line| line.rsplit_once(' '));
    split.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

/// The row of an outage.
pub(super) fn documented(outage: &str) -> Documented {
    let row = DOCUMENT.lines().find(|line| line.starts_with(&format!("| {outage} |")));
    let row = row.unwrap_or_else(|| panic!("docs/alerts.md has no drill {outage:?}"));
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let (status, says) = cells[2].split_once(", ").unwrap_or((cells[2], ""));
    let alerts = cells[4].split(", ").filter_map(|alert| {
        let (name, after) = alert.trim_start_matches('`').split_once("` ")?;
        Some((name.to_owned(), after.to_owned()))
    });
    let log = cells[5].split("; ").filter(|said| !said.is_empty());
    Documented {
        ready: (status.parse().unwrap_or(0), says.to_owned()),
        obstacle: cells[3].trim_matches('`').to_owned(),
        alerts: alerts.collect(),
        log: log.map(str::to_owned).collect(),
    }
}

#[test]
fn promtool_takes_the_rules_and_each_has_its_row() {
    let ended = Command::new("promtool").args(["check", "rules", RULES]).output();
    let ended = ended.expect("this test asks promtool: apt-get install prometheus");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let rules = std::fs::read_to_string(RULES).unwrap();
    let alerts: Vec<&str> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 20, "{alerts:?}");
    for alert in &alerts {
        let anchor = alert.to_lowercase();
        assert!(DOCUMENT.contains(&format!("<a id=\"{anchor}\"></a>`{alert}`")), "{alert}");
        assert!(rules.contains(&format!("/alerts.md#{anchor}'\n")), "{alert}");
    }
    assert_eq!(DOCUMENT.matches("<a id=").count(), alerts.len());
}
