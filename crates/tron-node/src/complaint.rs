//! Answers that are complaints, and how servers say that they want to be left alone.

use node::{Reply, decode};
use serde::Deserialize;
use std::time::Duration;

/// Time for which a server is left alone that names no time.
const BRIEFLY: Duration = Duration::from_secs(1);

/// The longest time that a server is left alone for its own word.
const LONGEST: Duration = Duration::from_mins(10);

/// A complaint is a short answer; longer ones are not looked through for one.
const LONGEST_COMPLAINT: usize = 4096;

/// Beginning of a node's words that a question is not for it: a lite node has no history. java-tron:
/// framework/.../services/filter/LiteFnQueryHttpFilter.java
const CLOSED: &str = "this API is closed";

/// java-tron, when its own limits are reached: the question was not looked at.
/// framework/.../services/http/RateLimiterServlet.java
const NO_RESOURCES: &str = "lack of computing resources";

/// An answer that is an error, whatever the HTTP status says.
pub(crate) struct Complaint(pub(crate) String);

#[derive(Deserialize)]
struct Erring {
    #[serde(rename = "Error")]
    error: String,
}

impl Complaint {
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        if body.len() > LONGEST_COMPLAINT {
            return None;
        }
        if let Ok(Erring { error }) = decode(body) {
            return Some(Self(error));
        }
        let text = std::str::from_utf8(body).ok()?;
        text.starts_with(CLOSED).then(|| Self(text.to_owned()))
    }
}

/// Returns the time for which the server is to be left alone, if its answer means that.
pub(crate) fn shut_out_for(reply: &Reply, complaint: Option<&Complaint>) -> Option<Duration> {
    let said = complaint.map(|complaint| complaint.0.as_str()).unwrap_or_default();
    let named = suspension(said).or(reply.retry_after);
    let limited = reply.is_too_many_requests()
        || suspension(said).is_some()
        || said.contains("exceeds the frequency limit")
        || said.contains(NO_RESOURCES);
    limited.then(|| named.unwrap_or(BRIEFLY).min(LONGEST))
}

/// The time in "suspended for 30s".
fn suspension(said: &str) -> Option<Duration> {
    let (_, after) = said.split_once("suspended for")?;
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    Some(digits.parse().map_or(BRIEFLY, Duration::from_secs))
}
