#![doc = include_str!("../README.md")]

mod asking;
mod billing;
mod callers;
mod chain;
mod database_url;
mod faults;
mod http;
mod incumbent;
mod journal;
mod key_ref;
mod keys;
mod kinds;
mod l1_fee;
mod layers;
mod nodes;
mod places;
mod policy;
mod profiles;
mod provider;
mod reader;
mod replacement;
mod secret;
mod secret_url;
mod signing;
mod stores;
mod traces;
mod tree;
mod units;
mod webhook;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use alloy::primitives::B256;
use strum::{EnumIter, EnumString, IntoStaticStr};
use tracing_subscriber::EnvFilter;

pub use asking::Asking;
pub use billing::BillingConfig;
pub use callers::{Caller, Rights};
pub use chain::{
    BeaconConfig, BeaconNetwork, ChainConfig, ChainKeys, EvmConfig, FamilyConfig, FeeConfig,
    Finality, NewWork, ProvenBy, SealsConfig, TvmConfig, TvmFeeConfig, TvmNode,
};
pub use database_url::{DatabaseUrl, NotADatabaseUrl};
pub use faults::{ConfigError, ConfigErrors};
pub use http::HttpConfig;
pub use journal::{BackupPlan, JournalConfig, JournalPlace, JournalServer};
pub use key_ref::KeyRef;
pub use keys::KeysConfig;
pub use l1_fee::L1Fee;
pub use policy::{PolicyConfig, TokenLimits};
pub use replacement::Replacement;
pub use secret_url::{NotAnRpcUrl, RpcUrl};
pub use signing::{SigningConfig, SigningText};
pub use stores::{
    AwsConfig, AwsCredentialSource, AwsSecret, Custody, GcpConfig, GcpKey, KmsKey, Pkcs11Config,
    StoreName, StoredKey, TokenKey, VaultConfig, VaultLogin, VaultProof, VaultSecret,
};
pub use traces::TracesConfig;
pub use units::{Sun, Wei};
pub use webhook::WebhookConfig;

use faults::{Faults, Reported};
use host::owner_only::{self, Looseness};
use kinds::Expected;
use layers::Environment;
use reader::TableReader;

/// The whole configuration. Only [`Config::load`] and [`Config::from_toml`] make one, so whoever
/// holds it need not check anything again.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address at which requests are received, and the limits on them.
    pub http: HttpConfig,
    /// Callers that may ask: at least one, unless `allow_unauthenticated`. One key may occur with several secrets,
    /// of which each is good.
    pub callers: Vec<Caller>,
    /// True if requests without a signature are served. Only ever true on a loopback address.
    pub allow_unauthenticated: bool,
    /// The place of the journal.
    pub journal: JournalPlace,
    /// The places where keys are.
    pub keys: KeysConfig,
    /// The settings for reaching nodes.
    pub outbound: OutboundConfig,
    /// The chains, ordered by platform chain id: at least one, at most one of them the default.
    pub chains: Vec<ChainConfig>,
    /// The settings of the log: what is logged, and how.
    pub log: LogConfig,
    /// Receiver of events; none if events are not sent.
    pub webhook: Option<WebhookConfig>,
    /// Receiver of the spans of charges; none if they are not sent.
    pub traces: Option<TracesConfig>,
    /// SHA-256 of the part that signing needs: a process that holds keys has to have read the same.
    pub signing_digest: B256,
}

/// The settings for reaching nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboundConfig {
    /// True if requests go through the proxies of `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    pub environment_proxies: bool,
}

/// The settings of the log: what is logged, and how.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// The shape of a line.
    pub format: LogFormat,
    /// Which lines are written, as directives of `tracing_subscriber::EnvFilter`. Known to parse.
    pub filter: String,
}

/// The shape of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object, for machines.
    Json,
}

impl Config {
    /// Reads the defaults, the file if one is given, and the environment of the process.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigErrors> {
        let faults = Faults::default();
        let environment = process_environment(&faults);
        let text = read_file(path, &faults);
        let looseness = path.and_then(|path| {
            let file = std::fs::metadata(path).ok()?;
            owner_only::check(&file).err()
        });
        let outcome =
            text.and_then(|text| Self::read(&text, path, looseness, &environment, &faults));
        faults.settle(outcome)
    }

    /// The most that this machine's clock may be apart from that of a chain, of those whose time nobody moves by hand.
    pub fn widest_clock_tolerance(&self) -> Duration {
        const A_DAY: Duration = seconds(86_400);
        let all = self.chains.iter().map(|chain| chain.family.clock_tolerance());
        all.filter(|tolerance| *tolerance <= A_DAY).max().unwrap_or_default()
    }

    /// Returns true if a process of its own is to hold the keys that come into memory, and there are any.
    pub fn splits_keys(&self) -> bool {
        let mut keys = self.chains.iter().flat_map(|chain| chain.keys.all());
        self.keys.split && keys.any(|(_, key)| !key.is_remote())
    }

    /// Reads the places of keystores from a configuration that may lack everything else: a key can be made before
    /// the rest is known.
    pub fn load_keys(path: Option<&Path>) -> Result<KeysConfig, ConfigErrors> {
        let faults = Faults::default();
        let environment = process_environment(&faults);
        let keys = read_file(path, &faults).and_then(|text| {
            let mut tree = layers::merge(&text, &environment, &faults)?;
            places::start_at(path, &mut tree);
            TableReader::read_all(&tree, &faults, |root| {
                let keys = root.section("keys", |reader| {
                    KeysConfig::read(reader, &environment, PathBuf::new())
                });
                root.ignore_the_rest();
                keys
            })
        });
        faults.settle(keys)
    }

    /// Reads what is needed to ask a running Signer, from a configuration that may have any fault elsewhere.
    pub fn load_asking(path: Option<&Path>) -> Result<Asking, ConfigErrors> {
        let faults = Faults::default();
        let environment = process_environment(&faults);
        let read = read_file(path, &faults).and_then(|text| {
            let mut tree = layers::merge(&text, &environment, &faults)?;
            places::start_at(path, &mut tree);
            TableReader::read_all(&tree, &faults, |root| {
                let http = root.section("http", HttpConfig::read);
                let callers = callers::read_usable(root);
                root.ignore_the_rest();
                Ok(Asking::of(&http?, callers?))
            })
        });
        faults.settle_read(read)
    }

    /// Returns what is needed to ask this Signer once it runs.
    pub fn asking(&self) -> Asking {
        Asking::of(&self.http, self.callers.clone())
    }

    /// The same from a text and a list of environment variables. Looks at neither the environment
    /// of the process nor any file other than the `secret_file`s that the text names.
    pub fn from_toml(text: &str, environment: &[(String, String)]) -> Result<Self, ConfigErrors> {
        let faults = Faults::default();
        let outcome = Self::read(text, None, None, environment, &faults);
        faults.settle(outcome)
    }

    fn read(
        text: &str,
        file: Option<&Path>,
        looseness: Option<Looseness>,
        environment: &Environment,
        faults: &Faults,
    ) -> Result<Self, Reported> {
        let mut tree = layers::merge(text, environment, faults)?;
        places::start_at(file, &mut tree);
        let signing_digest = signing::digest_of(tree.clone());
        TableReader::read_all(&tree, faults, |root| {
            let http = root.section("http", HttpConfig::read);
            let journal = root.section("journal", JournalPlace::read);
            let ceiling = journal.as_ref().map(|journal| journal.beside(".signed"));
            let ceiling = ceiling.unwrap_or_default();
            let keys =
                root.section("keys", |reader| KeysConfig::read(reader, environment, ceiling));
            let log = root.section("log", LogConfig::read);
            let outbound = root.section("outbound", OutboundConfig::read);
            let webhook = root.has("webhook");
            let webhook = webhook.then(|| root.section("webhook", WebhookConfig::read)).transpose();
            let traces = root.has("traces");
            let traces = traces.then(|| root.section("traces", TracesConfig::read)).transpose();
            let chains = chain::read_all(root, environment);
            if let (Some(why), Some(_)) = (looseness, &chains.non_test_chain) {
                let plain = journal.as_ref().is_ok_and(|journal| !journal.has_password());
                let secret = |path: &String| path != "journal.url" || !plain;
                for path in layers::secrets_in(text).into_iter().filter(secret) {
                    let problem = format!("stands in the configuration file, and {why}");
                    root.fault_at(&path, problem);
                }
            }
            if let (Ok(Some(told)), Some(chain)) = (&webhook, &chains.non_test_chain) {
                told.check_private(root, chain);
            }
            let callers = callers::read_all(root, chains.non_test_chain.as_deref());
            let unsigned = root.get("allow_unauthenticated", &kinds::flag());
            if let Ok(unsigned) = unsigned {
                let heard_at = http.as_ref().map(|http| http.listen);
                check_doors(root, unsigned, callers.as_deref(), heard_at);
                if let (true, Some(chain)) = (unsigned, &chains.non_test_chain) {
                    let problem = format!(
                        "true only goes with test chains, and {chain} is not marked as one: describe a \
                         caller instead"
                    );
                    root.fault("allow_unauthenticated", problem);
                }
            }
            Ok(Self {
                http: http?,
                callers: callers?,
                allow_unauthenticated: unsigned?,
                journal: journal?,
                keys: keys?,
                outbound: outbound?,
                chains: chains.read?,
                log: log?,
                webhook: webhook?,
                traces: traces?,
                signing_digest,
            })
        })
    }
}

/// Nobody is served unsigned by accident, nor from another machine.
fn check_doors(
    root: &TableReader<'_>,
    unsigned: bool,
    callers: Result<&[Caller], &Reported>,
    heard_at: Result<SocketAddr, &Reported>,
) {
    if !unsigned && callers.is_ok_and(<[Caller]>::is_empty) {
        root.fault(
            "callers",
            "missing; describe at least one as [callers.<label>] with key and secret, or set \
             allow_unauthenticated = true to try things out on a loopback address",
        );
    }
    if unsigned && heard_at.is_ok_and(|address| !address.ip().to_canonical().is_loopback()) {
        root.fault(
            "allow_unauthenticated",
            "true only goes with a loopback address in http.listen, such as \"127.0.0.1:9980\"",
        );
    }
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

impl OutboundConfig {
    fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let environment_proxies = reader.get("environment_proxies", &kinds::flag())?;
        Ok(Self { environment_proxies })
    }

    /// The variable that names a proxy which is not used.
    pub fn ignored_proxy(self) -> Option<&'static str> {
        let names =
            ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
        let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        names.into_iter().find(set).filter(|_| !self.environment_proxies)
    }
}

impl LogConfig {
    fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let format = kinds::word("is neither");
        let directives =
            Expected::of_text("log directives such as \"info,engine=debug\"", |text| {
                let parsed = EnvFilter::builder().parse(text);
                parsed.map(|_| text.to_owned()).map_err(|_| "cannot be read")
            });
        let format = reader.get("format", &format);
        let filter = reader.get("filter", &directives);
        Ok(Self { format: format?, filter: filter? })
    }
}

fn read_file(path: Option<&Path>, faults: &Faults) -> Result<String, Reported> {
    let Some(path) = path else { return Ok(String::new()) };
    std::fs::read_to_string(path)
        .map_err(|error| faults.add(path.display().to_string(), format!("cannot be read: {error}")))
}

/// Returns the variables that another process of this program has to be started with to read the same
/// configuration.
pub fn own_environment() -> impl Iterator<Item = (OsString, OsString)> {
    let ours = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_ours));
    ours.chain(certificates())
}

/// Returns the variables that say where the certificates are by which stores of keys are known.
pub fn certificates() -> impl Iterator<Item = (OsString, OsString)> {
    let known = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
    let of_them = move |name: &OsString| name.to_str().is_some_and(|name| known.contains(&name));
    std::env::vars_os().filter(move |(name, _)| of_them(name))
}

/// Returns true if a variable of the process concerns the Signer.
fn is_ours(name: &str) -> bool {
    layers::is_override(name) || incumbent::is_ours(name) || keys::has_variable(name)
}

/// Returns true if variables of the process say something of the configuration.
pub fn is_in_environment() -> bool {
    let says = |name: &str| layers::is_override(name) || incumbent::is_ours(name);
    std::env::vars_os().any(|(name, _)| name.to_str().is_some_and(says))
}

/// Returns the variables that the process was started with, as far as they are ours.
fn process_environment(faults: &Faults) -> Vec<(String, String)> {
    let mut ours = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        if !is_ours(name) && layers::meant(name).is_none() {
            continue;
        }
        match value.into_string() {
            Ok(value) => ours.push((name.to_owned(), value)),
            Err(_) => drop(faults.add(name, "is not valid UTF-8")),
        }
    }
    ours
}
