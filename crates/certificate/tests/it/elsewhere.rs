//! The verifiers in other languages, asked about many certificates at once.

use alloy::primitives::B256;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads lines of a trusted hash, a certificate in hex, and in hex the declaration of its event or nothing; and says of
/// each what it is.
const IN_PYTHON: &str = "
import sys, certificate
for line in sys.stdin:
    trusted, text, *event = line.split()
    event = bytes.fromhex(event[0]).decode('utf-8') if event else None
    try:
        certificate.verify(bytes.fromhex(text).decode('utf-8'), trusted, event)
        print('valid')
    except (certificate.Invalid, UnicodeDecodeError):
        print('invalid')
";

/// The same.
const IN_JAVASCRIPT: &str = "
const { readFileSync } = require('node:fs');
const verify = new Function(readFileSync('certificate.js', 'utf8') + '; return verifyCertificate;')();
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const said = readFileSync(0, 'utf8').trim().split('\\n').map((line) => {
  const [trusted, text, event] = line.split(' ');
  const declaration = event ? utf8.decode(Buffer.from(event, 'hex')) : undefined;
  try {
    verify(utf8.decode(Buffer.from(text, 'hex')), trusted, declaration);
    return 'valid';
  } catch {
    return 'invalid';
  }
});
console.log(said.join('\\n'));
";

/// Returns which of these certificates the verifiers in Python and in JavaScript take for valid: the same ones.
pub(crate) fn verified(asked: impl IntoIterator<Item = (B256, impl AsRef<[u8]>)>) -> Vec<bool> {
    let line = |(trusted, text)| format!("{trusted} {}\n", alloy::hex::encode(text));
    judged(&asked.into_iter().map(line).collect::<Vec<_>>())
}

/// Returns true if they take a certificate for valid, whose event has this declaration.
pub(crate) fn verified_event(trusted: B256, text: &str, published: &str) -> bool {
    let [text, published] = [text, published].map(alloy::hex::encode);
    judged(&[format!("{trusted} {text} {published}\n")]) == [true]
}

fn judged(lines: &[String]) -> Vec<bool> {
    let python = answers(Command::new("python3").args(["-B", "-c", IN_PYTHON]), lines);
    let javascript = answers(Command::new("node").args(["-e", IN_JAVASCRIPT]), lines);
    assert_eq!(python.len(), lines.len());
    for ((python, javascript), line) in python.iter().zip(&javascript).zip(lines) {
        assert_eq!(python, javascript, "python says {python}: {line}");
    }
    python
}

fn answers(verifier: &mut Command, lines: &[String]) -> Vec<bool> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify");
    let piped = verifier.current_dir(&folder).env("PYTHONPATH", &folder);
    let mut running = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, text) = (running.stdin.take().unwrap(), lines.concat());
    let writer = std::thread::spawn(move || to.write_all(text.as_bytes()).unwrap());
    let said = running.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(said.status.success());
    String::from_utf8(said.stdout).unwrap().lines().map(|line| line == "valid").collect()
}
