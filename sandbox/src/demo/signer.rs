//! The Signer, installed and started as a merchant does it: a configuration, a key file, a journal.

use super::scheduler::{CALLER, SECRET};
use super::side::{BILLER, Side};
use super::{Error, Options, SIGNER_PORT, doors};
use merchant_signer::app::{self, Running};
use merchant_signer::config::Config;
use merchant_signer::journal::Journal;
use merchant_signer::node::Http;
use merchant_signer::telemetry;
use sandbox_chains::town::wallet;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file name of the configuration.
pub(crate) const CONFIG: &str = "signer.toml";

/// The file name of the key.
pub(crate) const KEY: &str = "billing.key";

/// The file name of the journal.
const JOURNAL: &str = "journal.sqlite";

/// Whether a Signer was installed here before.
pub(crate) fn is_installed(place: &Path) -> bool {
    place.join(JOURNAL).exists()
}

/// Installs it if it is not installed, and starts it.
pub(crate) async fn start(
    options: &Options,
    place: &Path,
    sides: &[Side],
) -> Result<Running, Error> {
    let port = doors::free(options.port(options.signer_port, SIGNER_PORT)).await?;
    let mut text = general(port, place);
    for side in sides {
        text.push_str(&side.config);
        text.push_str(&profile(side));
    }
    std::fs::write(place.join(CONFIG), &text)?;
    let fresh = !is_installed(place);
    if fresh {
        put_key(&place.join(KEY))?;
    }
    let config = Config::from_toml(&text, &[])?;
    telemetry::start_logging(&config.log);
    if fresh {
        Journal::initialise(&config.journal.path)?;
    }
    Ok(app::start(config, &Http).await?)
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

[journal]
path = "{}"
min_free = "16MiB"

[log]
# A chain on one machine has one node, and nobody else to ask.
filter = "warn,merchant_signer::chain::evm=error"

[callers.scheduler]
key = "{CALLER}"
secret = "{SECRET}"

"#,
        place.join(JOURNAL).display(),
    )
}

/// How the reference contract is called, the same on both families.
fn profile(side: &Side) -> String {
    let section = format!("chains.{}.billing", side.chain);
    let mer_key = side.family.spell(side.town.mer_key);
    format!(
        r#"
[{section}]
call = "processSubscribePlan(address merKey, (uint64 subscribeId, uint64 planId, uint32 planVersion, bytes32 userHash, uint32 period, uint128 amount)[] items, uint256 deadline) returns (uint8[] reasons)"
lookup = "subscribeOf(address merKey, uint64 planId, bytes32 userHash) view returns (address userWallet, address tokenAddress, uint128 amount, uint32 planVersion, uint32 period)"
charged = "event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount, address userWallet, address tokenAddress)"
skipped = "event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason)"

[{section}.constants]
merKey = "{mer_key}"

[{section}.reasons]
1 = "SUBSCRIPTION_NOT_FOUND"
2 = "SUBSCRIPTION_CANCELLED"
3 = "TERMS_MISMATCH"
4 = "ALREADY_CHARGED"
5 = "SUBSCRIPTION_ENDED"
6 = "NOT_DUE_YET"
7 = "PERIOD_PASSED"
8 = "PLAN_INACTIVE"
9 = "TOKEN_PAUSED"
10 = "HOLDER_BLOCKED"
11 = "PAYEE_BLOCKED"
12 = "ALLOWANCE_INSUFFICIENT"
13 = "BALANCE_INSUFFICIENT"
14 = "TOKEN_TRANSFER_FAILED"
"NotBiller(address,address)" = "NOT_AUTHORIZED"

"#
    )
}
