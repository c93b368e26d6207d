//! The documents name what exists, quote what the program says, and explain its states.

use super::none;
use super::rust::texts;
use super::tree::{documents, product, root, shown, text};
use billing::BatchState;
use strum::IntoEnumIterator;

/// Where the words for the states of a batch are explained.
const ARCHITECTURE: &str = "docs/architecture.md";

/// Where messages of the program are explained.
const INCIDENTS: &str = "docs/incidents.md";

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
                .map(|(_, name)| format!("{}: there is no {name}", shown(&path))),
        );
    }
    none(&faults);
}

#[test]
fn the_documented_states_are_the_states() {
    let documented = documented_states(&text(&root().join(ARCHITECTURE)));
    let real = BatchState::iter().map(|state| state.word().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        documented, real,
        "the section on states in {ARCHITECTURE} starts one line per state, in the order of the \
         code, with its word: - `open` … or | `open` | … |"
    );
}

#[test]
fn every_message_that_the_documents_quote_is_one_of_the_program() {
    let said: Vec<String> =
        product().iter().flat_map(|path| texts(&text(path))).map(|said| plain(&said)).collect();
    let quoted = quoted_messages(&text(&root().join(INCIDENTS)));
    assert!(quoted.len() > 10, "{quoted:?}");
    let unknown = quoted.iter().filter(|message| !said.iter().any(|said| fits(message, said)));
    let faults: Vec<_> =
        unknown.map(|message| format!("{INCIDENTS}: nothing says {message:?}")).collect();
    none(&faults);
}

/// What the program fills in is an ellipsis.
fn plain(said: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for letter in said.chars() {
        match letter {
            '{' if !inside => inside = true,
            '}' if inside => {
                plain.push('…');
                inside = false;
            }
            letter if !inside => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// Whether one text of the program has every part of a message, in order.
fn fits(message: &str, said: &str) -> bool {
    let mut rest = said;
    let mut parts =
        message.split('…').map(|part| part.trim_matches([' ', ':'])).filter(|part| part.len() > 1);
    parts.all(|part| {
        rest.split_once(part).is_some_and(|(_, after)| {
            rest = after;
            true
        })
    })
}

/// The first cells of the table whose head is "it says". Words that stand for a number are one letter.
fn quoted_messages(document: &str) -> Vec<String> {
    let rows = document.lines().skip_while(|line| !line.starts_with("| it says")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1))
        .map(|cell| {
            let words = cell.trim().split(' ').map(|word| match word {
                "n" | "m" | "(n" => "…",
                word => word,
            });
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

#[test]
fn the_documents_are_read() {
    let document = "See `src/a.rs`, src/b/{c,d}.rs:12 and https://x.y/src/no.rs. (tests/it/*) \
                    docs/z/. my_src/no [e](f.md#g) [h](https://i.j) [k](#l)";
    assert_eq!(
        named_paths(document),
        ["src/a.rs", "src/b/c.rs", "src/b/d.rs", "tests/it/", "docs/z/"]
    );
    assert_eq!(links(document), ["f.md"]);

    let chapters = "# States of the world\n## One\n- `no`\n# Batch states\n| word | x |\n|--|--|\n| `open` | y |\n\n- `shut`: z\n";
    assert_eq!(documented_states(chapters), ["open", "shut"]);

    let table = "| it says | do |\n|--|--|\n| … has sent n of m: why | wait |\n\n| other | x |";
    assert_eq!(
        quoted_messages(table),
        ["… has sent … of … why"].map(|said| said.replace("… why", "m: why"))
    );
    assert!(fits("… has sent … of", &plain("{} has sent {n} of {}")));
    assert!(!fits("sent … has", &plain("{} has sent {n}")));
}

/// Every path under a folder of ours that a document names, braces spelled out, stars cut off.
fn named_paths(document: &str) -> Vec<String> {
    let part_of_path = |c: char| c.is_alphanumeric() || "_-./{},*:".contains(c);
    document
        .split(|c| !part_of_path(c))
        .filter(|name| {
            ["src/", "crates/", "tests/", "config/", "docs/"].iter().any(|at| name.starts_with(at))
        })
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
