//! Cleans what a node says before it reaches a log or an answer: a proxy may quote our own URL, or
//! the URL of the node behind it.

use super::error::{NodeError, RawNodeError};
use super::exchange::Target;
use reqwest::Url;
use secrecy::ExposeSecret as _;
use std::fmt;

/// The longest message that is kept, characters.
const LONGEST_MESSAGE: usize = 300;

/// Parts of a URL shorter than this are words such as `v3`, not keys.
const SHORTEST_KEY: usize = 8;

/// Takes the secret parts of one URL, and everything that looks like a URL, out of texts.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    /// Takes out what is secret about an endpoint: parts of its URL, and its key.
    pub fn of(target: Target<'_>) -> Self {
        let url = Url::parse(target.url.expose());
        let parts = url.map(|url| Self::for_url(&url)).unwrap_or_default();
        let Some(shown) = target.key else { return parts };
        #[expect(clippy::disallowed_methods, reason = "to take it out wherever it is quoted")]
        let key = shown.key.expose_secret();
        parts.and(Self::for_secret(key))
    }

    fn for_url(url: &Url) -> Self {
        let path = url.path().split('/').map(str::to_owned);
        let query = url.query_pairs().map(|(_, value)| value.into_owned());
        let user = [url.username().to_owned(), url.password().unwrap_or_default().to_owned()];
        let secrets = path.chain(query).chain(user).filter(|part| part.len() >= SHORTEST_KEY);
        Self { secrets: secrets.collect() }
    }

    /// Takes one text out, however short; an empty one hides nothing.
    fn for_secret(secret: &str) -> Self {
        let secrets = Some(secret).filter(|secret| !secret.is_empty());
        Self { secrets: secrets.into_iter().map(str::to_owned).collect() }
    }

    /// Takes out what either would.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.secrets.extend(other.secrets);
        self
    }

    pub(super) fn clean_error(&self, error: &RawNodeError) -> NodeError {
        let (code, data) = (error.code, error.bytes());
        NodeError { code, message: self.clean(&error.message), data }
    }

    /// The text without secrets, URLs and control characters, cut to a length that fits in a log.
    pub fn clean(&self, text: &str) -> String {
        let hidden = self
            .secrets
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "(hidden)"));
        let words = hidden
            .split_whitespace()
            .map(|word| if word.contains("://") { "(url)" } else { word })
            .collect::<Vec<_>>()
            .join(" ");
        words.chars().filter(|letter| !letter.is_control()).take(LONGEST_MESSAGE).collect()
    }
}

/// Without the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}
