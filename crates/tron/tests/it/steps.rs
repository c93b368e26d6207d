//! No step of the proof is idle: each is taken out of a copy of the source, and the tests of that copy have
//! to notice. Takes a minute or two.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One step: what it is, the file, what stands there, and what stands there without it.
type Step = (&'static str, &'static str, &'static str, &'static str);

const STEPS: [Step; 16] = [
    (
        "the id follows from the header",
        "block.rs",
        "if self.block_id != block_id(raw.number, digest) {",
        "if false {",
    ),
    (
        "the root follows from the transactions",
        "block.rs",
        "if merkle_root(leaves) == header.root {",
        "if merkle_root(leaves).is_zero() || true {",
    ),
    (
        "the result is under the root",
        "leaf.rs",
        "ret: self.rets()?,",
        "ret: self.rets().map(|_| Vec::new())?,",
    ),
    (
        "a transaction's id follows from its bytes",
        "leaf.rs",
        "if txid(&self.raw_data_hex) != self.tx_id {",
        "if false {",
    ),
    ("a node of the tree is no transaction", "leaf.rs", "if message.len() == NODE {", "if false {"),
    ("the first result counts", "leaf.rs", "self.ret.first()", "self.ret.last()"),
    (
        "a number that is not on the list is under the root",
        "leaf.rs",
        "_ => unlisted().ok_or_else(|| Unproven::Word(word.to_owned())),",
        "_ => unlisted().map(|_| 0).ok_or_else(|| Unproven::Word(word.to_owned())),",
    ),
    ("a block stands on its parent", "block.rs", "self.parent == id\n            && ", ""),
    ("time moves on", "block.rs", "&& self.time_ms > time_ms", ""),
    (
        "numbers follow one another",
        "block.rs",
        "&& self.number == number_in(id).saturating_add(1)",
        "",
    ),
    (
        "the signer is the witness's",
        "finality.rs",
        "if self.witnesses.has(producer) && !seen",
        "if self.witnesses.0.contains_key(&producer.witness) && !seen",
    ),
    ("a witness counts once", "finality.rs", "&& !seen.contains(&producer.witness)", ""),
    (
        "so many witnesses are needed",
        "finality.rs",
        "const LEFT_OUT_PERCENT: usize = 30;",
        "const LEFT_OUT_PERCENT: usize = 60;",
    ),
    (
        "who is elected is learnt",
        "finality.rs",
        "self.elect(producer, number);\n            return;",
        "return;",
    ),
    ("who is new takes a place", "finality.rs", "list.remove(&idlest);", ""),
    (
        "a key that nothing proves is not learnt",
        "finality.rs",
        "if witness == signer || self.witnesses.has(producer) {",
        "if true {",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// A workspace with this crate alone in it, and the recordings that its tests read.
fn workspace(at: &Path) {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    // The profiles too: with unoptimised keys each step would take minutes.
    let wanted = ["workspace.", "profile.dev"];
    let is_wanted = |section: &&str| wanted.iter().any(|name| section.starts_with(name));
    let sections = text.split("\n[").filter(is_wanted);
    let shared: Vec<String> = sections.map(|section| format!("[{section}\n")).collect();
    let shared = shared.concat();
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [\"crates/tron\"]\n{shared}");
    fs::create_dir_all(at).unwrap();
    fs::write(at.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root().join("Cargo.lock"), at.join("Cargo.lock")).unwrap();
    copy(&root().join("crates/tron"), &at.join("crates/tron"));
    copy(&root().join("tests/golden/tron"), &at.join("tests/golden/tron"));
}

/// Whether the copy's tests pass.
fn passes(at: &Path) -> bool {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "--offline", "--test", "it"]).current_dir(at);
    cargo.env("CARGO_TARGET_DIR", at.join("target")).env("RUSTFLAGS", "--cap-lints=allow");
    let told = cargo.output().unwrap();
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(!said.contains("could not compile"), "{said}");
    told.status.success()
}

#[test]
#[ignore = "builds and tests the crate seventeen times"]
fn a_proof_with_a_step_less_is_noticed() {
    let at = root().join("target/proof-steps");
    workspace(&at);
    assert!(passes(&at), "the tests pass as they are");
    let mut unnoticed = vec![];
    for (step, file, with, without) in STEPS {
        let file = at.join("crates/tron/src").join(file);
        let whole = fs::read_to_string(&file).unwrap();
        assert_eq!(whole.matches(with).count(), 1, "{step}");
        fs::write(&file, whole.replace(with, without)).unwrap();
        if passes(&at) {
            unnoticed.push(step);
        }
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(unnoticed, Vec::<&str>::new(), "nobody notices that these are not held");
}
