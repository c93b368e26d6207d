//! The verifier in Python, asked about many certificates at once.

use alloy::primitives::B256;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads lines of a trusted hash and a certificate in hex, and says of each what it is.
const ASKED: &str = "
import sys, certificate
for line in sys.stdin:
    trusted, text = line.split()
    try:
        certificate.verify(bytes.fromhex(text).decode('utf-8'), trusted)
        print('valid')
    except (certificate.Invalid, UnicodeDecodeError):
        print('invalid')
";

/// Returns which of these certificates the verifier in Python takes for valid.
pub(crate) fn verified(asked: impl IntoIterator<Item = (B256, impl AsRef<[u8]>)>) -> Vec<bool> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify");
    let mut python = Command::new("python3")
        .args(["-B", "-c", ASKED])
        .env("PYTHONPATH", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> = asked
        .into_iter()
        .map(|(trusted, text)| format!("{trusted} {}\n", alloy::hex::encode(text)))
        .collect();
    let mut to = python.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for line in &lines {
            to.write_all(line.as_bytes()).unwrap();
        }
    });
    let said = python.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(said.status.success());
    String::from_utf8(said.stdout).unwrap().lines().map(|line| line == "valid").collect()
}
