//! The number of connections that a port takes, and its timeouts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::Duration;
use tracing::warn;

/// File descriptors that connections leave alone: for files, and for whom the server asks itself.
const RESERVE: usize = 256;

/// More than that are never asked for.
const MOST_DESCRIPTORS: u64 = 1 << 16;

/// The fewest connections of a port, whatever the descriptors are.
const FEWEST: usize = 16;

/// The number of connections that a port takes, and its timeouts.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionPolicy {
    /// The most connections at once.
    pub connections: usize,
    /// The most of them from one address.
    pub of_one: usize,
    /// The longest time that a head may take, or a connection lie idle.
    pub header_timeout: Duration,
    /// The longest time that a client may read nothing of its answer.
    pub write_timeout: Duration,
    /// After how long the next answer is the last on its connection.
    pub lifetime: Duration,
}

impl ConnectionPolicy {
    /// The same with as many connections as the descriptors of the process allow.
    #[must_use]
    pub fn within_descriptors(self) -> Self {
        let allowed = descriptors().saturating_sub(RESERVE).max(FEWEST);
        if allowed < self.connections {
            let asked = self.connections;
            warn!(
                asked,
                "only {allowed} connections are taken at once: the process may have too few open \
                 files (ulimit -n)"
            );
        }
        let connections = self.connections.min(allowed);
        Self { connections, of_one: self.of_one.min(connections), ..self }
    }
}

/// Returns the number of descriptors that the process may have, after it has asked for the most allowed.
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(MOST_DESCRIPTORS, |most| most.min(MOST_DESCRIPTORS));
    let now = limit.current.unwrap_or(most);
    if now < most {
        let raised = Rlimit { current: Some(most), maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return usize::try_from(most).unwrap_or(usize::MAX);
        }
    }
    usize::try_from(now).unwrap_or(usize::MAX)
}
