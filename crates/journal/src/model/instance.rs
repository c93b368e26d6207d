//! The processes that share a journal on a server.

use std::time::Duration;

/// One of them, as it was when the server was last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The name of the instance: `journal.instance`, or its machine.
    pub name: String,
    /// The first letters of the name of its start, which is another one each time.
    pub start: String,
    /// The version of its program.
    pub program: String,
    /// True if the instance has the journal: one has, or none.
    pub serves: bool,
    /// True if this is the instance that tells of it.
    pub is_this: bool,
    /// The time since the instance last said that it is there, by the server's clock.
    pub silent: Duration,
    /// The lead of the instance's clock over the server's then, ms.
    pub ahead_ms: i64,
    /// Why it could bill on no chain, as far as that is about its machine; none where it could.
    pub unfit: Option<String>,
    /// The settings that money depends on and that differ from those of the instance that serves, by name.
    pub differs: Vec<String>,
}

/// After how long somebody who says nothing is not counted on.
const COUNTED_ON: Duration = Duration::from_secs(5);

/// The greatest difference between a clock and the server's that is not reported.
const CLOCKS_MS: u64 = 5_000;

impl Instance {
    /// Returns true if the instance waits for the journal, and could bill if it had it.
    pub fn stands_by_and_could_serve(&self) -> bool {
        !self.serves && self.unfit.is_none() && self.silent < COUNTED_ON
    }

    /// Returns the trouble with the instance's clock; none if it is in step. Callers whose messages it judges hear
    /// 401 for as much as it is ahead.
    pub fn clock_trouble(&self) -> Option<String> {
        let seconds = self.ahead_ms.unsigned_abs().div_ceil(1000);
        let way = if self.ahead_ms > 0 { "ahead of" } else { "behind" };
        (self.ahead_ms.unsigned_abs() > CLOCKS_MS).then(|| {
            format!("its clock is {seconds} s {way} that of the journal's server: see to its time service")
        })
    }
}
