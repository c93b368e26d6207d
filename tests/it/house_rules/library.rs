//! The library of the merchant's side brings what a client needs, and nothing else.

use std::process::Command;

#[test]
fn a_client_has_no_server_no_database_and_no_command_line() {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--package",
            "merchant",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"reqwest"), "{tree}");
    for name in ["axum", "clap", "comfy-table", "config", "door", "prometheus-client", "rusqlite"] {
        assert!(!names.contains(&name), "merchant brings {name} to whoever wants a client");
    }
}
