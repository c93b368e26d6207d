//! The rules that the compiler does not hold: which module may know which, how long a file may be,
//! and that the documents speak of what exists.
//!
//! Reads the sources as text and needs nothing else of the crate but the words for batch states.

use merchant_signer::billing::BatchState;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may know of the crate. Read from the top: nobody may know a module further down.
const LAYERS: [(&str, &[&str]); 15] = [
    ("billing", &[]),
    ("clock", &[]),
    ("config", &["billing"]),
    ("policy", &["billing", "config"]),
    ("auth", &["config"]),
    ("keys", &["policy"]),
    ("journal", &["billing", "clock", "config", "policy"]),
    ("contract", &["billing", "config"]),
    ("node", &["config"]),
    ("chain", &["billing", "clock", "config", "contract", "journal", "keys", "node", "policy"]),
    ("engine", &["billing", "chain", "clock", "journal", "policy"]),
    ("telemetry", &["config", "engine"]),
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
            "telemetry",
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
            "policy",
            "telemetry",
        ],
    ),
    // Only the tests have it.
    (
        "simulator",
        &["billing", "chain", "clock", "config", "contract", "engine", "journal", "node", "policy"],
    ),
];

/// A file is one page on one subject.
const LONGEST: usize = 400;

/// Where the words for the states of a batch are explained.
const ARCHITECTURE: &str = "docs/architecture.md";

#[test]
fn no_module_knows_one_that_it_may_not() {
    let mut faults = vec![];
    for path in sources() {
        let module = module_of(&path);
        if module.iter().any(|name| name == "tests") {
            continue; // tests may know what they need
        }
        let Some(top) = module.first().filter(|top| *top != "lib" && *top != "main") else {
            continue;
        };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == top) else {
            faults.push(format!("{}: {top} has no row in LAYERS", path.display()));
            continue;
        };
        let known = known_modules(&without_tests(&code(&text(&path))), module.len());
        faults.extend(
            known
                .iter()
                .filter(|name| *name != top && !allowed.contains(&name.as_str()))
                .map(|name| format!("{}: {top} may not know {name}", path.display())),
        );
    }
    none(&faults);
}

#[test]
fn the_families_of_chains_know_nothing_of_each_other() {
    let mut faults = vec![];
    for (family, other) in [("evm", "tron"), ("tron", "evm")] {
        let of_family =
            |path: &PathBuf| module_of(path).starts_with(&["chain".into(), family.into()]);
        for path in sources().into_iter().filter(of_family) {
            let code = code(&text(&path));
            let names = [format!("chain::{other}"), format!("super::{other}::")];
            faults.extend(
                names
                    .iter()
                    .filter(|name| code.contains(name.as_str()))
                    .map(|name| format!("{}: {family} may not know {name}", path.display())),
            );
        }
    }
    none(&faults);
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
fn a_file_is_one_page_and_says_on_what() {
    let mut faults = vec![];
    let sandbox = files(&root().join("crates/chains/src"), "rs");
    for path in sources().into_iter().chain(sandbox) {
        let text = text(&path);
        let lines = text.lines().count();
        if lines > LONGEST {
            faults.push(format!("{}: {lines} lines, {LONGEST} are allowed", path.display()));
        }
        // `tests.rs` belongs to the file that it tests.
        if !text.starts_with("//!") && !path.ends_with("tests.rs") {
            faults.push(format!("{}: does not open with //!", path.display()));
        }
    }
    none(&faults);
}

#[test]
fn what_the_documents_name_exists() {
    let mut faults = vec![];
    for path in documents() {
        let text = text(&path);
        let folder = path.parent().unwrap();
        let in_tree = named_paths(&text).into_iter().map(|name| (root().join(&name), name));
        let linked = links(&text).into_iter().map(|name| (folder.join(&name), name));
        faults.extend(
            in_tree
                .chain(linked)
                .filter(|(target, _)| !target.exists())
                .map(|(_, name)| format!("{}: there is no {name}", path.display())),
        );
    }
    none(&faults);
}

#[test]
fn the_documented_states_are_the_states() {
    let path = root().join(ARCHITECTURE);
    if !path.exists() {
        return;
    }
    let documented: Vec<_> = documented_states(&text(&path));
    let real = BatchState::ALL.map(|state| state.word().to_owned());
    assert_eq!(
        documented, real,
        "the section on states in {ARCHITECTURE} starts one line per state, in the order of the \
         code, with its word: - `open` … or | `open` | … |"
    );
}

/// A rule that reads nothing finds no fault.
#[test]
fn the_rules_can_see() {
    assert!(sources().len() > 30 && !documents().is_empty());

    let source = r##"
        use crate::{chain::{evm, tron}, journal};
        // use crate::comment;
        fn f<'a>(x: &'a str) -> char { let _ = (r#"crate::raw"#, "crate::\"text", '"'); '{' }
        fn g() { crate::keys::sign(); super::super::http::x(); super::sibling::y(); }
        #[cfg(test)]
        mod tests { use crate::config; fn h() { if true { } } }
        fn after() { crate::auth::check() }
        #[cfg(test)]
        use crate::clock;
    "##;
    let known = known_modules(&without_tests(&code(source)), 2);
    assert_eq!(known, ["auth", "chain", "http", "journal", "keys"].map(str::to_owned).into());

    let document = "See `src/a.rs`, src/b/{c,d}.rs:12 and https://x.y/src/no.rs. (tests/it/*) \
                    docs/z/. my_src/no [e](f.md#g) [h](https://i.j) [k](#l)";
    assert_eq!(
        named_paths(document),
        ["src/a.rs", "src/b/c.rs", "src/b/d.rs", "tests/it/", "docs/z/"]
    );
    assert_eq!(links(document), ["f.md"]);

    let chapters = "# States of the world\n## One\n- `no`\n# Batch states\n| word | x |\n|--|--|\n| `open` | y |\n\n- `shut`: z\n";
    assert_eq!(documented_states(chapters), ["open", "shut"]);
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

// Files

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under `src`.
fn sources() -> Vec<PathBuf> {
    files(&root().join("src"), "rs")
}

/// Every document that speaks of the tree.
fn documents() -> Vec<PathBuf> {
    let mut found = files(&root().join("docs"), "md");
    found.extend(Some(root().join("README.md")).filter(|readme| readme.exists()));
    found
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|ending| ending == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("{}: {error}", path.display()))
}

// Rust, as far as the rules need it

/// `src/engine/lane.rs` is `engine`, `lane`.
fn module_of(path: &Path) -> Vec<String> {
    let inside = path.strip_prefix(root().join("src")).unwrap_or(path).with_extension("");
    inside.iter().map(|part| part.to_string_lossy().into_owned()).collect()
}

/// The source without its comments and texts: what they say binds nobody.
fn code(source: &str) -> String {
    let mut kept = String::new();
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let in_a_word = kept.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let silent = after_silence(rest, in_a_word);
        kept.push(if silent.is_some() { ' ' } else { next });
        rest = silent.or_else(|| rest.strip_prefix(next)).unwrap_or_default();
    }
    kept
}

/// What follows the comment or text that the source begins with, if it begins with one.
fn after_silence(source: &str, in_a_word: bool) -> Option<&str> {
    let past = |text: &str, end: &str| text.split_once(end).map_or(0, |(_, after)| after.len());
    let left = if source.starts_with("//") {
        source.find('\n').map_or(0, |at| source.len().saturating_sub(at))
    } else if let Some(comment) = source.strip_prefix("/*") {
        past(comment, "*/")
    } else if let Some(text) = source.strip_prefix('"') {
        after_quote(text).len()
    } else if let Some(letter) = source.strip_prefix("'\\") {
        // The escaped letter may itself be a quotation mark.
        let mut letters = letter.chars();
        letters.next();
        past(letters.as_str(), "'")
    } else if source.starts_with('\'') {
        // A letter in quotation marks; otherwise it is a lifetime.
        let mut letters = source.chars();
        (letters.nth(2) == Some('\'')).then_some(letters.as_str().len())?
    } else {
        let raw = source.strip_prefix('r').filter(|_| !in_a_word)?;
        let text = raw.trim_start_matches('#');
        let fence = "#".repeat(raw.len().saturating_sub(text.len()));
        past(text.strip_prefix('"')?, &format!("\"{fence}"))
    };
    source.get(source.len().saturating_sub(left)..)
}

/// What follows a text whose opening quotation mark has been read.
fn after_quote(text: &str) -> &str {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => drop(letters.next()),
            _ => {}
        }
    }
    letters.as_str()
}

/// The code without the items that only tests have.
fn without_tests(code: &str) -> String {
    let mut parts = code.split("#[cfg(test)]");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut depth = 0_i32;
        let end = part.char_indices().find(|(_, letter)| {
            match letter {
                '{' => depth = depth.saturating_add(1),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(letter, '}' | ';')
        });
        let after = end.and_then(|(at, last)| part.get(at.saturating_add(last.len_utf8())..));
        kept.push_str(after.unwrap_or_default());
    }
    kept
}

/// The modules at the root of the crate that this code names. It stands in a file so many steps below
/// the root.
fn known_modules(code: &str, depth: usize) -> BTreeSet<String> {
    let climb = "super::".repeat(depth);
    let from_here = code.split("crate::").skip(1);
    let from_above = code
        .match_indices(&climb)
        .filter(|(at, _)| code.get(..*at).is_some_and(|before| !before.ends_with("super::")))
        .filter_map(|(at, _)| code.get(at.saturating_add(climb.len())..));
    let all = from_here.flat_map(heads).map(str::to_owned);
    // Tests beside the code climb one step more than their file: only the names of layers count.
    let above = from_above.flat_map(heads).filter(|name| LAYERS.iter().any(|row| row.0 == *name));
    all.chain(above.map(str::to_owned)).collect()
}

/// The first names of a path: one, or several when they stand in braces.
fn heads(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return word(path).into_iter().collect();
    };
    let mut depth = 0_i32;
    let mut starts = vec![group];
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth = depth.saturating_add(1),
            '}' if depth == 0 => break,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => starts.extend(group.get(at.saturating_add(1)..)),
            _ => {}
        }
    }
    starts.into_iter().filter_map(word).collect()
}

/// The name that the text begins with.
fn word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '*')
        .next()
        .filter(|w| !w.is_empty())
}

// Markdown, as far as the rules need it

/// Every path under a folder of ours that a document names, braces spelled out, stars cut off.
fn named_paths(document: &str) -> Vec<String> {
    let part_of_path = |c: char| c.is_alphanumeric() || "_-./{},*:".contains(c);
    document
        .split(|c| !part_of_path(c))
        .filter(|name| ["src/", "tests/", "config/", "docs/"].iter().any(|at| name.starts_with(at)))
        .map(|name| name.split(['*', ':']).next().unwrap_or(name).trim_end_matches(['.', ',']))
        .filter(|name| !name.contains("node_modules"))
        .flat_map(spelled_out)
        .collect()
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn spelled_out(name: &str) -> Vec<String> {
    let parts =
        name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        None => vec![name.to_owned()],
        Some((before, (choices, after))) => choices
            .split(',')
            .flat_map(|choice| spelled_out(&format!("{before}{choice}{after}")))
            .collect(),
    }
}

/// The files that a document links to.
fn links(document: &str) -> Vec<String> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .map(str::to_owned)
        .collect()
}

/// The words that open the rows and points under the last heading that speaks of states.
fn documented_states(document: &str) -> Vec<String> {
    let mut found = vec![];
    let mut inside = false;
    for line in document.lines() {
        if line.starts_with('#') {
            inside = line.to_lowercase().contains("state");
            if inside {
                found.clear();
            }
        } else if inside && line.starts_with(['|', '-', '*']) {
            let word = line.trim_start_matches(['|', '-', '*', ' ']).strip_prefix('`');
            found.extend(
                word.and_then(|word| word.split_once('`')).map(|(word, _)| word.to_owned()),
            );
        }
    }
    found
}
