//! What is rung for where several Signers have one journal, of which a standby tells little: scrapes as it makes them.

use super::played::{RULES, promtool};
use serde_json::{Value, json};

/// Twenty minutes of two Signers: what each tells of itself, and what both tell of the second.
fn rings(serves: [u8; 2], second_fit: u8, alert: &str) -> bool {
    let series = |name: String, value: u8| json!({"series": name, "values": format!("{value}x20")});
    let of = |name: &str, instance: &str| format!("signer_{name}{{instance=\"{instance}\"}}");
    let state = if serves[1] == 1 { "serves" } else { "standby" };
    let labels = format!("instance_name=\"b\",start=\"1f\",state=\"{state}\"");
    let serving = |by: usize| {
        let (name, at) = (["a", "b"][by], "state=\"serves\"}");
        let one = format!(
            "signer_instance_silent_seconds{{instance=\"{name}\",instance_name=\"{name}\",{at}"
        );
        series(one, 0)
    };
    let told = |by: &str| format!("signer_instance_fit{{instance=\"{by}\",{labels}}}");
    let mut input: Vec<Value> = vec![
        series(of("serves", "a"), serves[0]),
        series(of("serves", "b"), serves[1]),
        series(told("a"), second_fit),
        series(told("b"), second_fit),
    ];
    input.extend((0..2).filter(|by| serves[*by] == 1).flat_map(|_| [serving(0), serving(1)]));
    fires(&input, alert)
}

/// Returns true if an alert fires a quarter of an hour after these series began.
fn fires(input: &[Value], alert: &str) -> bool {
    let fires = format!("ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}}");
    let test = json!({
        "rule_files": [RULES],
        "evaluation_interval": "1m",
        "tests": [{
            "interval": "1m",
            "input_series": input,
            "promql_expr_test": [{"expr": fires, "eval_time": "15m", "exp_samples": []}],
        }],
    });
    !promtool(&test).0
}

#[test]
fn a_pair_of_which_nobody_serves_or_whose_standby_is_of_no_use_is_rung_for() {
    for (serves, fit, nobody, unfit) in [
        ([1, 0], 1, false, false),
        ([0, 1], 1, false, false),
        ([0, 0], 1, true, false),
        ([1, 0], 0, false, true),
        // Of the one that serves its readiness tells.
        ([0, 1], 0, false, false),
    ] {
        let rung =
            (rings(serves, fit, "SignerNobodyServes"), rings(serves, fit, "SignerStandbyUnfit"));
        assert_eq!(rung, (nobody, unfit), "{serves:?}, {fit}");
    }
}

/// Returns true if a page for nobody who serves rings after twenty minutes in which a standby tells these values of
/// `signer_could_take_over` and of how long the one that serves has said nothing; the other may be scraped, and serve.
fn standby_rings(could: u8, silent: &str, other: bool) -> bool {
    let series = |name: &str, labels: &str, values: &str| json!({"series": format!("signer_{name}{{{labels}}}"), "values": values});
    let [other_one, standby] = ["a", "b"].map(|name| format!("job=\"signer\",instance=\"{name}\""));
    let serving = format!("{standby},instance_name=\"a\",state=\"serves\"");
    let mut input = vec![
        series("serves", &standby, "0x20"),
        series("could_take_over", &standby, &format!("{could}x20")),
        series("instance_silent_seconds", &serving, silent),
    ];
    input.extend(other.then(|| series("serves", &other_one, "1x20")));
    fires(&input, "SignerNobodyServes")
}

#[test]
fn a_standby_that_has_lost_the_database_as_well_is_no_witness_of_who_serves() {
    // Told anew at each scrape, or as it was read last.
    let (fresh, stale) = ("0.2+0.01x20", "0.2x20");
    for (could, silent, other, rung) in [
        (0, stale, false, true),
        // It is cut off alone.
        (0, stale, true, false),
        // It could bill nothing, and reads the roll.
        (0, fresh, false, false),
        (1, fresh, false, false),
        (1, stale, false, false),
    ] {
        assert_eq!(standby_rings(could, silent, other), rung, "{could}, {silent}, {other}");
    }
}
