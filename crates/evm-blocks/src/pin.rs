//! The age of the block that a proof begins at. Old makers of a chain can sign anything once they have nothing at stake.

use host::clock::Clock;
use tracing::warn;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The kind of a pinned block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pinned {
    /// The final block from which Ethereum's sync committees are followed.
    FinalBlock,
    /// The epoch header from which the validators of BNB Smart Chain are followed.
    EpochHeader,
}

impl Pinned {
    /// The setting that pins it.
    fn key(self) -> &'static str {
        match self {
            Self::FinalBlock => "beacon.checkpoint",
            Self::EpochHeader => "seals.checkpoint",
        }
    }

    /// The greatest age at a start, in days: that of Ethereum's weak subjectivity, and the time for which BNB's stakes
    /// stay locked.
    fn most_days(self) -> u64 {
        match self {
            Self::FinalBlock => 14,
            Self::EpochHeader => 7,
        }
    }
}

/// A pinned block that was too old at the start. Nothing is kept from being decided by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is {days} days old, and younger than {} days it should be when a Signer starts: those who made the chain then \
     may have nothing at stake any more. Pin a newer block, from sources that you trust",
    pinned.key(), pinned.most_days()
)]
pub(crate) struct OldPin {
    pinned: Pinned,
    days: u64,
}

impl OldPin {
    /// Judges a pinned block of this time, Unix seconds, and tells the log if it is too old.
    pub(crate) fn told(pinned: Pinned, time: u64, clock: Clock) -> Option<Self> {
        let now = u64::try_from(clock.unix_ms().div_euclid(1000)).unwrap_or_default();
        let old = Self::judge(pinned, now.saturating_sub(time))?;
        warn!("the pinned block is too old: {old}");
        Some(old)
    }

    fn judge(pinned: Pinned, seconds: u64) -> Option<Self> {
        let days = seconds.div_euclid(DAY);
        (days >= pinned.most_days()).then_some(Self { pinned, days })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_old_after_seven_days_of_validators_and_after_two_weeks_of_committees() {
        for (pinned, days) in [(Pinned::EpochHeader, 7), (Pinned::FinalBlock, 14)] {
            assert_eq!(OldPin::judge(pinned, 0), None);
            assert_eq!(OldPin::judge(pinned, days * DAY - 1), None);
            assert_eq!(OldPin::judge(pinned, days * DAY), Some(OldPin { pinned, days }));
        }
        let clock = Clock::telling(|| 1_800_000_000_000);
        let told = OldPin::told(Pinned::EpochHeader, 1_799_000_000, clock).unwrap().to_string();
        assert!(told.starts_with("seals.checkpoint is 11 days old"), "{told}");
        // A clock that is behind is no reason to warn.
        assert_eq!(OldPin::told(Pinned::FinalBlock, 1_900_000_000, clock), None);
    }
}
