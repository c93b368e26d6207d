//! The story that the program tells, by its own report: both batches, and the whole loop on both chains.

use serde_json::Value;
use std::process::Command;

/// Every part of the interface that the loop shows.
const SECTIONS: [&str; 14] = [
    "3.1", "4.1", "3.2, 6.1", "4.2", "4.3, 7", "7", "7.1, 7.2", "4.4", "4.7, 4.8", "3.3, 6.2",
    "4.9", "4.10", "3.4, 6.3", "4.11",
];

#[test]
fn the_whole_loop_holds_on_both_chains() {
    let told =
        Command::new(env!("CARGO_BIN_EXE_sandbox")).args(["--once", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(told.status.success(), "{report:#}\n{}", String::from_utf8_lossy(&told.stderr));
    let journal = report["journal"].as_array().unwrap();
    assert!(journal.len() == 3 && journal.iter().all(|row| row["held"] == true), "{journal:#?}");
    for chain in ["evm", "tron"] {
        assert_eq!(
            (&report[chain]["code"], report[chain]["faults"].as_array().unwrap().len()),
            (&1.into(), 0)
        );
        let rows =
            report["platform"].as_array().unwrap().iter().filter(|row| row["chain"] == chain);
        let rows: Vec<&Value> = rows.collect();
        for section in SECTIONS {
            let held = rows.iter().filter(|row| row["section"] == section);
            let held: Vec<bool> = held.map(|row| row["held"].as_bool().unwrap()).collect();
            assert!(
                !held.is_empty() && held.iter().all(|held| *held),
                "{chain} {section}: {rows:#?}"
            );
        }
    }
}
