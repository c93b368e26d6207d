//! Waiting for what must come, and giving up on what does not.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often something is asked before it is given up, at some pause. What comes is not waited for any longer; a
/// machine that has many times its cores to do takes minutes for what takes seconds else.
pub(crate) const ASKED_AT_MOST: usize = 4_800;

/// How long is waited where nothing is asked, for the same reason.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Asks until it is so; `what` is said when it never is.
pub(crate) async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..ASKED_AT_MOST {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it never happened that {what}");
}

/// This machine's time (Unix ms).
#[expect(clippy::disallowed_methods, reason = "the world has a clock of its own")]
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// A stream of numbers that looks random and repeats with its seed (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// A place in a row of so many.
    pub(crate) fn place(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(u64::try_from(limit).unwrap())).unwrap()
    }
}
