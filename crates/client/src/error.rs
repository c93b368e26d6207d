//! The errors of a call, in words that say what to do.

use crate::sign::SignatureError;
use std::fmt;
use thiserror::Error;

/// Why a call has no answer.
#[derive(Clone, Debug, Error)]
pub enum CallError {
    /// No connection: nothing was sent.
    #[error("{peer} cannot be reached, nothing was sent: {why}")]
    Unsent {
        /// Scheme, host and port of the peer.
        peer: String,
        /// The transport's message.
        why: String,
    },
    /// The request may have arrived, but no whole answer came back: what became of it is unknown.
    #[error("{peer} was sent the request but no whole answer came back: {why}")]
    Unheard {
        /// Scheme, host and port of the peer.
        peer: String,
        /// The transport's message.
        why: String,
    },
    /// Refused as what a peer judges, and the clocks are too far apart for any signature to be accepted: nothing was
    /// done.
    #[error(
        "the clock here is {} s {} the one of the peer, and at most {allowed_seconds} s are \
         allowed: set this machine's clock (NTP). The peer said: {refusal}",
        off_seconds.unsigned_abs(),
        if *off_seconds > 0 { "ahead of" } else { "behind" }
    )]
    ClockOff {
        /// Positive when the clock here is ahead.
        off_seconds: i64,
        /// Largest difference that is allowed in that direction.
        allowed_seconds: i64,
        /// The peer's refusal.
        refusal: Refusal,
    },
    /// The peer answered with an envelope whose code is no success.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The answer is not what the interface promises: no envelope, or data of another shape.
    #[error("HTTP {http_status} with an answer that cannot be read: {why}")]
    Unreadable {
        /// The HTTP status.
        http_status: u16,
        /// The problem that was found.
        why: String,
    },
    /// The answer does not prove to be the Signer's, and so it is none: what became of the request is unknown.
    #[error(
        "{peer} answered HTTP {http_status} without the Signer's proof, which is no answer ({proof}): {}. {said}",
        if *http_status == 401 {
            "check the key and its secret, and this machine's clock (NTP), then post the same again"
        } else {
            "post the same again"
        }
    )]
    Unproven {
        /// Scheme, host and port of the peer.
        peer: String,
        /// The HTTP status: no more than a hint, like all of this answer.
        http_status: u16,
        /// The fault in the proof.
        proof: SignatureError,
        /// The answer's message, if it says anything in a Signer's form; for people alone.
        said: String,
    },
    /// One entry of a list cannot be read. The entries after it still come.
    #[error("an entry on page {page} cannot be read: {why}")]
    Entry {
        /// Counted from 1.
        page: u64,
        /// The problem that was found.
        why: String,
    },
}

/// An envelope that is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub http_status: u16,
    /// The code of the envelope.
    pub code: i64,
    /// `msg` of the envelope.
    pub msg: String,
    /// `description` of the envelope, if it is filled.
    pub description: Option<String>,
    /// `Retry-After`, in seconds, if the peer sent it as a number.
    pub retry_after_seconds: Option<u64>,
    /// Number of subscriptions that the Signer takes at once, if it refused more than that.
    pub max_batch: Option<usize>,
}

impl Refusal {
    /// 5xx, as the HTTP status or as the code of an envelope: the platform answers many refusals
    /// with HTTP 200.
    pub(crate) fn is_the_peers_fault(&self) -> bool {
        self.http_status >= 500 || (500..600).contains(&self.code)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {}, HTTP {})", self.msg, self.code, self.http_status)?;
        match &self.description {
            Some(description) => write!(f, ": {description}"),
            None => Ok(()),
        }
    }
}

impl CallError {
    /// Returns true if the request may have taken effect although there is no answer. Then look, before anything is
    /// sent again.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Unheard { .. } | Self::Unreadable { .. } | Self::Unproven { .. } => true,
            Self::Refused(refusal) => refusal.is_the_peers_fault(),
            Self::Unsent { .. } | Self::ClockOff { .. } | Self::Entry { .. } => false,
        }
    }

    /// Returns true if the same read may well succeed a moment later.
    pub fn passes(&self) -> bool {
        match self {
            Self::Unsent { .. } | Self::Unheard { .. } => true,
            Self::Unreadable { http_status, .. } | Self::Unproven { http_status, .. } => {
                *http_status == 200 || *http_status == 429 || *http_status >= 500
            }
            Self::Refused(refusal) => refusal.http_status == 429 || refusal.is_the_peers_fault(),
            Self::ClockOff { .. } | Self::Entry { .. } => false,
        }
    }

    /// Returns the peer's refusal, if the peer answered with an envelope.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) | Self::ClockOff { refusal, .. } => Some(refusal),
            Self::Unsent { .. }
            | Self::Unheard { .. }
            | Self::Unreadable { .. }
            | Self::Unproven { .. }
            | Self::Entry { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_401_without_proof_has_the_secret_looked_at() {
        let said = |http_status| {
            let (peer, said) = ("http://signer".to_owned(), "unknown key".to_owned());
            let proof = SignatureError::MalformedSign;
            CallError::Unproven { peer, http_status, proof, said }.to_string()
        };
        assert!(said(401).contains("check the key and its secret, and this machine's clock"));
        assert!(
            !said(502).contains("secret") && said(502).contains("post the same again. unknown")
        );
    }
}
