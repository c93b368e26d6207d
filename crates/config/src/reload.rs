//! Another configuration for a process that runs.

use super::stated::can_be_reloaded;
use super::{Config, ConfigError};

/// The changes that another configuration makes, by the keys' paths: no value is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Every key whose value is another one, or is new, or is gone.
    pub keys: Vec<String>,
}

impl Changes {
    /// Returns true if the chains are concerned, and not callers and log lines alone.
    pub fn concern_chains(&self) -> bool {
        self.keys.iter().any(|key| key.starts_with("chain"))
    }
}

impl Config {
    /// Returns the changes that `next` makes; a fault for every change that needs a restart.
    pub fn changes(&self, next: &Self) -> Result<Changes, Vec<ConfigError>> {
        let differing = self.stated.differing(&next.stated);
        let (keys, fixed): (Vec<_>, Vec<_>) =
            differing.into_iter().partition(|key| can_be_reloaded(key));
        if fixed.is_empty() {
            return Ok(Changes { keys });
        }
        let problem = || "cannot change while the Signer runs: restart it".to_owned();
        Err(fixed.into_iter().map(|key| ConfigError { key, problem: problem() }).collect())
    }
}
