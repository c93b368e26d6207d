//! `[webhook]`: the receiver of events.

use super::faults::Reported;
use super::kinds::{rpc_url, time};
use super::reader::TableReader;
use super::secret;
use super::{RpcUrl, millis, seconds};
use secrecy::SecretString;
use std::time::Duration;
use webhooks::WebhookSecret;

/// The receiver of events.
#[derive(Debug, Clone)]
pub struct WebhookConfig {
    /// The receiver's URL. Prints without its path.
    pub url: RpcUrl,
    /// Secret for signing.
    pub secret: WebhookSecret,
    /// Longest time for one answer: 100 ms to 1 min.
    pub timeout: Duration,
}

impl WebhookConfig {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let url = reader.get("url", &rpc_url());
        let read = |text: &str| {
            let secret = WebhookSecret::read(&SecretString::from(text));
            secret.map_err(|fault| fault.to_string())
        };
        let expects = "a secret of Standard Webhooks: whsec_ and base64";
        let secret = secret::read(reader, "secret", "secret_file", expects, read);
        let secret = secret.and_then(|read| {
            read.ok_or_else(|| reader.fault("secret", "missing; set secret, or secret_file"))
        });
        let timeout = reader.optional("timeout", &time(millis(100)..=seconds(60)));
        let timeout = timeout?.unwrap_or(seconds(10));
        Ok(Self { url: url?, secret: secret?, timeout })
    }

    /// Checks that events about customers and their payments travel encrypted, if `chain` is no test.
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
