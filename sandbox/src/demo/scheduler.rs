//! The merchant's scheduler: it signs requests and posts them.

use super::Error;
use merchant_signer::auth::{self, SignedParts};
use reqwest::{Client, Method};
use secrecy::SecretString;
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The caller that the Signer's configuration names.
pub(crate) const CALLER: &str = "sandbox-scheduler";
/// Its secret, which is none.
pub(crate) const SECRET: &str = "everybody-knows-this-secret";

/// Where EVM batches are posted.
pub(crate) const EVM_PATH: &str = "/PayTool/EVM/subscribe/signProcessSubscribePlan";
/// Where TRON batches are posted.
pub(crate) const TRON_PATH: &str = "/PayTool/TVM/subscribe/signProcessSubscribePlan";

/// Posts to the Signer.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(crate) url: String,
    client: Client,
}

/// What it hears.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) took: Duration,
}

impl Heard {
    /// The code of the envelope; -1 if there is none.
    pub(crate) fn code(&self) -> i64 {
        self.body["code"].as_i64().unwrap_or(-1)
    }
}

impl Scheduler {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let client = Client::builder().timeout(Duration::from_secs(30)).no_proxy().build()?;
        Ok(Self { url: url.to_owned(), client })
    }

    /// The port of the Signer.
    pub(crate) fn port(&self) -> u16 {
        self.url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default()
    }

    /// Posts a batch.
    pub(crate) async fn bill(&self, path: &str, body: &Value) -> Result<Heard, Error> {
        self.send(Method::POST, path, body.to_string()).await
    }

    /// What became of a billing.
    pub(crate) async fn billing(&self, hash: &str) -> Result<Heard, Error> {
        self.send(Method::GET, &format!("/PayTool/billings/{hash}"), String::new()).await
    }

    async fn send(&self, method: Method, path: &str, body: String) -> Result<Heard, Error> {
        let began = Instant::now();
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.url));
        for (name, value) in headers(method.as_str(), path, &body) {
            request = request.header(name, value);
        }
        let response = request.body(body).send().await?;
        let status = response.status().as_u16();
        let body = serde_json::from_slice(&response.bytes().await?)?;
        Ok(Heard { status, body, took: began.elapsed() })
    }
}

/// The command that posts a body from a shell.
pub(crate) fn curl(url: &str, path: &str, body: &str) -> String {
    let headers = headers("POST", path, body);
    let [key, sign, time] = headers.map(|(name, value)| format!("-H '{name}: {value}'"));
    let body = body.replace('\'', r"'\''");
    let parts =
        [format!("curl -s '{url}{path}'"), key, sign, time, format!("--data-binary '{body}'")];
    parts.join(" \\\n  ")
}

fn headers(method: &str, path: &str, body: &str) -> [(&'static str, String); 3] {
    let at = unix_ms() / 1000;
    let at = at.to_string();
    let parts = SignedParts {
        key: Some(CALLER),
        timestamp: Some(&at),
        sign: None,
        method,
        path_and_query: path,
        body: body.as_bytes(),
    };
    let signature = auth::sign(&SecretString::from(SECRET), &parts);
    [
        (auth::KEY_HEADER, CALLER.to_owned()),
        (auth::SIGN_HEADER, signature),
        (auth::TIMESTAMP_HEADER, at),
    ]
}

/// Milliseconds since the epoch.
#[expect(clippy::disallowed_methods, reason = "a scheduler and a chain have clocks of their own")]
pub(crate) fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
