//! One test per recorded file, or per series of files that build on each other.
//!
//! A difference that is meant to be there is named, with its reason; a reason that no longer applies fails too.

use crate::recording::Recording;
use crate::world::{SINGLE_PROBE, TOKEN, at, bare_world, call, who, world};
use alloy::primitives::U256;
use sandbox_chains::tron::TronNode;

/// A part of a difference's text, and why it is there.
type Reason = (&'static str, &'static str);

const EARLIER: &str = "transfers that were not recorded moved balances and bandwidth before";
const CPU: &str = "where time runs out depends on the machine; here it is counted in steps";
const PRODUCER: &str = "the producer of a recorded block is not known to the sandbox";
const IDS: &str = "ids follow from blocks that were not recorded";
const COLUMN: &str = "the recorded client wrote its keys in another order";

fn check(series: &[&str], prepare: impl Fn(&TronNode), reasons: &[Reason]) {
    let recordings: Vec<_> = series.iter().map(|name| Recording::read(name)).collect();
    let node = world(&recordings);
    prepare(&node);
    compare(&node, &recordings, reasons);
}

fn compare(node: &TronNode, recordings: &[Recording], reasons: &[Reason]) {
    let lines: Vec<_> =
        recordings.iter().flat_map(|recording| recording.replay(node, done_to)).collect();
    let unexplained: Vec<_> =
        lines.iter().filter(|line| !reasons.iter().any(|(part, _)| line.contains(part))).collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    for (part, why) in reasons {
        assert!(
            lines.iter().any(|line| line.contains(part)),
            "no difference for {part:?} any more ({why})"
        );
    }
}

/// What a step's label says was done to the node.
fn done_to(node: &TronNode, label: &str) {
    if label.contains("kill") {
        node.restart();
    }
    if label.starts_with("token paused") {
        call(node, who("A"), TOKEN, "setPaused(bool)", &[U256::from(1)]);
    }
    if label.starts_with("three transactions of about 400,000 energy") {
        node.node().chain().edit(|state| {
            let cycle = state.ledger().cycle;
            let heat = &mut state.ledger_mut().contract_mut(at(SINGLE_PROBE)).heat;
            (heat.usage, heat.cycle) = (1_217_418, cycle);
        });
    }
}

fn as_is(_: &TronNode) {}

#[test]
fn deployments() {
    let recordings = [Recording::read("00_deploy_contracts")];
    compare(&bare_world(&recordings), &recordings, &[]);
}

#[test]
fn blocks_and_the_node() {
    let reasons = [
        ("by id: ", IDS),
        ("number as JSON number: ", COLUMN),
        ("node info: ", IDS),
        (
            "eth_getBlockByNumber: .result.timestamp: \"0x0\"",
            "genesis has a time here, from which blocks are counted",
        ),
        ("eth_getBlockByNumber: .result.transactions", "genesis has no transactions here"),
        ("eth_getBlockByNumber: .result.number", "the solid head moved between two requests"),
        ("eth_getBlockByNumber: .result.timestamp: \"0x6b0164c5\"", "the same"),
        ("eth_getBalance", EARLIER),
    ];
    check(&["01_node_and_blocks"], as_is, &reasons);
}

#[test]
fn chain_parameters() {
    check(&["02_chain_parameters"], as_is, &[]);
}

#[test]
fn accounts_and_resources() {
    let reasons = [
        (".balance", EARLIER),
        (".free_net_usage", EARLIER),
        (".freeNetUsed", EARLIER),
        (".account_name", "a genesis account has no name here"),
        (".energy_usage", "the contract was not called before"),
    ];
    check(&["03_accounts_resources"], as_is, &reasons);
}

#[test]
fn token_reads() {
    check(&["04_trc20_reads"], as_is, &[]);
}

#[test]
fn multicall() {
    check(
        &["05_multicall"],
        as_is,
        &[("sub-call over the CPU limit", CPU), ("environment getters", PRODUCER)],
    );
}

#[test]
fn constant_calls_that_fail() {
    let reasons = [
        ("the CPU limit hits before", CPU),
        ("CPU time limit", CPU),
        ("environment opcodes", PRODUCER),
        ("non-hex owner", COLUMN),
    ];
    check(&["06_constant_call_failures"], as_is, &reasons);
}

#[test]
fn estimates() {
    check(&["07_estimate_energy"], as_is, &[("CPU limit", CPU)]);
}

#[test]
fn lifecycle() {
    check(&["08_lifecycle_success"], as_is, &[]);
}

#[test]
fn duplicates() {
    check(&["09_duplicates"], as_is, &[]);
    check(&["09b_duplicate_after_solid"], as_is, &[]);
}

#[test]
fn admission_errors() {
    check(&["10_admission_errors"], as_is, &[]);
}

#[test]
fn signature_forms() {
    check(&["11_signature_forms"], as_is, &[]);
}

#[test]
fn fee_limits_and_running_out() {
    check(&["12_fee_limit_and_out_of_energy"], as_is, &[]);
}

#[test]
fn reverts_are_included() {
    check(&["13_revert_included"], as_is, &[]);
}

#[test]
fn billing() {
    let series = [
        "14a_billing_all_good",
        "14b_billing_mixed_failures",
        "14c_billing_repeat_is_harmless",
        "14d_billing_whole_transaction_failures",
    ];
    let reasons = [
        ("checkSubscribePlan: .constant_result", EARLIER),
        (".logs[6].data", EARLIER),
        (".logs[7].data", EARLIER),
        (".log[6].data", EARLIER),
        (".log[7].data", EARLIER),
        ("14c_billing_repeat_is_harmless: info: .log[0].data", EARLIER),
        ("subscribeOf u2", "it subscribed at another time"),
    ];
    check(&series, as_is, &reasons);
}

#[test]
fn the_pool_runs_at_time_zero() {
    let prepare = |node: &TronNode| {
        node.use_free_bandwidth(who("biller"), 5000);
        // the merchant has been paid before
        call(
            node,
            who("A"),
            TOKEN,
            "mint(address,uint256)",
            &[crate::world::word(who("payee")), U256::from(1)],
        );
    };
    check(&["14g_pool_dry_run_runs_at_time_zero"], prepare, &[]);
    check(
        &["14f_billing_phantom_simulation"],
        prepare,
        &[("simulation after inclusion: .logs", EARLIER)],
    );
}

#[test]
fn pending_effects() {
    check(
        &["15_phantom_pending_reads"],
        as_is,
        &[(".balance", EARLIER), (".free_net_usage", EARLIER)],
    );
}

#[test]
fn reorganisation() {
    check(&["16_reorg_after_kill"], as_is, &[("receiver balance", EARLIER)]);
}

#[test]
fn expiry_without_inclusion() {
    check(
        &["17_expired_without_inclusion"],
        as_is,
        &[("positive control", "an older transaction that was not recorded")],
    );
}

#[test]
fn malformed_requests() {
    check(&["19_malformed_requests"], as_is, &[]);
}

#[test]
fn false_duplicates() {
    check(
        &["21_trx_cache_false_duplicates"],
        |node| node.configure(|options| options.trx_cache = true),
        &[],
    );
}

#[test]
fn a_timeout_is_not_a_failure() {
    check(&["23_client_timeout_but_included"], as_is, &[]);
    check(&["23b_connection_lost_not_included"], as_is, &[]);
}

#[test]
fn blocks_unsolidified() {
    check(
        &["26_block_unsolidified"],
        |node| node.configure(|options| options.max_unsolidified = Some(2)),
        &[],
    );
}

#[test]
fn no_connection() {
    check(&["27_no_connection"], |node| node.configure(|options| options.lonely = true), &[]);
}

#[test]
fn reduced_node() {
    let reduce = |node: &TronNode| {
        node.configure(|options| {
            options.constant_calls = false;
            options.estimate_energy = false;
            options.history = false;
            options.disabled.insert("getaccountresource".to_owned());
        });
    };
    check(&["28_reduced_node"], reduce, &[]);
}

#[test]
fn one_producer() {
    check(&["30_single_witness_finality"], as_is, &[]);
}

#[test]
fn the_energy_cap_of_constant_calls() {
    check(
        &["31_constant_call_out_of_energy"],
        |node| node.configure(|options| options.constant_energy = 3_000_000),
        &[],
    );
}

#[test]
fn dynamic_energy() {
    check(&["32_dynamic_energy_and_maintenance"], as_is, &[]);
}

#[test]
fn large_batches() {
    check(&["41_large_batches_and_the_cpu_limit"], as_is, &[]);
}
