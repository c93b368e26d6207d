//! The two ways in which the platform writes time: Unix seconds, and date and time without a zone.

use jiff::civil;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Unix time in whole seconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnixSeconds(pub i64);

impl UnixSeconds {
    /// Returns the number of seconds that this is after `earlier`; negative if it is before.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time and `seconds`.
    #[must_use]
    pub fn plus(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

/// `2026-11-22T00:20:00Z`; the bare number if no calendar reaches so far.
impl fmt::Display for UnixSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(timestamp) => write!(f, "{timestamp}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

/// `YYYY-MM-DD HH:MM:SS` as the platform wrote it. The platform does not say in which zone, so this
/// is never turned into Unix time: compare it with other texts of the platform only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DateTimeText(pub String);

impl DateTimeText {
    /// The date and the time of day, if the text is one.
    pub fn parse(&self) -> Option<civil::DateTime> {
        civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", &self.0).ok()
    }

    /// By how many seconds this text is ahead of `unix`, read as if it were UTC. For a record that
    /// carries one instant in both ways, a multiple of 900 names the zone the platform writes in.
    pub fn seconds_ahead_of(&self, unix: UnixSeconds) -> Option<i64> {
        let read_as_utc = self.parse()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(read_as_utc.timestamp().as_second().saturating_sub(unix.0))
    }
}

impl fmt::Display for DateTimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times_are_read_and_tell_their_zone() {
        let text = DateTimeText("2026-11-22 08:20:00".to_owned());
        assert_eq!(text.parse().unwrap().hour(), 8);
        assert_eq!(text.seconds_ahead_of(UnixSeconds(1_795_306_800)), Some(8 * 3600));
        assert!(DateTimeText("yesterday".to_owned()).parse().is_none());
        assert_eq!(UnixSeconds(1_795_306_800).to_string(), "2026-11-22T00:20:00Z");
    }
}
