//! Cleans what a node says before it reaches a log or an answer: a proxy may quote our own URL, or
//! the URL of the node behind it.

use super::NodeError;
use super::error::RawNodeError;
use reqwest::Url;

/// The longest message that is kept, characters.
const LONGEST_MESSAGE: usize = 300;

/// Parts of a URL shorter than this are words such as `v3`, not keys.
const SHORTEST_KEY: usize = 8;

/// Takes the secret parts of one URL, and everything that looks like a URL, out of texts.
pub(super) struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    pub(super) fn for_url(url: &Url) -> Self {
        let path = url.path().split('/').map(str::to_owned);
        let query = url.query_pairs().map(|(_, value)| value.into_owned());
        let user = [url.username().to_owned(), url.password().unwrap_or_default().to_owned()];
        let secrets = path.chain(query).chain(user).filter(|part| part.len() >= SHORTEST_KEY);
        Self { secrets: secrets.collect() }
    }

    pub(super) fn clean(&self, error: RawNodeError) -> NodeError {
        let (code, data) = (error.code, error.bytes());
        let hidden = self
            .secrets
            .iter()
            .fold(error.message, |text, secret| text.replace(secret.as_str(), "(hidden)"));
        let words = hidden
            .split_whitespace()
            .map(|word| if word.contains("://") { "(url)" } else { word })
            .collect::<Vec<_>>()
            .join(" ");
        let message =
            words.chars().filter(|letter| !letter.is_control()).take(LONGEST_MESSAGE).collect();
        NodeError { code, message, data }
    }
}
