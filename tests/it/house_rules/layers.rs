//! Which part may know which. Of crates Cargo says it; of the modules of the program this table does. The table in
//! docs/architecture.md is both.

use super::none;
use super::rust::{paths, without_tests};
use super::tree::{CRATES, product, root, shown, text};
use std::path::{Path, PathBuf};

/// What each module of the program may know of the others. Read from the top: no module may know one further down.
const MODULES: [(&str, &[&str]); 5] = [
    ("auth", &[]),
    ("telemetry", &[]),
    ("certificates", &[]),
    ("http", &["auth", "certificates", "telemetry"]),
    ("app", &["auth", "certificates", "http", "telemetry"]),
];

/// Where the table stands for people.
const ARCHITECTURE: &str = "docs/architecture.md";

#[test]
fn no_module_of_the_program_knows_one_that_it_may_not() {
    let mut faults = vec![];
    for path in product().into_iter().filter(|path| path.starts_with(root().join("src"))) {
        let module = module_of(&path);
        if module.iter().any(|name| name == "tests") {
            continue; // tests may know what they need
        }
        let Some(top) = module.first().filter(|top| *top != "lib" && *top != "main") else {
            continue;
        };
        let Some((_, allowed)) = MODULES.iter().find(|(name, _)| name == top) else {
            faults.push(format!("{}: {top} has no row in MODULES", shown(&path)));
            continue;
        };
        faults.extend(
            known(&path, module.len())
                .iter()
                .filter(|name| *name != top && !allowed.contains(&name.as_str()))
                .map(|name| format!("{}: {top} may not know {name}", shown(&path))),
        );
    }
    none(&faults);
}

/// The modules at the root of the program that a file names. It stands so many steps below the root.
fn known(path: &Path, depth: usize) -> Vec<String> {
    let from_root = |path: &Vec<String>| {
        let climbed = path.iter().take_while(|part| *part == "super").count();
        let from_here = path.first().is_some_and(|first| first == "crate");
        let top = if from_here { path.get(1) } else { path.get(climbed) };
        let counts = from_here || (climbed == depth && climbed > 0);
        top.filter(|_| counts).filter(|top| MODULES.iter().any(|row| row.0 == *top)).cloned()
    };
    paths(&without_tests(path)).iter().filter_map(from_root).collect()
}

/// `crates/engine/src/lane.rs` is `engine`, `lane`, and so is its `crate::lane`; `src/http/page.rs` is `http`, `page`.
pub(super) fn module_of(path: &Path) -> Vec<String> {
    let inside = path.strip_prefix(root()).unwrap_or(path).with_extension("");
    let parts = inside.iter().map(|part| part.to_string_lossy().into_owned());
    let mut parts: Vec<_> =
        parts.filter(|part| !["crates", "src"].contains(&part.as_str())).collect();
    if inside.starts_with("crates") && parts.last().is_some_and(|last| last == "lib") {
        parts.pop();
    }
    parts
}

#[test]
fn the_modules_have_an_order() {
    for (at, (module, allowed)) in MODULES.iter().enumerate() {
        let above: Vec<_> = MODULES.iter().take(at).map(|(name, _)| name).collect();
        let lower: Vec<_> = allowed.iter().filter(|name| !above.contains(name)).collect();
        assert!(lower.is_empty(), "{module} would know {lower:?}, which are not above it");
    }
}

/// The crates of the program that a crate of it depends on.
fn dependencies(of: &str) -> Vec<&'static str> {
    let manifest = text(&root().join("crates").join(of).join("Cargo.toml"));
    let table = manifest.split_once("\n[dependencies]\n").map_or("", |(_, rest)| rest);
    let table = table.split("\n[").next().unwrap_or_default();
    let names = |other: &&&str| {
        let forms = [format!("{other}.workspace = "), format!("{other} = ")];
        table.lines().any(|line| forms.iter().any(|form| line.starts_with(form.as_str())))
    };
    CRATES.iter().filter(names).copied().collect()
}

#[test]
fn the_documented_layers_are_the_layers() {
    let row = |name: &str, allowed: &[&str]| {
        let allowed: Vec<_> = allowed.iter().map(|name| format!("`{name}`")).collect();
        let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
        format!("| `{name}` | {allowed} |")
    };
    let crates = CRATES.iter().map(|name| row(name, &dependencies(name)));
    let documented = text(&root().join(ARCHITECTURE));
    let tables = [
        crates.collect::<Vec<_>>().join("\n"),
        MODULES.map(|(module, allowed)| row(module, allowed)).join("\n"),
    ];
    for table in tables {
        assert!(documented.contains(&table), "{ARCHITECTURE} has to hold these lines:\n{table}");
    }
}

#[test]
fn one_file_reads_what_nodes_say() {
    let reads = |path: &&PathBuf| {
        let shown = shown(path);
        let meant = ["node", "tron-node", "evm-node", "chain"]
            .iter()
            .any(|name| shown.starts_with(&format!("crates/{name}/")));
        let named = || paths(&without_tests(path));
        let of_json = |path: &Vec<String>| matches!(path.as_slice(), [first, .., last] if first == "serde_json" && last.starts_with("from_"));
        meant && !shown.contains("/tests") && named().iter().any(of_json)
    };
    let readers: Vec<String> = product().iter().filter(reads).map(|path| shown(path)).collect();
    assert_eq!(readers, ["crates/node/src/decode.rs"]);
}
