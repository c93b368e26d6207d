//! The settings of the program: a file, the environment on top, and every fault in both at once.
//!
//! A command asks for the sections that it needs; a section that is there is read whether it is
//! needed or not, so that a fault is heard of early.

mod reader;

use merchant::Client;
use merchant::callback::Receiver;
use merchant::clock::Clock;
use merchant::schedule::ChainFamily;
use merchant::sign::Credentials;
use merchant::signer::SignerClient;
use merchant::tls::{Tls, TlsError};
use reader::{Reader, Section};
use reqwest::Url;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use webhooks::WebhookSecret;

use crate::output::Failure;

/// Read when `--config` is not given, if it is there.
const USUAL_FILE: &str = "merchant.toml";
/// Prefix of the names of the environment variables.
const PREFIX: &str = "MERCHANT__";

/// The whole configuration.
#[derive(Debug)]
pub(crate) struct Settings {
    platform: Option<Platform>,
    signer: Option<Signer>,
    callbacks: Callbacks,
    inbox: Option<Inbox>,
    /// `schedule.chains`: what `--chain` says otherwise.
    chains: Vec<ChainFamily>,
    /// `sandbox.clock`: what `--clock` says otherwise.
    clock: Option<Url>,
}

/// `[platform]`.
#[derive(Clone, Debug)]
pub(crate) struct Platform {
    base_url: String,
    payment_url: String,
    credentials: Credentials,
    timeout: Duration,
    not_found_codes: Vec<i64>,
}

/// `[signer]`.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    url: String,
    tls: Tls,
    credentials: Credentials,
    timeout: Duration,
}

/// `[callbacks]`.
#[derive(Clone, Debug)]
struct Callbacks {
    signed_path: Option<String>,
    /// A secret that is being replaced.
    former: Option<Credentials>,
}

/// `[inbox]`.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    /// Address of the inbox's private side, for the scheduler.
    pub(crate) url: Option<String>,
    /// Credentials for the inbox's private side.
    pub(crate) credentials: Credentials,
    /// The merchant's own address, and the secret that events are signed with.
    pub(crate) onward: Option<(String, WebhookSecret)>,
}

/// Every fault of the configuration.
#[derive(Debug)]
struct Faults(Vec<String>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration is not usable:")?;
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

impl std::error::Error for Faults {}

impl Settings {
    /// Reads the file, if there is one, and the environment.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, Failure> {
        let path = file.unwrap_or(Path::new(USUAL_FILE));
        let text = if file.is_some() || path.exists() {
            std::fs::read_to_string(path).map_err(|error| {
                Failure::words(format!("{} cannot be read: {error}", path.display()))
            })?
        } else {
            String::new()
        };
        Self::read(&text, environment()).map_err(|faults| Failure::Known(faults.into()))
    }

    fn read(file: &str, environment: Vec<(String, String)>) -> Result<Self, Faults> {
        let mut reader = Reader::new(file, environment);
        let platform = reader.section("platform").and_then(platform);
        let signer = reader.section("signer").and_then(signer);
        let key = platform.as_ref().map(|platform| platform.credentials.key.clone());
        let callbacks = callbacks(reader.open("callbacks"), key);
        let inbox = reader.section("inbox").and_then(inbox);
        let chains = chains(reader.open("schedule"));
        let mut sandbox = reader.open("sandbox");
        let clock = sandbox.address("clock");
        let clock = clock.and_then(|text| sandbox.checked("clock", text.parse::<Url>()));
        reader.finish().map_err(Faults)?;
        Ok(Self { platform, signer, callbacks, inbox, chains, clock })
    }

    /// The chains that are billed on, where the command does not say.
    pub(crate) fn chains(&self) -> &[ChainFamily] {
        &self.chains
    }

    /// The clock of a sandbox, where the command does not say.
    pub(crate) fn clock(&self) -> Option<&Url> {
        self.clock.as_ref()
    }

    /// The platform's client.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let platform = self.platform()?;
        let credentials = platform.credentials.clone();
        let client = Client::new(&platform.base_url, &platform.payment_url, credentials)
            .map_err(|error| Failure::Known(error.into()))?;
        Ok(client.with_timeout(platform.timeout).with_not_found_codes(&platform.not_found_codes))
    }

    /// The Signer's client.
    pub(crate) fn signer(&self) -> Result<SignerClient, Failure> {
        let signer = self.signer.as_ref().ok_or_else(|| missing("signer"))?;
        SignerClient::new(&signer.url, signer.credentials.clone())
            .and_then(|client| client.with_tls(&signer.tls))
            .map(|client| client.with_timeout(signer.timeout))
            .map_err(|error| Failure::Known(error.into()))
    }

    /// Builds the receiver of callbacks: anybody who knows the platform's secret may send them.
    pub(crate) fn receiver(&self, clock: Arc<dyn Clock>) -> Result<Receiver, Failure> {
        let known = [Some(self.platform()?.credentials.clone()), self.callbacks.former.clone()];
        let known: Vec<_> = known.into_iter().flatten().collect();
        let receiver = Receiver::new(known).with_clock(clock);
        Ok(match &self.callbacks.signed_path {
            Some(path) => receiver.with_signed_path(path),
            None => receiver,
        })
    }

    /// The inbox, if there is a section for it.
    pub(crate) fn inbox(&self) -> Option<&Inbox> {
        self.inbox.as_ref()
    }

    /// Returns true if there is a section for the Signer.
    pub(crate) fn has_signer(&self) -> bool {
        self.signer.is_some()
    }

    fn platform(&self) -> Result<&Platform, Failure> {
        self.platform.as_ref().ok_or_else(|| missing("platform"))
    }
}

pub(crate) fn missing(section: &str) -> Failure {
    Failure::words(format!(
        "this command needs the section [{section}] of the configuration ({USUAL_FILE}, --config, \
         or variables named {PREFIX}{}__…)",
        section.to_ascii_uppercase()
    ))
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn environment() -> Vec<(String, String)> {
    std::env::vars().collect()
}

fn platform(mut section: Section<'_>) -> Option<Platform> {
    let base_url = section.required_address("base_url");
    let payment_url = section.required_address("payment_url");
    let credentials = credentials(&mut section);
    let timeout = section.seconds("timeout_seconds", 15);
    let codes = section.text("not_found_codes").unwrap_or_default();
    let not_found_codes = codes
        .split(',')
        .filter(|code| !code.is_empty())
        .filter_map(|code| section.checked("not_found_codes", code.trim().parse::<i64>()))
        .collect();
    Some(Platform {
        base_url: base_url?,
        payment_url: payment_url?,
        credentials: credentials?,
        timeout,
        not_found_codes,
    })
}

fn signer(mut section: Section<'_>) -> Option<Signer> {
    let url = section.required_address("url");
    let tls = tls(&mut section, url.as_deref());
    let credentials = credentials(&mut section);
    let timeout = section.seconds("timeout_seconds", 15);
    Some(Signer { url: url?, tls: tls?, credentials: credentials?, timeout })
}

/// Reads the authorities to believe at `url`, and the identity to show there; none if something is wrong with them.
fn tls(section: &mut Section<'_>, url: Option<&str>) -> Option<Tls> {
    type With = fn(Tls, &[u8]) -> Result<Tls, TlsError>;
    let files: [(_, With); 2] =
        [("ca_file", Tls::with_authorities), ("identity_file", Tls::with_identity)];
    let is_for_tls = url.is_none_or(|url| url.starts_with("https://"));
    let mut told = Some(Tls::default());
    for (key, with) in files {
        let Some(path) = section.text(key) else { continue };
        let read = if is_for_tls {
            std::fs::read(&path).map_err(|error| format!("{path} cannot be read: {error}"))
        } else {
            Err("is for an https:// address alone".to_owned())
        };
        let before = told.clone().unwrap_or_default();
        let made =
            read.and_then(|text| with(before, &text).map_err(|error| format!("{path} {error}")));
        told = told.and(section.checked(key, made));
    }
    told
}

fn callbacks(mut section: Section<'_>, key: Option<String>) -> Callbacks {
    let signed_path = section.text("signed_path");
    let former = section.secret("former_secret", "former_secret_file");
    let former = former.zip(key).map(|(secret, key)| Credentials { key, secret });
    Callbacks { signed_path, former }
}

fn inbox(mut section: Section<'_>) -> Option<Inbox> {
    let url = section.address("url");
    let credentials = credentials(&mut section);
    let address = section.address("onward_url");
    let secret = section.secret("onward_secret", "onward_secret_file");
    let secret =
        secret.and_then(|text| section.checked("onward_secret", WebhookSecret::read(&text)));
    let has_secret = ["onward_secret", "onward_secret_file"].map(|key| section.text(key));
    if address.is_some() != has_secret.iter().any(Option::is_some) {
        section.fault(
            "onward_url",
            "needs onward_secret (or onward_secret_file), and it an onward_url",
        );
    }
    Some(Inbox { url, credentials: credentials?, onward: address.zip(secret) })
}

/// `["139=EVM", "136=TVM"]`.
fn chains(mut section: Section<'_>) -> Vec<ChainFamily> {
    let text = section.text("chains").unwrap_or_default();
    let each = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    let chains: Vec<ChainFamily> =
        each.filter_map(|one| section.checked("chains", one.parse())).collect();
    section.checked("chains", ChainFamily::each_once(&chains));
    chains
}

fn credentials(section: &mut Section<'_>) -> Option<Credentials> {
    let key = section.required("key");
    let secret = section.required_secret();
    Some(Credentials { key: key?, secret: secret? })
}

#[cfg(test)]
mod tests;
