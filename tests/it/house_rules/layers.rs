//! Which module may know which. The table in docs/architecture.md is this one.

use super::none;
use super::rust::{paths, without_tests};
use super::tree::{product, root, shown, text};
use std::path::Path;

/// What each module may know of the crate. Read from the top: nobody may know a module further down.
const LAYERS: [(&str, &[&str]); 17] = [
    ("billing", &[]),
    ("clock", &[]),
    ("owner_only", &[]),
    ("spans", &[]),
    ("tls", &["owner_only"]),
    ("config", &["billing", "clock", "owner_only", "tls"]),
    ("policy", &["billing", "config"]),
    ("auth", &["config"]),
    ("keys", &["billing", "clock", "config", "owner_only", "policy"]),
    ("journal", &["billing", "clock", "config", "owner_only", "policy", "spans"]),
    ("contract", &["billing", "config"]),
    ("node", &["config"]),
    ("chain", &["billing", "clock", "config", "contract", "journal", "keys", "node", "policy"]),
    ("engine", &["billing", "chain", "clock", "journal", "policy", "spans"]),
    ("telemetry", &["billing", "chain", "config", "engine", "journal", "node", "spans"]),
    (
        "http",
        &[
            "auth",
            "billing",
            "chain",
            "clock",
            "config",
            "engine",
            "journal",
            "node",
            "policy",
            "spans",
            "telemetry",
            "tls",
        ],
    ),
    (
        "app",
        &[
            "auth",
            "billing",
            "chain",
            "clock",
            "config",
            "contract",
            "engine",
            "http",
            "journal",
            "keys",
            "node",
            "owner_only",
            "policy",
            "telemetry",
            "tls",
        ],
    ),
];
/// Where the table stands for people.
const ARCHITECTURE: &str = "docs/architecture.md";

#[test]
fn no_module_knows_one_that_it_may_not() {
    let mut faults = vec![];
    for path in product() {
        let module = module_of(&path);
        if module.iter().any(|name| name == "tests") {
            continue; // tests may know what they need
        }
        let Some(top) = module.first().filter(|top| *top != "lib" && *top != "main") else {
            continue;
        };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == top) else {
            faults.push(format!("{}: {top} has no row in LAYERS", shown(&path)));
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

/// The modules at the root of the crate that a file names. It stands so many steps below the root.
fn known(path: &Path, depth: usize) -> Vec<String> {
    let from_root = |path: &Vec<String>| {
        let climbed = path.iter().take_while(|part| *part == "super").count();
        let from_here = path.first().is_some_and(|first| first == "crate");
        let top = if from_here { path.get(1) } else { path.get(climbed) };
        let counts = from_here || (climbed == depth && climbed > 0);
        top.filter(|_| counts).filter(|top| LAYERS.iter().any(|row| row.0 == *top)).cloned()
    };
    paths(&without_tests(path)).iter().filter_map(from_root).collect()
}

/// `src/engine/lane.rs` is `engine`, `lane`.
pub(super) fn module_of(path: &Path) -> Vec<String> {
    let inside = path.strip_prefix(root().join("src")).unwrap_or(path).with_extension("");
    inside.iter().map(|part| part.to_string_lossy().into_owned()).collect()
}

#[test]
fn the_layers_have_an_order() {
    for (at, (module, allowed)) in LAYERS.iter().enumerate() {
        let above: Vec<_> = LAYERS.iter().take(at).map(|(name, _)| name).collect();
        let lower: Vec<_> = allowed.iter().filter(|name| !above.contains(name)).collect();
        assert!(lower.is_empty(), "{module} would know {lower:?}, which are not above it");
    }
}

#[test]
fn the_documented_layers_are_the_layers() {
    let rows = LAYERS.iter().filter(|(module, _)| root().join(format!("src/{module}.rs")).exists());
    let table = rows.map(|(module, allowed)| {
        let allowed: Vec<_> = allowed.iter().map(|name| format!("`{name}`")).collect();
        let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
        format!("| `{module}` | {allowed} |")
    });
    let table = table.collect::<Vec<_>>().join("\n");
    let documented = text(&root().join(ARCHITECTURE));
    assert!(documented.contains(&table), "{ARCHITECTURE} has to hold these lines:\n{table}");
}

/// What a node says is read in one place, which has a budget.
#[test]
fn one_file_reads_what_nodes_say() {
    let reads = |path: &&std::path::PathBuf| {
        let shown = shown(path);
        let meant = shown.starts_with("src/node") || shown.starts_with("src/chain");
        let named = || paths(&without_tests(path));
        let of_json = |path: &Vec<String>| matches!(path.as_slice(), [first, .., last] if first == "serde_json" && last.starts_with("from_"));
        meant && !shown.contains("/tests") && named().iter().any(of_json)
    };
    let readers: Vec<String> = product().iter().filter(reads).map(|path| shown(path)).collect();
    assert_eq!(readers, ["src/node/decode.rs"]);
}
