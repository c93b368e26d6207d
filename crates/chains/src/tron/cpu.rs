//! The limit on the computing of a call. A real node looks at its clock; here steps are counted, so that a test
//! gets the same answer twice.
//!
//! On the reference node (50 ms for one transaction, a quiet machine) 20 charges of 6,000 steps always passed
//! in blocks, 28 to 36 sometimes, 38 never; calls that were only asked about passed now and then with 40. So
//! both have limits of their own, and both scatter. Today's reference contract takes 3,050 steps for a
//! charge, so that more of them fit.

use crate::chain::Header;

/// Steps that one charge took where the limits were measured.
const CHARGE: u64 = 6_000;

/// The limits of a chain, in steps, of which a storage access counts 50.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Of a transaction in a block: at least and at most.
    pub block: [u64; 2],
    /// Of a call that is asked about: at least and at most.
    pub call: [u64; 2],
    /// Seed from which the scatter between the two limits is drawn.
    pub seed: u64,
}

impl Default for Cpu {
    fn default() -> Self {
        Self { block: [27 * CHARGE, 37 * CHARGE], call: [27 * CHARGE, 42 * CHARGE], seed: 1 }
    }
}

impl Cpu {
    /// The same limit for all.
    pub const fn of(steps: u64) -> Self {
        Self { block: [steps; 2], call: [steps; 2], seed: 0 }
    }

    /// No limit.
    pub const UNLIMITED: Self = Self::of(u64::MAX);

    /// The limit of the transactions in a block.
    pub fn in_block(&self, header: &Header) -> u64 {
        self.between(self.block, header.number ^ header.fork.rotate_left(32))
    }

    /// The limit of the call that is asked about after so many others.
    pub fn of_call(&self, before: u64) -> u64 {
        self.between(self.call, !before)
    }

    fn between(&self, [least, most]: [u64; 2], turn: u64) -> u64 {
        let width = most.saturating_sub(least).saturating_add(1);
        least.saturating_add(mixed(self.seed ^ mixed(turn)) % width)
    }
}

/// Steele, Lea and Flood: Fast splittable pseudorandom number generators (`SplitMix64`).
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_scatter_between_their_bounds_and_are_the_same_twice() {
        let cpu = Cpu::default();
        let all: Vec<u64> = (0..500).map(|turn| cpu.of_call(turn)).collect();
        assert!(all.iter().all(|limit| (cpu.call[0]..=cpu.call[1]).contains(limit)));
        let spread = all.iter().max().unwrap() - all.iter().min().unwrap();
        assert!(spread > 14 * CHARGE, "{spread}");
        assert_eq!(all, (0..500).map(|turn| cpu.of_call(turn)).collect::<Vec<_>>());
        let other = Cpu { seed: 2, ..cpu };
        assert_ne!(all[0], other.of_call(0));
        let header = |number, fork| Header { number, fork, ..Header::default() };
        assert_ne!(cpu.in_block(&header(7, 0)), cpu.in_block(&header(8, 0)));
        assert_ne!(cpu.in_block(&header(7, 0)), cpu.in_block(&header(7, 1)), "another producer");
        assert_eq!(Cpu::of(9).of_call(3), 9);
    }
}
