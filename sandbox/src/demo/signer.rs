//! The Signer, installed and started as a merchant does it: a configuration, a key file, a journal.

use super::scheduler::{CALLER, OPERATOR, OPERATOR_SECRET, SECRET};
use super::side::{BILLER, Side};
use super::{Error, Options, SIGNER_PORT, front};
use config::Config;
use merchant_signer::app::{self, Machine, Running, Sockets, journal_place};
use merchant_signer::telemetry;
use node::Http;
use sandbox_chains::town::wallet;
use sandbox_platform::{Platform, SYMBOL};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The file name of the configuration.
pub(crate) const CONFIG: &str = "signer.toml";

/// The file name of the key.
pub(crate) const KEY: &str = "billing.key";

/// The file name of the journal.
pub(crate) const JOURNAL: &str = "journal.sqlite";

/// Makes the directory for it in that of the state, and gives its path, which is good from everywhere.
pub(crate) fn make(state: &Path) -> Result<PathBuf, Error> {
    let place = std::path::absolute(state.join("signer"))?;
    std::fs::create_dir_all(&place).map_err(|why| format!("{}: {why}", place.display()))?;
    Ok(place)
}

/// Returns true if a Signer was installed here before.
pub(crate) fn is_installed(place: &Path) -> bool {
    place.join(JOURNAL).exists()
}

/// Installs it if it is not installed, and starts it. Gives it with the address at which it is asked.
pub(crate) async fn start(
    options: &Options,
    place: &Path,
    sides: &[Side],
    platform: &Platform,
) -> Result<(Running, SocketAddr), Error> {
    let listener = options.port(options.signer_port, SIGNER_PORT).open().await?;
    let address = listener.local_addr()?;
    let text = std::fs::read_to_string(install(address.port(), place, sides)?)?;
    let mut config = Config::from_toml(&text, &[])?;
    config.http.listen.set_port(0);
    telemetry::start_logging(&config.log, None);
    if !is_installed(place) {
        journal_place::create(&config.journal, None)?;
    }
    let running = app::start(config, Machine::real(&Http::default()), Sockets::default()).await?;
    front::serve(listener, running.address, platform)?;
    Ok((running, address))
}

/// Writes the Signer's configuration, and its key if there is none. Returns the path of the configuration.
pub(crate) fn install(port: u16, place: &Path, sides: &[Side]) -> Result<PathBuf, Error> {
    let mut text = general(port, place);
    for side in sides {
        text.push_str(&side.config);
        text.push_str(&profile(side));
    }
    let path = place.join(CONFIG);
    std::fs::write(&path, &text)?;
    if !place.join(KEY).exists() {
        put_key(&place.join(KEY))?;
    }
    Ok(path)
}

fn put_key(path: &Path) -> Result<(), Error> {
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", hex::encode(wallet(BILLER).to_bytes()))?;
    Ok(())
}

fn general(port: u16, place: &Path) -> String {
    format!(
        r#"[http]
listen = "127.0.0.1:{port}"
page = true

[journal]
path = "{}"
min_free = "16MiB"

[log]
# A chain on one machine has one node, nothing that limits it, and is away whenever time is moved: no warning of that.
filter = "error"

[callers.scheduler]
key = "{CALLER}"
secret = "{SECRET}"

# For a person: to pause and to resume.
[callers.operator]
key = "{OPERATOR}"
secret = "{OPERATOR_SECRET}"
bill = false
control = true

"#,
        place.join(JOURNAL).display(),
    )
}

/// The merchant of the reference contract, and the one token that is charged.
fn profile(side: &Side) -> String {
    let section = format!("chains.{}.billing", side.chain);
    let mer_key = side.family.spell(side.town.mer_key);
    let (tokens, token) =
        (format!("chains.{}.policy.tokens", side.chain), side.family.spell(side.town.token));
    format!(
        "\n[{section}]\nprofile = \"reference\"\nconstants = {{ merKey = \"{mer_key}\" }}\n\n\
         [{tokens}]\n{SYMBOL} = \"{token}\"\n\n"
    )
}
