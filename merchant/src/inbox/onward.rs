//! Handing on: the meaning of an answer of the merchant's own address. Pure.

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Pauses between tries, milliseconds. After the last try the event is dead: about three days.
pub(crate) const PAUSES: [i64; 14] = [
    5 * SECOND,
    15 * SECOND,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
    12 * HOUR,
    12 * HOUR,
    12 * HOUR,
    12 * HOUR,
];
/// The longest pause, and so the longest that the address may ask for, milliseconds.
pub(crate) const LONGEST_PAUSE_MS: i64 = 12 * HOUR;

/// The answer of the merchant's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// An HTTP status, and `Retry-After` in seconds.
    Status(u16, Option<i64>),
    /// Nothing, or nothing whole.
    Nothing,
}

/// The next step for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// It has arrived.
    Delivered,
    /// Another try after so many milliseconds.
    Again(i64),
    /// No more tries, and nothing later of its stream, until a person has looked.
    Dead,
}

/// Returns the next step after `tries` tries, this one included. Only 2xx says that the event has arrived: a
/// redirect is a mistake in the configuration, and 410 says that nobody wants the event. Pauses are `pace` times
/// shorter than in production.
pub(crate) fn after(tries: u32, said: Said, pace: i64) -> Push {
    let asked = match said {
        Said::Status(200..=299, _) => return Push::Delivered,
        Said::Status(410, _) => return Push::Dead,
        Said::Status(_, asked) => asked.unwrap_or(0).saturating_mul(SECOND).min(LONGEST_PAUSE_MS),
        Said::Nothing => 0,
    };
    let at = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX);
    match PAUSES.get(at) {
        Some(pause) => Push::Again(pause.div_euclid(pace.max(1)).max(asked)),
        None => Push::Dead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_arrives_or_is_dead_after_a_known_number_of_tries() {
        let last = u32::try_from(PAUSES.len()).unwrap().saturating_add(1);
        for said in [Said::Nothing, Said::Status(500, None), Said::Status(301, None)] {
            for tries in 1..last {
                assert!(matches!(after(tries, said, 1), Push::Again(pause) if pause > 0));
            }
            assert_eq!(after(last, said, 1), Push::Dead);
        }
        assert_eq!(after(1, Said::Status(204, None), 1), Push::Delivered);
        assert_eq!(after(1, Said::Status(410, None), 1), Push::Dead);
        assert_eq!(after(1, Said::Status(503, Some(60)), 1), Push::Again(60_000));
        assert_eq!(after(1, Said::Status(429, Some(i64::MAX)), 1), Push::Again(LONGEST_PAUSE_MS));
    }
}
