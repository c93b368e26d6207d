//! Days, as limits count them.

/// The day of a moment (Unix ms), counted from 1970-01-01, UTC.
pub fn utc_day(at_ms: i64) -> i64 {
    at_ms.div_euclid(86_400_000)
}
