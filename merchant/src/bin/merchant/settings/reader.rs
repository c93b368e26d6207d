//! Reads values out of the file and the environment, and collects every fault instead of stopping at
//! the first.

use config_rs::{Config, File, FileFormat, Value, ValueKind};
use host::owner_only;
use secrecy::SecretString;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::io::{self, Read as _};
use std::time::Duration;

use super::PREFIX;

/// All values by their dotted names, and what is wrong with them so far.
pub(super) struct Reader {
    values: BTreeMap<String, String>,
    known: BTreeSet<String>,
    faults: Vec<String>,
}

/// One table of the configuration.
pub(super) struct Section<'a> {
    reader: &'a mut Reader,
    name: &'static str,
}

impl Reader {
    pub(super) fn new(file: &str, environment: Vec<(String, String)>) -> Self {
        let (mut values, mut faults) = (BTreeMap::new(), vec![]);
        let source = File::from_str(file, FileFormat::Toml);
        match Config::builder().add_source(source).build() {
            Ok(config) => flatten("", &config.cache, &mut values),
            Err(error) => faults.push(format!("the file: {error}")),
        }
        for (name, value) in environment {
            if let Some(rest) = name.strip_prefix(PREFIX) {
                values.insert(rest.to_ascii_lowercase().replace("__", "."), value);
            }
        }
        Self { values, known: BTreeSet::new(), faults }
    }

    /// The section, if anything is set in it.
    pub(super) fn section(&mut self, name: &'static str) -> Option<Section<'_>> {
        let prefix = format!("{name}.");
        let is_set = self.values.keys().any(|key| key.starts_with(&prefix));
        is_set.then_some(Section { reader: self, name })
    }

    /// The section, whether anything is set in it or not.
    pub(super) fn open(&mut self, name: &'static str) -> Section<'_> {
        Section { reader: self, name }
    }

    /// Ends the reading: what nobody asked for is a fault, too.
    pub(super) fn finish(mut self) -> Result<(), Vec<String>> {
        for name in self.values.keys().filter(|name| !self.known.contains(*name)) {
            self.faults.push(format!("{name}: there is no such setting"));
        }
        if self.faults.is_empty() { Ok(()) } else { Err(self.faults) }
    }
}

impl Section<'_> {
    /// A value that need not be there.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let name = format!("{}.{key}", self.name);
        let value = self.reader.values.get(&name).cloned();
        self.reader.known.insert(name);
        value
    }

    /// A value that must be there and not be empty.
    pub(super) fn required(&mut self, key: &str) -> Option<String> {
        let value = self.text(key).filter(|value| !value.is_empty());
        if value.is_none() {
            self.fault(key, "is missing");
        }
        value
    }

    /// An address that need not be there.
    pub(super) fn address(&mut self, key: &str) -> Option<String> {
        let text = self.text(key)?;
        if !["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)) {
            self.fault(key, "must begin with http:// or https://");
        }
        Some(text)
    }

    /// An address that must be there.
    pub(super) fn required_address(&mut self, key: &str) -> Option<String> {
        self.required(key)?;
        self.address(key)
    }

    /// Whole seconds, at least one.
    pub(super) fn seconds(&mut self, key: &str, default: u64) -> Duration {
        let Some(text) = self.text(key) else { return Duration::from_secs(default) };
        if let Ok(seconds @ 1..=3600) = text.parse() {
            return Duration::from_secs(seconds);
        }
        self.fault(key, "must be a whole number of seconds, 1 to 3600");
        Duration::from_secs(default)
    }

    /// A secret that stands there itself, or in a file that is named there; none where neither is, or
    /// where something is wrong with it.
    pub(super) fn secret(&mut self, key: &str, file_key: &str) -> Option<SecretString> {
        let (secret, from) = match (self.text(key), self.text(file_key)) {
            (Some(_), Some(_)) => {
                self.fault(key, &format!("is set beside {file_key}; keep one of the two"));
                return None;
            }
            (Some(secret), None) => (secret, key),
            (None, Some(path)) => {
                let text = self.checked(file_key, of_file(&path))?;
                (text.trim_end_matches(['\r', '\n']).to_owned(), file_key)
            }
            (None, None) => return None,
        };
        if secret.is_empty() {
            self.fault(from, "is empty");
            return None;
        }
        Some(SecretString::from(secret))
    }

    /// A secret that has to be there.
    pub(super) fn required_secret(&mut self) -> Option<SecretString> {
        let (inline, file) = (self.text("secret"), self.text("secret_file"));
        if inline.or(file).is_none() {
            let words = "is missing; give secret, or secret_file with the path of a file";
            self.fault("secret", words);
        }
        self.secret("secret", "secret_file")
    }

    /// The value, or a fault that says why there is none.
    pub(super) fn checked<T, E: Display>(&mut self, key: &str, value: Result<T, E>) -> Option<T> {
        value.map_err(|error| self.fault(key, &error.to_string())).ok()
    }

    /// Something is wrong with `key`.
    pub(super) fn fault(&mut self, key: &str, what: &str) {
        self.reader.faults.push(format!("{}.{key}: {what}", self.name));
    }
}

/// The text of a file that is its owner's alone.
fn of_file(path: &str) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("{path} cannot be read: {error}");
    let mut file = fs::File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    owner_only::check(&about).map_err(|why| format!("{path}: {why}"))?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn flatten(prefix: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match &value.kind {
        ValueKind::Table(table) => {
            for (key, value) in table {
                let dot = if prefix.is_empty() { "" } else { "." };
                flatten(&format!("{prefix}{dot}{key}"), value, into);
            }
        }
        ValueKind::Array(list) => {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            into.insert(prefix.to_owned(), list.join(","));
        }
        ValueKind::Nil
        | ValueKind::Boolean(_)
        | ValueKind::I64(_)
        | ValueKind::I128(_)
        | ValueKind::U64(_)
        | ValueKind::U128(_)
        | ValueKind::Float(_)
        | ValueKind::String(_) => {
            into.insert(prefix.to_owned(), value.to_string());
        }
    }
}
