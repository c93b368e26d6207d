//! The merchant's scheduler: `merchant schedule` as the library has it, and its own line to the Signer.

use super::Error;
use super::side::Family;
use merchant::Client;
use merchant::clock::{Clock as _, SystemClock};
use merchant::full::Full;
use merchant::schedule::{
    ChainFamily, Connections, RunReport, ScheduleOptions, Whereabouts, run_once, whereabouts,
};
use merchant::sign::{Credentials, KEY_HEADER, SIGN_HEADER, Signable, TIMESTAMP_HEADER, sign};
use merchant::signer::{BillingStatus, SignerClient, Verdict};
use sandbox_platform::Running;
use sandbox_platform::platform::{EVM_CHAIN, TRON_CHAIN};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// The caller that the Signer's configuration names.
pub(crate) const CALLER: &str = "sandbox-scheduler";
/// Its secret, which is none.
pub(crate) const SECRET: &str = "everybody-knows-this-secret";
/// The caller that may pause and resume.
pub(crate) const OPERATOR: &str = "sandbox-operator";
/// Its secret, which is none either.
pub(crate) const OPERATOR_SECRET: &str = "everybody-knows-this-one-too";
/// Time the Signer may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The scheduler of a merchant with subscribers on both chains.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(crate) url: String,
    signer: SignerClient,
    platform: Client,
    options: ScheduleOptions,
}

/// The Signer's answer to a batch.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The code of the envelope.
    pub(crate) code: i64,
    /// Its data.
    pub(crate) data: Value,
    pub(crate) took: Duration,
}

impl Scheduler {
    /// The scheduler of a Signer at `url`, with its state in `place`.
    pub(crate) fn new(url: &str, running: &Running, place: &Path) -> Result<Self, Error> {
        let held = running.platform.credentials();
        let credentials = Credentials::new(held.key.as_str(), held.secret.as_str());
        let chains = [(EVM_CHAIN, Family::Evm), (TRON_CHAIN, Family::Tron)];
        let chains = chains
            .map(|(chain, family)| ChainFamily { chain: chain.into(), family: family.kind() });
        Ok(Self {
            url: url.to_owned(),
            signer: SignerClient::new(url, Credentials::new(CALLER, SECRET))?
                .with_timeout(PATIENCE),
            platform: Client::new(&running.base_url, &running.payment_url, credentials)?,
            options: ScheduleOptions {
                state: place.join("schedule.db"),
                chains: chains.to_vec(),
                // Time is moved here: an hour's pause is 3.6 s.
                pace: 1000,
                ..ScheduleOptions::default()
            },
        })
    }

    /// The port of the Signer.
    pub(crate) fn port(&self) -> u16 {
        self.url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default()
    }

    /// One run, as `merchant schedule --once` makes it.
    pub(crate) async fn run(&self) -> Result<RunReport, Error> {
        let (platform, signer) = (self.platform.clone(), self.signer.clone());
        Ok(run_once(&self.options, Connections { platform, signer, inbox: None }).await?)
    }

    /// Returns the state of a subscription, as `merchant schedule --status --of` shows it.
    pub(crate) fn whereabouts(&self, chain: u32, id: i64) -> Result<Whereabouts, Error> {
        let found = whereabouts(&self.options, chain.into(), id)?;
        found.ok_or_else(|| format!("the scheduler has never heard of {chain}/{id}").into())
    }

    /// Posts a batch.
    pub(crate) async fn bill(&self, family: Family, body: &Value) -> Result<Heard, Error> {
        let began = Instant::now();
        let verdict = self.signer.bill(family.kind(), &body.to_string()).await?;
        let (code, data) = match verdict {
            Verdict::Sent(sent) => (1, serde_json::from_str(sent.raw().get())?),
            Verdict::Refused(failed, _) => (2, json!(failed)),
            Verdict::Rehearsed(would) => (0, serde_json::from_str(would.raw().get())?),
        };
        Ok(Heard { code, data, took: began.elapsed() })
    }

    /// Returns the status of a billing; nothing if the Signer does not know the billing.
    pub(crate) async fn billing(&self, hash: &str) -> Result<Value, Error> {
        let known: Vec<Full<BillingStatus>> = self.signer.billings(hash).await?;
        Ok(known
            .first()
            .map(|one| serde_json::from_str(one.raw().get()))
            .transpose()?
            .unwrap_or_default())
    }
}

/// The command that posts a body from a shell.
pub(crate) fn curl(url: &str, path: &str, caller: &Credentials, body: &str) -> String {
    let at = SystemClock.now().0.to_string();
    let what =
        Signable { timestamp: &at, method: "POST", path_and_query: path, body: body.as_bytes() };
    let signature = sign(&caller.secret, &what);
    let header = |name: &str, value: &str| format!("-H '{name}: {value}'");
    let body = body.replace('\'', r"'\''");
    let parts = [
        format!("curl -sS '{url}{path}'"),
        header(KEY_HEADER, &caller.key),
        header(SIGN_HEADER, &signature),
        header(TIMESTAMP_HEADER, &at),
        format!("--data-binary '{body}'"),
    ];
    parts.join(" \\\n  ")
}
