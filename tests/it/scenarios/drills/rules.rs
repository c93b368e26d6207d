//! Every rule of operate/alerts.yml by itself: it is rung for the Signer that is ill, and nothing is for another one
//! that is well under the same Prometheus. Each of the two has a standby.

use super::played::{RULES, promtool};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How long a history is played, minutes.
const LENGTH: usize = 200;

/// What goes on as time does.
const NOW: &str = "0+60";

/// What a Signer tells that is well: a series, and how it begins and goes on.
const WELL: [(&str, &str); 48] = [
    ("up{}", "1"),
    ("signer_build_info{}", "1"),
    ("signer_start_timestamp_seconds{}", "0"),
    ("signer_ready{chain=\"1\"}", "1"),
    ("signer_node_up{chain=\"1\",node=\"a\"}", "1"),
    ("signer_node_up{chain=\"1\",node=\"b\"}", "1"),
    ("signer_node_state{chain=\"1\",node=\"a\",state=\"quarantined\"}", "0"),
    ("signer_witness_up{chain=\"1\",witness=\"w\"}", "1"),
    ("signer_head_timestamp_seconds{chain=\"1\"}", NOW),
    ("signer_obstacle{chain=\"1\",reason=\"gas_money\"}", "0"),
    ("signer_obstacle{chain=\"1\",reason=\"fees\"}", "0"),
    ("signer_obstacle{chain=\"1\",reason=\"clock\"}", "0"),
    ("signer_obstacle{chain=\"1\",reason=\"old_copy\"}", "0"),
    ("signer_obstacle{chain=\"1\",reason=\"key_elsewhere\"}", "0"),
    ("signer_obstacle{chain=\"1\",reason=\"brake\"}", "0"),
    ("signer_obstacle{chain=\"1\",reason=\"permission\"}", "0"),
    ("signer_gas_low{chain=\"1\"}", "0"),
    ("signer_billings_left{chain=\"1\"}", "100000"),
    ("signer_batches_accepted_total{chain=\"1\"}", "0+1"),
    ("signer_charges_accepted_total{chain=\"1\"}", "0+10"),
    ("signer_newest_batch_timestamp_seconds{chain=\"1\"}", NOW),
    ("signer_limit_headroom_ratio{chain=\"1\",limit=\"max_fee_per_day\"}", "1"),
    ("signer_journal_ready{}", "1"),
    ("signer_disk_free_bytes{}", "1000"),
    ("signer_disk_min_free_bytes{}", "100"),
    ("signer_backup_timestamp_seconds{}", NOW),
    ("signer_backup_every_seconds{}", "3600"),
    ("signer_webhook_waiting_timestamp_seconds{}", NOW),
    ("signer_journal_commit_seconds_bucket{le=\"0.1\"}", "0+60"),
    ("signer_journal_commit_seconds_bucket{le=\"1\"}", "0+60"),
    ("signer_journal_commit_seconds_bucket{le=\"+Inf\"}", "0+60"),
    ("signer_oldest_open_timestamp_seconds{chain=\"1\"}", NOW),
    ("signer_held_up_batches{chain=\"1\"}", "0"),
    ("signer_batches_ended_total{chain=\"1\",state=\"reverted\"}", "0"),
    ("signer_charges_total{chain=\"1\",reason=\"none\",state=\"unproven\"}", "0"),
    ("signer_auth_failures_total{reason=\"wrong\"}", "0"),
    ("signer_paused{chain=\"1\"}", "0"),
    ("signer_refusals_total{chain=\"1\",fail_code=\"BALANCE_INSUFFICIENT\",retry=\"USER\"}", "0+1"),
    ("signer_refusals_total{chain=\"1\",fail_code=\"TERMS_MISMATCH\",retry=\"FIX\"}", "0"),
    ("signer_answers_total{caller=\"c\",chain=\"1\",code=\"1\",status=\"200\"}", "0+5"),
    ("signer_answers_total{caller=\"c\",chain=\"1\",code=\"0\",status=\"503\"}", "0"),
    ("signer_serves{}", "1"),
    ("signer_instance_silent_seconds{instance_name=\"a\",start=\"1f\",state=\"serves\"}", "0"),
    (
        "signer_instance_clock_offset_seconds{instance_name=\"a\",start=\"1f\",state=\"serves\"}",
        "0",
    ),
    ("signer_instance_fit{instance_name=\"a\",start=\"1f\",state=\"serves\"}", "1"),
    ("signer_instance_fit{instance_name=\"b\",start=\"2f\",state=\"standby\"}", "1"),
    ("signer_instance_differs{instance_name=\"b\",start=\"2f\",state=\"standby\"}", "0"),
    ("signer_standbys{}", "1"),
];

/// What one tells that stands by, and is well.
const STANDBY: [(&str, &str); 6] = [
    ("up{}", "1"),
    ("signer_build_info{}", "1"),
    ("signer_serves{}", "0"),
    ("signer_could_take_over{}", "1"),
    ("signer_standbys{}", "1"),
    ("signer_instance_silent_seconds{instance_name=\"a\",start=\"1f\",state=\"serves\"}", "0"),
];

/// Which series of a Signer that is ill differ, each with all of its values or with how it goes on; and the alert that
/// is rung for it.
const ILL: [(&str, &[(&str, &str)]); 39] = [
    ("SignerDown", &[("up{}", "0")]),
    ("SignerNotReady", &[("signer_ready{chain=\"1\"}", "0")]),
    ("SignerNodeDown", &[("signer_node_up{chain=\"1\",node=\"a\"}", "0")]),
    ("SignerWitnessSilent", &[("signer_witness_up{chain=\"1\",witness=\"w\"}", "0")]),
    ("SignerTooFewNodes", &[("signer_node_up{chain=\"1\",node=\"a\"}", "0")]),
    ("SignerNodeLied", &[("signer_node_state{chain=\"1\",node=\"a\",state=\"quarantined\"}", "1")]),
    ("SignerHeadStalled", &[("signer_head_timestamp_seconds{chain=\"1\"}", "0")]),
    ("SignerGasEmpty", &[("signer_obstacle{chain=\"1\",reason=\"gas_money\"}", "1")]),
    ("SignerGasLow", &[("signer_gas_low{chain=\"1\"}", "1")]),
    ("SignerGasForADay", &[("signer_billings_left{chain=\"1\"}", "100")]),
    ("SignerGasForTwoHours", &[("signer_billings_left{chain=\"1\"}", "100")]),
    ("SignerFeesAboveCeiling", &[("signer_obstacle{chain=\"1\",reason=\"fees\"}", "1")]),
    (
        "SignerLimitNear",
        &[("signer_limit_headroom_ratio{chain=\"1\",limit=\"max_fee_per_day\"}", "0.05")],
    ),
    ("SignerClockOff", &[("signer_obstacle{chain=\"1\",reason=\"clock\"}", "1")]),
    ("SignerJournalNotReady", &[("signer_journal_ready{}", "0")]),
    ("SignerDiskLow", &[("signer_disk_free_bytes{}", "150")]),
    ("SignerBackupLate", &[("signer_backup_timestamp_seconds{}", "0")]),
    ("SignerWebhookBehind", &[("signer_webhook_waiting_timestamp_seconds{}", "0")]),
    ("SignerSlowDisk", &[("signer_journal_commit_seconds_bucket{le=\"0.1\"}", "0+1")]),
    ("SignerJournalBehind", &[("signer_obstacle{chain=\"1\",reason=\"old_copy\"}", "1")]),
    ("SignerKeyElsewhere", &[("signer_obstacle{chain=\"1\",reason=\"key_elsewhere\"}", "1")]),
    ("SignerBrake", &[("signer_obstacle{chain=\"1\",reason=\"brake\"}", "1")]),
    ("SignerBillingOld", &[("signer_oldest_open_timestamp_seconds{chain=\"1\"}", "0")]),
    ("SignerBillingStuck", &[("signer_oldest_open_timestamp_seconds{chain=\"1\"}", "0")]),
    ("SignerHeldUp", &[("signer_held_up_batches{chain=\"1\"}", "1")]),
    ("SignerReverted", &[("signer_batches_ended_total{chain=\"1\",state=\"reverted\"}", "0+1")]),
    (
        "SignerOutcomeUnclear",
        &[("signer_charges_total{chain=\"1\",reason=\"none\",state=\"unproven\"}", "0+1")],
    ),
    ("SignerAuthFailures", &[("signer_auth_failures_total{reason=\"wrong\"}", "0+9")]),
    ("SignerPaused", &[("signer_paused{chain=\"1\"}", "1")]),
    ("SignerNotPermitted", &[("signer_obstacle{chain=\"1\",reason=\"permission\"}", "1")]),
    (
        "SignerRefusesForUs",
        &[("signer_refusals_total{chain=\"1\",fail_code=\"TERMS_MISMATCH\",retry=\"FIX\"}", "0+1")],
    ),
    (
        "SignerMostRefused",
        &[(
            "signer_refusals_total{chain=\"1\",fail_code=\"BALANCE_INSUFFICIENT\",retry=\"USER\"}",
            "0+12",
        )],
    ),
    (
        "SignerAnswers503",
        &[("signer_answers_total{caller=\"c\",chain=\"1\",code=\"0\",status=\"503\"}", "0+2")],
    ),
    (
        "SignerNobodyServes",
        &[
            ("signer_serves{}", "0"),
            (
                "signer_instance_silent_seconds{instance_name=\"a\",start=\"1f\",state=\"serves\"}",
                "_",
            ),
        ],
    ),
    (
        "SignerStandbyUnfit",
        &[("signer_instance_fit{instance_name=\"b\",start=\"2f\",state=\"standby\"}", "0")],
    ),
    (
        "SignerInstanceDiffers",
        &[("signer_instance_differs{instance_name=\"b\",start=\"2f\",state=\"standby\"}", "2")],
    ),
    ("SignerCannotTakeOver", &[("signer_could_take_over{}", "0")]),
    ("SignerNoStandby", &[("signer_standbys{}", "1x100 0x100")]),
    (
        "SignerClocksApart",
        &[(
            "signer_instance_clock_offset_seconds{instance_name=\"a\",start=\"1f\",state=\"serves\"}",
            "-6",
        )],
    ),
];

/// Both Signers of a job, with what differs of them.
fn told(job: &str, differs: &[(&str, &str)]) -> Vec<Value> {
    let differs: BTreeMap<&str, &str> = differs.iter().copied().collect();
    let of = |instance: &str, all: &[(&str, &str)]| {
        let one = |(series, usual): &(&str, &str)| {
            let values = differs.get(series).unwrap_or(usual);
            let values = if values.contains('x') {
                (*values).to_owned()
            } else if values.contains('+') || *values == "_" {
                format!("{values}x{LENGTH}")
            } else {
                format!("{values}+0x{LENGTH}")
            };
            let labels = format!("{{job=\"signer-{job}\",instance=\"{job}-{instance}\",");
            json!({"series": series.replacen('{', &labels, 1).replace(",}", "}"), "values": values})
        };
        all.iter().map(one).collect::<Vec<_>>()
    };
    [of("a", &WELL), of("b", &STANDBY)].concat()
}

/// One history of two jobs: of production that differs so, and of staging that is well.
fn played(differs: &[(&str, &str)], expected: &Value) -> Value {
    let none = |job: &str| format!("ALERTS{{alertstate=\"firing\",job=\"signer-{job}\"}}");
    let silent = json!({"expr": none("staging"), "eval_time": "190m", "exp_samples": []});
    let input = [told("production", differs), told("staging", &[])].concat();
    json!({"interval": "1m", "input_series": input, "promql_expr_test": [silent, expected]})
}

fn rung(alert: &str) -> Value {
    let job = "alertstate=\"firing\",job=\"signer-production\"";
    let expr = format!("clamp_max(count(ALERTS{{alertname=\"{alert}\",{job}}}), 1)");
    json!({"expr": expr, "eval_time": "190m", "exp_samples": [{"labels": "{}", "value": 1}]})
}

fn assert_plays(tests: &[Value], evaluation_interval: &str) {
    let file = json!({
        "rule_files": [RULES], "evaluation_interval": evaluation_interval, "tests": tests,
    });
    let (good, said) = promtool(&file);
    assert!(good, "{said}");
}

#[test]
fn two_signers_that_are_well_ring_for_nobody() {
    let none = json!({"expr": "ALERTS", "eval_time": "190m", "exp_samples": []});
    assert_plays(&[played(&[], &none)], "1m");
}

#[test]
fn every_rule_rings_for_the_signer_that_is_ill_and_for_no_other() {
    let tests: Vec<Value> =
        ILL.iter().map(|(alert, differs)| played(differs, &rung(alert))).collect();
    assert_plays(&tests, "1m");
    let rules = std::fs::read_to_string(RULES).unwrap();
    let named = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let played = ILL.map(|(alert, _)| alert).into_iter().chain(["SignerIdle"]);
    assert_eq!(named.collect::<std::collections::BTreeSet<_>>(), played.collect());
}

#[test]
fn what_ended_before_the_first_scrape_of_a_process_is_rung_for_until_it_is_old() {
    let counters = [
        ("SignerReverted", "signer_batches_ended_total{chain=\"1\",state=\"reverted\"}"),
        (
            "SignerOutcomeUnclear",
            "signer_charges_total{chain=\"1\",reason=\"none\",state=\"unproven\"}",
        ),
    ];
    let mut tests = vec![];
    for (alert, counter) in counters {
        // A process that began at 180 minutes, where there was none, or one that had counted as much.
        for before in ["_x179", "1x179"] {
            let began = [
                (counter, format!("{before} 1x20")),
                ("signer_start_timestamp_seconds{}", "0x179 10800x20".to_owned()),
            ];
            let began = began.each_ref().map(|(series, values)| (*series, values.as_str()));
            tests.push(played(&began, &rung(alert)));
        }
        let none = json!({"expr": format!("ALERTS{{alertname=\"{alert}\"}}"), "eval_time": "190m", "exp_samples": []});
        tests.push(played(&[(counter, "1")], &none));
    }
    assert_plays(&tests, "1m");
}

/// Ten days of a chain that was billed on every so many hours, until the end of the eighth.
fn billed_every(hours: usize) -> Value {
    let times = (0..240).map(|hour| (hour.min(192) / hours * hours * 3600).to_string());
    let series = "signer_newest_batch_timestamp_seconds{job=\"signer\",instance=\"a\",chain=\"1\"}";
    let values = times.collect::<Vec<_>>().join(" ");
    // Somebody else is there, or nobody would be scraped.
    let build = json!({"series": "signer_build_info{job=\"signer\"}", "values": "1x240"});
    json!([build, {"series": series, "values": values}])
}

#[test]
fn a_chain_that_was_not_billed_on_for_longer_than_usual_is_rung_for_and_no_other() {
    let tests =
        [(1, 192, false), (1, 195, true), (24, 220, false), (24, 231, true), (96, 236, false)];
    let tests = tests.map(|(hours, at, rings)| {
        let expr = "count(ALERTS{alertname=\"SignerIdle\",alertstate=\"firing\"})";
        let samples = if rings { json!([{"labels": "{}", "value": 1}]) } else { json!([]) };
        let asked = json!({"expr": expr, "eval_time": format!("{at}h"), "exp_samples": samples});
        json!({"interval": "1h", "input_series": billed_every(hours), "promql_expr_test": [asked]})
    });
    assert_plays(&tests, "1h");
}

/// What a person reads: the chain by its name as well, and where to read on.
fn reads(told: &[(&str, &str)], labels: &Value, summary: &str, docs: &str) {
    let all = [("signer_ready", "chain=\"1\"", "0"), ("signer_build_info", "", "1")];
    let all = all
        .into_iter()
        .chain(told.iter().map(|(labels, value)| ("signer_chain_info", *labels, *value)));
    let input: Vec<Value> = all
        .map(|(name, labels, value)| json!({"series": format!("{name}{{job=\"signer\",{labels}}}"), "values": format!("{value}x30")}))
        .collect();
    let expected = json!([{
        "exp_labels": {"severity": "page", "job": "signer", "chain": "1"},
        "exp_annotations": {"summary": summary, "runbook_url": format!("{docs}/alerts.md#signernotready")},
    }]);
    let asked = json!({"alertname": "SignerNotReady", "eval_time": "10m", "exp_alerts": expected});
    assert_plays(
        &[
            json!({"interval": "1m", "external_labels": labels, "input_series": input, "alert_rule_test": [asked]}),
        ],
        "1m",
    );
}

#[test]
fn a_text_names_the_chain_as_it_is_configured_and_leads_to_the_page() {
    let known = [("chain=\"1\",name=\"polygon\",family=\"evm\"", "1")];
    reads(&known, &json!({}), "Chain 1 (polygon) takes no new work", "docs");
    let at = "https://git.example.com/signer/docs";
    reads(&[], &json!({"signer_docs": at}), "Chain 1 takes no new work", at);
}
