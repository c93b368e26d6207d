//! Lays the sources over each other: the built-in defaults, then the file, then the environment.
//!
//! Judges no value. Knows only where each came from.

use std::collections::BTreeSet;

use config_rs::{Config, ConfigError, File, FileFormat, FileSourceString, Map, Value, ValueKind};

use super::faults::{Faults, Reported};
use super::incumbent;
use super::tree::{self, Walk};

/// The first layer, and the only place where a default is written down.
const DEFAULTS: &str = include_str!("../../../config/default.toml");

/// The prefix of our environment variables, and the separator of their parts.
const PREFIX: &str = "SIGNER__";
const SEPARATOR: &str = "__";

/// The names of keys that hold a secret themselves.
const SECRET_KEYS: [&str; 2] = ["secret", "api_key"];

/// A URL that may hold a password.
const SECRET_URL: &str = "journal.url";

/// Environment variables: name and value.
pub(super) type Environment = [(String, String)];

/// Returns true if an environment variable overrides a key of the configuration.
pub(super) fn is_override(name: &str) -> bool {
    name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Returns the name that was meant by a variable that is an override but for an underscore after `SIGNER`. Others set
/// variables of a single underscore everywhere (Kubernetes does for a service of that name) and are not ours.
pub(super) fn meant(name: &str) -> Option<String> {
    let short = PREFIX.len().checked_sub(1)?;
    let begins = name.get(..short)?.eq_ignore_ascii_case(PREFIX.get(..short)?);
    let rest = name.get(short..)?;
    (begins && !is_override(name) && rest.contains(SEPARATOR)).then(|| format!("{PREFIX}{rest}"))
}

/// All layers as one tree. Its root is a table.
pub(super) fn merge(
    file: &str,
    environment: &Environment,
    faults: &Faults,
) -> Result<Value, Reported> {
    let source =
        |text| -> File<FileSourceString, FileFormat> { File::from_str(text, FileFormat::Toml) };
    let layers = Config::builder().add_source(source(DEFAULTS)).add_source(source(file));
    let mut tree = layers
        .build()
        .map_err(|error| faults.add("the configuration file", explain(&error)))?
        .cache;
    incumbent::fill_in(&mut tree, environment);
    overlay(&mut tree, environment, faults);
    Ok(tree)
}

/// The paths of the keys in the text of a file that hold a secret themselves.
pub(super) fn secrets_in(file: &str) -> Vec<String> {
    let source: File<FileSourceString, FileFormat> = File::from_str(file, FileFormat::Toml);
    let Ok(mut tree) = Config::builder().add_source(source).build() else { return Vec::new() };
    let mut found = Vec::new();
    tree::entries(&mut tree.cache, "", &mut |path, name, _| {
        let below = tree::below(path, name);
        if SECRET_KEYS.contains(&name) || below == SECRET_URL {
            found.push(below);
            return Walk::Past;
        }
        Walk::Inside
    });
    found
}

fn overlay(tree: &mut Value, environment: &Environment, faults: &Faults) {
    for (name, _) in environment {
        if let Some(meant) = meant(name) {
            faults.add(name, format!("an underscore is missing; write {meant}"));
        }
    }
    let mut ours: Vec<_> = environment.iter().filter(|(name, _)| is_override(name)).collect();
    ours.sort();
    let mut seen = BTreeSet::new();
    for (name, text) in ours {
        if !seen.insert(name.to_ascii_lowercase()) {
            faults.add(name, "set twice, in upper and in lower case; keep one of the two");
            continue;
        }
        let path: Vec<&str> =
            name.get(PREFIX.len()..).unwrap_or_default().split(SEPARATOR).collect();
        let value = Value::new(Some(name), text.as_str());
        if let Err(problem) = place(tree, &path, value) {
            faults.add(name, problem);
        }
    }
}

/// Puts a value at a path, through and over whatever is in the way.
fn place(at: &mut Value, path: &[&str], value: Value) -> Result<(), &'static str> {
    let Some((head, rest)) = path.split_first() else {
        *at = value;
        return Ok(());
    };
    if !matches!(at.kind, ValueKind::Table(_)) {
        at.kind = ValueKind::Table(Map::new());
    }
    let ValueKind::Table(table) = &mut at.kind else { return Ok(()) };
    let key = spelling(table, head)?;
    let next = table.entry(key).or_insert_with(|| Value::new(None, ValueKind::Nil));
    place(next, rest, value)
}

/// The key as the layers below spell it, since variables are written in capitals. New keys are
/// lower case.
fn spelling(table: &Map<String, Value>, typed: &str) -> Result<String, &'static str> {
    if typed.is_empty() {
        return Err("a part of the name is empty; write SIGNER__SECTION__KEY");
    }
    let mut known = table.keys().filter(|key| key.eq_ignore_ascii_case(typed));
    match (known.next(), known.next()) {
        (Some(_), Some(_)) => Err("could mean two keys that differ only in upper and lower case"),
        (Some(key), None) => Ok(key.clone()),
        (None, _) => Ok(typed.to_ascii_lowercase()),
    }
}

/// Describes the fault in the text, without the line it is in: that line may hold a secret.
fn explain(error: &ConfigError) -> String {
    let text = if let ConfigError::FileParse { cause, .. } = error {
        cause.to_string()
    } else {
        return "cannot be read as TOML".to_owned();
    };
    if text.contains("number too ") {
        return "a whole number is larger than TOML allows; write amounts and addresses as text, \
                in quotes, such as \"10 ether\""
            .to_owned();
    }
    let place = text.lines().next().and_then(|line| line.rsplit_once(" at "));
    let is_quote = |line: &&str| {
        line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()).starts_with('|')
    };
    let reason = text.lines().skip(1).filter(|line| !is_quote(line)).collect::<Vec<_>>().join(" ");
    match place {
        Some((_, place)) => format!("not valid TOML at {place}: {}", reason.trim()),
        None => "not valid TOML".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(file: &str) -> String {
        let faults = Faults::default();
        let outcome = merge(file, &[], &faults);
        faults.settle(outcome).unwrap_err().to_string()
    }

    #[test]
    fn a_broken_file_is_located_but_not_quoted() {
        let text = complaint("[callers.a]\nkey = \"K\"\nsecret = \"hunter2-hunter2-hunter2\n");
        assert!(text.contains("line 3"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        let text = complaint("secret = hunter2 | hunter2\n");
        assert!(!text.contains("hunter2"), "{text}");
        assert!(complaint("a = 1\na = 2").contains("duplicate key"));
        assert!(complaint("a = 10000000000000000000").contains("10 ether"));
    }

    #[test]
    fn variables_find_keys_whatever_their_case() {
        let faults = Faults::default();
        let env = [("SIGNER__A__MERKEY", "2"), ("SIGNER__A__NEW__Deep", "3"), ("OTHER__A", "4")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let tree = merge("[a]\nmerKey = '1'", &env, &faults).unwrap();
        faults.settle(Ok(())).unwrap();
        let text = format!("{tree:?}");
        assert!(text.contains("merKey") && text.contains("\"2\"") && text.contains("\"deep\""));
        assert!(!text.contains("merkey") && !text.contains("\"1\"") && !text.contains("\"4\""));
    }

    #[test]
    fn a_doubtful_variable_is_refused() {
        let faults = Faults::default();
        let env = [
            ("SIGNER__A__B", "1"),
            ("signer__a__b", "2"),
            ("SIGNER__A____B", "3"),
            ("SIGNER__A__XY", "4"),
            ("SIGNER_A__B", "5"),
            ("SIGNER_A_SERVICE_HOST", "10.0.0.1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        merge("[a]\nxY = 1\nXy = 2", &env, &faults).unwrap();
        let errors = faults.settle(Ok(())).unwrap_err();
        let keys: Vec<_> = errors.iter().map(|error| error.key.as_str()).collect();
        assert_eq!(keys, ["SIGNER_A__B", "SIGNER__A__XY", "SIGNER__A____B", "signer__a__b"]);
        assert!(errors.to_string().contains("write SIGNER__A__B"));
    }
}
