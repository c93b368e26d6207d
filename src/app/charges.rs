//! `merchant-signer charges`: what became of the charges of a subscription, a user or a wallet, in lines for people.

use super::ledger_lines::{self, LinesWanted};
use crate::http::ChargeRow;
use alloy::primitives::{Address, B256};
use billing::{Family, PlatformChainId, SubscribeId, UserHash, parse_address};
use clap::Args;
use config::Config;
use jiff::Timestamp;
use ledger::{LedgerFilter, LedgerOrder};
use std::error::Error;
use std::io::Write;

/// The selection of charges.
#[derive(Args, Debug)]
pub struct ChargesCommand {
    /// Of this subscription.
    #[arg(long)]
    subscription: Option<i64>,
    /// Of this user: `userHash`, 64 hex digits.
    #[arg(long)]
    user: Option<B256>,
    /// From this wallet.
    #[arg(long, value_parser = address)]
    wallet: Option<Address>,
    /// On this chain alone.
    #[arg(long)]
    chain: Option<u32>,
    /// At most so many lines, the newest first.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// As JSON lines, with everything.
    #[arg(long)]
    json: bool,
    /// Address of the running Signer, if not the one in the configuration: `http://127.0.0.1:8080`.
    #[arg(long)]
    server: Option<String>,
}

/// An address in the spelling of any family.
fn address(text: &str) -> Result<Address, String> {
    let read = |family| parse_address(family, text);
    read(Family::Evm).or_else(|_| read(Family::Tvm)).map_err(|why| why.to_string())
}

/// Writes a line for each charge and each refusal that is asked for.
pub async fn run(
    config: &Config,
    asked: &ChargesCommand,
    to: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let filter = LedgerFilter {
        subscribe: asked.subscription.map(SubscribeId),
        user: asked.user.map(UserHash),
        wallet: asked.wallet,
        chain: asked.chain.map(PlatformChainId),
        ..LedgerFilter::default()
    };
    let all = LinesWanted::all(filter, asked.server.clone());
    let wanted = LinesWanted { order: LedgerOrder::Newest, most: asked.limit, ..all };
    let mut any = false;
    ledger_lines::each(config, &wanted, &mut async |row: ChargeRow| {
        any = true;
        let told = if asked.json { serde_json::to_string(&row)? } else { line(&row) };
        Ok(writeln!(to, "{told}")?)
    })
    .await?;
    if !any && !asked.json {
        writeln!(to, "no charge and no refusal is like that")?;
    }
    Ok(())
}

/// When, how it stands, how much and for what, and why not where it was not.
fn line(row: &ChargeRow) -> String {
    let seconds = row.block_time.and_then(|time| i64::try_from(time).ok());
    let seconds = seconds.or(row.last_refused_at).or(row.refused_at).or(row.accepted_at);
    let time = seconds.and_then(|time| Timestamp::from_second(time).ok());
    let time = time.map_or_else(|| "?".to_owned(), |time| time.to_string());
    let state = match &row.resolved {
        Some(resolved) => format!("{} ({resolved})", row.state),
        None => row.state.clone(),
    };
    let named = [
        ("subscription", Some(row.subscribe_id.as_str())),
        ("plan", Some(row.plan_id.as_str())),
        ("period", row.period.as_deref()),
        ("billing", row.billing.as_deref()),
        ("transaction", row.tx_hash.as_deref()),
    ];
    let named = named.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    let mut parts = vec![time, state, money(row), format!("chain {}", row.chain_id)];
    parts.extend(named);
    let why = row.fail_reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{}{why}", parts.join("  "))
}

/// In whole tokens with their name, or in base units with the token's address.
fn money(row: &ChargeRow) -> String {
    let (raw, whole) = if row.charged_amount.is_some() {
        (&row.charged_amount, &row.charged_amount_decimal)
    } else {
        (&row.amount, &row.amount_decimal)
    };
    match (whole, &row.symbol, raw) {
        (Some(whole), Some(symbol), _) => format!("{whole} {symbol}"),
        (_, _, Some(raw)) => {
            format!("{raw} of {}", row.token.as_deref().unwrap_or("an unknown token"))
        }
        (_, _, None) => "an unknown amount".to_owned(),
    }
}
