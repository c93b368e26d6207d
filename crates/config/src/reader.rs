//! Walks the merged tree: hands out typed values, records every fault with the full path of its
//! key, and knows in the end which keys nobody asked for.
//!
//! Knows no key by name and no default.

use std::collections::{BTreeMap, BTreeSet};

use config_rs::{Map, Value, ValueKind};

use super::faults::{Faults, Reported, nearest};
use super::kinds::{Expected, as_scalar, noun};

/// A table of the tree and where it is.
#[derive(Clone)]
pub(super) struct Table<'t> {
    path: String,
    values: Option<&'t Map<String, Value>>,
}

impl<'t> Table<'t> {
    /// A tree of its own, under the words that a fault in it is told with. Empty if it is no table.
    pub(super) fn of(path: &str, tree: &'t Value) -> Self {
        let values = if let ValueKind::Table(values) = &tree.kind { Some(values) } else { None };
        Self { path: path.to_owned(), values }
    }

    fn get(&self, key: &str) -> Option<&'t Value> {
        self.values.and_then(|values| values.get(key))
    }

    fn path_of(&self, key: &str) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let key = if !key.is_empty() && key.bytes().all(plain) {
            key.to_owned()
        } else {
            format!("{key:?}")
        };
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    /// The table at a key; an empty one if there is none.
    fn child(&self, key: &str, faults: &Faults) -> Result<Self, Reported> {
        let path = self.path_of(key);
        match self.get(key) {
            None => Ok(Self { path, values: None }),
            Some(Value { kind: ValueKind::Table(values), .. }) => {
                Ok(Self { path, values: Some(values) })
            }
            Some(value) => Err(complain(faults, &path, value, "a table")),
        }
    }

    fn keys(&self) -> BTreeSet<&'t str> {
        self.values.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }
}

/// Reads one table, and what it lacks from others, of which the first that has it counts.
pub(super) struct TableReader<'t> {
    own: Table<'t>,
    fallbacks: Vec<Table<'t>>,
    asked: BTreeSet<&'static str>,
    faults: &'t Faults,
}

impl<'t> TableReader<'t> {
    /// Reads a whole tree.
    pub(super) fn read_all<T>(
        tree: &'t Value,
        faults: &'t Faults,
        read: impl FnOnce(&mut Self) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        Self::over(Table::of("", tree), Vec::new(), faults).finish(read)
    }

    fn over(own: Table<'t>, fallbacks: Vec<Table<'t>>, faults: &'t Faults) -> Self {
        Self { own, fallbacks, asked: BTreeSet::new(), faults }
    }

    /// A value that must be there.
    pub(super) fn get<T>(&mut self, key: &'static str, kind: &Expected<T>) -> Result<T, Reported> {
        match self.optional(key, kind)? {
            Some(read) => Ok(read),
            None => Err(self.fault(key, format!("missing; expected {}", kind.expects))),
        }
    }

    /// A value that may be left out.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        kind: &Expected<T>,
    ) -> Result<Option<T>, Reported> {
        let Some((path, value)) = self.find(key) else { return Ok(None) };
        match (kind.parse)(value) {
            Ok(read) => Ok(Some(read)),
            Err(why) => Err(complain_of(
                self.faults,
                &path,
                value,
                &format!("{why}; expected {}", kind.expects),
            )),
        }
    }

    /// One or several values of a kind: a list, or text with blanks between the values (an
    /// environment variable knows no lists). Every bad one is told, by its place. Empty if left out.
    pub(super) fn several<T>(
        &mut self,
        key: &'static str,
        kind: &Expected<T>,
    ) -> Result<Vec<T>, Reported> {
        let Some((path, value)) = self.find(key) else { return Ok(Vec::new()) };
        let parts: Vec<Value> = if let ValueKind::Array(parts) = &value.kind {
            parts.clone()
        } else if let ValueKind::String(text) = &value.kind
            && text.split_whitespace().count() > 1
        {
            let origin = value.origin().map(str::to_owned);
            text.split_whitespace().map(|part| Value::new(origin.as_ref(), part)).collect()
        } else {
            return self.optional(key, kind).map(|read| read.into_iter().collect());
        };
        let read = parts.iter().enumerate().map(|(place, part)| {
            (kind.parse)(part).map_err(|why| {
                let problem = format!("{why}; expected {}", kind.expects);
                complain_of(self.faults, &format!("{path}[{place}]"), value, &problem)
            })
        });
        // All of them are read before the first fault ends it, so that every fault is told.
        read.collect::<Vec<_>>().into_iter().collect()
    }

    /// A value for comparisons with other tables: faults in it are left to whoever reads it.
    pub(super) fn peek<T>(&self, key: &'static str, kind: &Expected<T>) -> Option<T> {
        let value = self.tables().find_map(|table| table.get(key))?;
        (kind.parse)(value).ok()
    }

    /// Returns true if the key is set, here or in the table to fall back on.
    pub(super) fn has(&self, key: &str) -> bool {
        self.tables().any(|table| table.get(key).is_some())
    }

    /// A table inside this one. An absent one reads as an empty one.
    pub(super) fn section<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        self.asked.insert(key);
        let own = self.own.child(key, self.faults);
        let fallbacks = self.fallbacks.iter().map(|table| table.child(key, self.faults));
        let fallbacks = fallbacks.collect::<Result<_, _>>();
        Self::over(own?, fallbacks?, self.faults).finish(read)
    }

    /// The tables inside a table, by name: `[chains.139]`, `[callers.scheduler]`.
    pub(super) fn each<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&str, &mut Self) -> Result<T, Reported>,
    ) -> Result<Vec<Result<T, Reported>>, Reported> {
        self.asked.insert(key);
        let all = self.own.child(key, self.faults)?;
        let read_one = |name| {
            let own = all.child(name, self.faults)?;
            Self::over(own, Vec::new(), self.faults).finish(|reader| read(name, reader))
        };
        Ok(all.keys().into_iter().map(read_one).collect())
    }

    /// The tables in a list: `nodes = [{ … }, { … }]`. None where the key is not set.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<T, Reported>,
    ) -> Result<Option<Vec<T>>, Reported> {
        let Some((path, value)) = self.find(key) else { return Ok(None) };
        let ValueKind::Array(parts) = &value.kind else {
            return Err(complain(self.faults, &path, value, "a list of tables"));
        };
        let tables = parts.iter().enumerate().map(|(place, part)| {
            let path = format!("{path}[{place}]");
            let ValueKind::Table(values) = &part.kind else {
                let problem = format!("is {}; expected a table", noun(part));
                return Err(complain_of(self.faults, &path, value, &problem));
            };
            Self::over(Table { path, values: Some(values) }, Vec::new(), self.faults)
                .finish(&mut read)
        });
        // All of them are read before the first fault ends it, so that every fault is told.
        tables.collect::<Vec<_>>().into_iter().collect::<Result<_, _>>().map(Some)
    }

    /// A table of free names with simple values, all as text.
    pub(super) fn words(
        &mut self,
        key: &'static str,
        judge: impl Fn(&str, &str) -> Result<(), String>,
    ) -> Result<BTreeMap<String, String>, Reported> {
        self.asked.insert(key);
        let own = self.own.child(key, self.faults)?;
        let fallbacks = self.fallbacks.iter().rev().map(|table| table.child(key, self.faults));
        let fallbacks: Vec<Table<'t>> = fallbacks.collect::<Result<_, _>>()?;
        let mut words = BTreeMap::new();
        let mut outcome = Ok(());
        for table in fallbacks.iter().chain([&own]) {
            for name in table.keys() {
                let Some(value) = table.get(name) else { continue };
                match as_scalar(value).and_then(|text| judge(name, &text).map(|()| text)) {
                    Ok(text) => drop(words.insert(name.to_owned(), text)),
                    Err(why) => {
                        outcome = Err(complain_of(self.faults, &table.path_of(name), value, &why));
                    }
                }
            }
        }
        self.refuse_twins(&own, &words).and(outcome).map(|()| words)
    }

    /// Two names that differ only in case are one name and a slip: variables are written in
    /// capitals, and a key they cannot find is made anew in lower case.
    fn refuse_twins(
        &self,
        own: &Table<'t>,
        words: &BTreeMap<String, String>,
    ) -> Result<(), Reported> {
        let mut seen = BTreeMap::new();
        let mut outcome = Ok(());
        for name in words.keys() {
            if let Some(twin) = seen.insert(name.to_ascii_lowercase(), name) {
                let problem = format!("differs from \"{twin}\" only in upper and lower case");
                outcome = Err(self.faults.add(own.path_of(name), problem));
            }
        }
        outcome
    }

    /// The table at a key, for other readers to fall back on.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Table<'t>, Reported> {
        self.asked.insert(key);
        self.own.child(key, self.faults)
    }

    /// From here on, what this table lacks is looked up in another, before those added earlier.
    pub(super) fn fall_back_on(&mut self, other: &Table<'t>) {
        self.fallbacks.insert(0, other.clone());
    }

    /// All tables, the first that has a key before those that it is not looked up in any more.
    fn tables(&self) -> impl Iterator<Item = &Table<'t>> {
        std::iter::once(&self.own).chain(&self.fallbacks)
    }

    /// Records a fault of a key.
    pub(super) fn fault(&self, key: &str, problem: impl Into<String>) -> Reported {
        self.faults.add(self.own.path_of(key), problem)
    }

    /// Records a fault of something that is not a key of this table.
    pub(super) fn fault_at(&self, path: &str, problem: impl Into<String>) -> Reported {
        self.faults.add(path, problem)
    }

    /// The full path of this table.
    pub(super) fn path(&self) -> String {
        self.own.path.clone()
    }

    /// Declares these keys known, though nobody reads them.
    pub(super) fn know(&mut self, keys: &[&'static str]) {
        self.asked.extend(keys);
    }

    /// Declares every key of this table known, for a table that is refused as a whole.
    pub(super) fn ignore_the_rest(&mut self) {
        self.own.values = None;
        self.fallbacks.clear();
    }

    fn find(&mut self, key: &'static str) -> Option<(String, &'t Value)> {
        self.asked.insert(key);
        self.tables().find_map(|table| Some((table.path_of(key), table.get(key)?)))
    }

    fn finish<T>(
        mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        let outcome = read(&mut self);
        for table in self.tables() {
            for key in table.keys().into_iter().filter(|key| !self.asked.contains(key)) {
                let asked = self.asked.iter().copied();
                let problem = match nearest(key, asked.clone()) {
                    Some(word) => format!("unknown key; did you mean \"{word}\"?"),
                    None => {
                        format!("unknown key; known here: {}", asked.collect::<Vec<_>>().join(", "))
                    }
                };
                self.faults.add(table.path_of(key), problem);
            }
        }
        outcome
    }
}

fn complain(faults: &Faults, path: &str, value: &Value, expected: &str) -> Reported {
    complain_of(faults, path, value, &format!("is {}; expected {expected}", noun(value)))
}

fn complain_of(faults: &Faults, path: &str, value: &Value, problem: &str) -> Reported {
    match value.origin() {
        Some(variable) => faults.add(path, format!("{problem} (set by {variable})")),
        None => faults.add(path, problem),
    }
}
