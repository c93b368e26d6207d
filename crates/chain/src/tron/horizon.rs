//! The time after which nothing can land any more that was signed before this process began.

use super::access::Access;
use super::head::TronHead;
use std::sync::OnceLock;

/// That time, once it is known.
#[derive(Debug)]
pub(super) struct SigningHorizon {
    access: Access,
    /// Unix ms of blocks.
    dead_after: OnceLock<u64>,
}

impl SigningHorizon {
    /// The process has not looked at its chain yet.
    pub(super) fn of(access: Access) -> Self {
        Self { access, dead_after: OnceLock::new() }
    }

    /// Returns the latest time at which something can land that was signed before now, Unix ms of blocks. The head by
    /// which it was signed is not later than this head, or than this machine's clock, since nothing is signed by any
    /// other head.
    pub(super) fn now(&self, head: &TronHead) -> u64 {
        let now_ms = u64::try_from(self.access.now_ms()).unwrap_or_default();
        head.newest.time_ms.max(now_ms).saturating_add(self.access.life_ms())
    }

    /// Returns the latest time at which something can land that was signed before this process began, Unix ms of
    /// blocks. The process begins when this is asked first.
    pub(super) fn at_start(&self, head: &TronHead) -> u64 {
        *self.dead_after.get_or_init(|| self.now(head))
    }
}
