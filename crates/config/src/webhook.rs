//! `[webhook]`: where what happens is told.

use super::faults::Reported;
use super::kinds::{Expected, rpc_url, time};
use super::reader::TableReader;
use super::secret;
use super::{RpcUrl, millis, seconds};
use secrecy::SecretString;
use std::time::Duration;

/// The receiver of events, and the rules for sending them.
#[derive(Debug, Clone)]
pub struct WebhookConfig {
    /// The receiver. Prints without its path.
    pub url: RpcUrl,
    /// Value of `X-PAY-KEY`: 1 to 128 visible ASCII characters.
    pub key: String,
    /// Secret for signing: 16 to 4096 bytes.
    pub secret: SecretString,
    /// Longest time for one answer: 100 ms to 1 min.
    pub timeout: Duration,
    /// Pauses before each send of an event: at least one. An event that is refused after the last pause is set
    /// aside; an event that is not answered at all is sent again after the last pause.
    pub pauses: Vec<Duration>,
}

impl WebhookConfig {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let url = reader.get("url", &rpc_url());
        let key =
            Expected::of_text("what X-PAY-KEY says: 1 to 128 visible ASCII characters", |text| {
                let good =
                    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
                good.then(|| text.to_owned()).ok_or("is not that")
            });
        let key = reader.get("key", &key);
        let fits = |text: &str| match text.len() {
            16..=4096 => Ok(SecretString::from(text)),
            _ => Err("is too short, or too long".to_owned()),
        };
        let expects = "a secret of 16 to 4096 bytes";
        let secret = secret::read(reader, ("secret", "secret_file"), expects, fits);
        let secret = secret.and_then(|read| {
            read.ok_or_else(|| reader.fault("secret", "missing; set secret, or secret_file"))
        });
        let timeout = reader.optional("timeout", &time(millis(100)..=seconds(60)));
        let pauses = reader.several("pauses", &time(seconds(0)..=seconds(86_400)));
        let timeout = timeout?.unwrap_or(seconds(10));
        let mut pauses = pauses?;
        if pauses.is_empty() {
            pauses = [0, 15, 30, 180, 300, 600].map(seconds).to_vec();
        }
        Ok(Self { url: url?, key: key?, secret: secret?, timeout, pauses })
    }

    /// Checks that nobody on the way reads what is told of customers and their payments, if `chain` is no test.
    pub(super) fn check_private(&self, root: &TableReader<'_>, chain: &str) {
        if !self.url.is_private() {
            let problem = format!(
                "is http to another machine, and {chain} is not marked as a test: whoever is on the way would \
                 read what customers pay; take https, or a loopback address with a proxy behind it"
            );
            root.fault_at("webhook.url", problem);
        }
    }
}
