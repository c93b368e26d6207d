//! The faults of a configuration: a list, so that one start shows all of them.
//!
//! A fault names a key and says what to do. It never quotes a value: any value may be a secret.

use std::cell::RefCell;
use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigError {
    /// The full path of the key (`chains.139.fees.max_fee_per_gas`), the name of an environment
    /// variable, or the path of a file.
    pub key: String,
    /// The problem, and what is expected instead. Never contains the value.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
    }
}

/// Everything that is wrong with a configuration: at least one fault, ordered by key. Nothing was
/// started, and displays as one line per fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// The faults, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// Proof that a fault was recorded: whoever holds one need not explain anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reported(());

/// The faults found so far.
#[derive(Debug, Default)]
pub(super) struct Faults(RefCell<Vec<ConfigError>>);

impl Faults {
    /// Records a fault.
    pub(super) fn add(&self, key: impl Into<String>, problem: impl Into<String>) -> Reported {
        self.0.borrow_mut().push(ConfigError { key: key.into(), problem: problem.into() });
        Reported(())
    }

    /// Returns what was read, whatever else was wrong: for callers that do not need the rest.
    pub(super) fn settle_read<T>(self, outcome: Result<T, Reported>) -> Result<T, ConfigErrors> {
        match outcome {
            Ok(read) => Ok(read),
            Err(reported) => self.settle(Err(reported)),
        }
    }

    /// The outcome: what was read, unless anything at all was wrong.
    pub(super) fn settle<T>(self, outcome: Result<T, Reported>) -> Result<T, ConfigErrors> {
        let mut faults = self.0.into_inner();
        match outcome {
            Ok(read) if faults.is_empty() => Ok(read),
            Ok(_) | Err(Reported(())) => {
                faults.sort();
                faults.dedup();
                Err(ConfigErrors(faults))
            }
        }
    }
}

/// The known word that was probably meant, if one is at most two typing errors away.
pub(super) fn nearest<'w>(
    typed: &str,
    known: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    let allowed = if typed.chars().count() < 4 { 1 } else { 2 };
    let candidates = known.into_iter().map(|word| (strsim::levenshtein(typed, word), word));
    candidates.filter(|(far, _)| *far <= allowed).min().map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_finds_its_neighbour() {
        let known = ["listen", "body_limit", "max_entries"];
        assert_eq!(nearest("lisen", known), Some("listen"));
        assert_eq!(nearest("max_entires", known), Some("max_entries"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("x", ["rpc"]), None);
        assert_eq!(nearest("rcp", ["rpc"]), None, "of a short word one letter may be wrong");
        assert_eq!(nearest("rp", ["rpc"]), Some("rpc"));
    }
}
