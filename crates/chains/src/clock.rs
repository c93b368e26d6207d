//! The time of the chain: the only time there is.
//!
//! A block is made at a slot; slots may be missed. Nothing here asks the machine what time it is, so a test
//! decides when something expires, and a halted chain halts time.

/// Slots of equal length, and how many of them the next block misses.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    slot_ms: u64,
    missed: u64,
}

impl Clock {
    /// A clock whose blocks stand at multiples of `slot_ms` (ms).
    pub const fn new(slot_ms: u64) -> Self {
        Self { slot_ms, missed: 0 }
    }

    /// The length of a slot (ms).
    pub const fn slot_ms(&self) -> u64 {
        self.slot_ms
    }

    /// Leaves `slots` slots empty before the next block.
    pub const fn miss(&mut self, slots: u64) {
        self.missed += slots;
    }

    /// The time (ms) of the next block after one at `head_ms`, which forgets the missed slots.
    pub const fn tick(&mut self, head_ms: u64) -> u64 {
        let next = self.after(head_ms) + self.missed * self.slot_ms;
        self.missed = 0;
        next
    }

    /// The first slot (ms) after `head_ms`, if none is missed.
    pub const fn after(&self, head_ms: u64) -> u64 {
        (head_ms / self.slot_ms + 1) * self.slot_ms
    }
}
