//! The rules for signing another transaction for a batch that does not land: whether, and when.

use std::time::Duration;

use super::faults::Reported;
use super::kinds::{Expected, optional_time, time, whole};
use super::reader::TableReader;
use super::seconds;

/// When a transaction that the chain does not take is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// Never: one batch, one hash.
    Off,
    /// On the same nonce, with a higher bid.
    On {
        /// Time for which the first transaction is left alone: 1 s to 1 h. Twice as long for each one after it.
        after: Duration,
        /// Most transactions that one batch may have: 2 to 20.
        most: usize,
        /// After how long a batch that does not land is given up, 1 min to 30 d, and nobody of it
        /// charged. None: never.
        give_up_after: Option<Duration>,
    },
}

impl Replacement {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let on = reader.get("replacement", &on_or_off());
        let after = reader.get("replace_after", &time(seconds(1)..=seconds(3600)));
        let most = reader.get("max_attempts", &whole(2..=20));
        let give_up = reader
            .get("give_up_after", &optional_time("never", seconds(60)..=seconds(30 * 86_400)));
        let (on, after, most, give_up_after) = (on?, after?, most?, give_up?);
        Ok(if on { Self::On { after, most, give_up_after } } else { Self::Off })
    }
}

fn on_or_off() -> Expected<bool> {
    Expected::of_text("\"on\" or \"off\"", |text| match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("is neither"),
    })
}
