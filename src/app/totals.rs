//! `merchant-signer totals`: the sums of a range by day, chain and token, from the ledger; and, asked to
//! prove them, beside what the chain's own transfers say, to the unit.

mod prove;

use super::export::time;
use super::ledger_lines::{self, LinesWanted};
use crate::http::{ChargeRow, TokenNames, table};
use alloy::primitives::U256;
use billing::whole;
use clap::Args;
use config::Config;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use node::Dial;
use prove::{Prover, TransferProof};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};

/// Which sums are wanted.
#[derive(Args, Debug)]
pub struct TotalsCommand {
    /// Charges in blocks of this time or later: 2026-01-31 (midnight UTC), or 2026-01-31T12:00:00Z.
    #[arg(long, value_parser = time)]
    from: Option<Timestamp>,
    /// Charges in blocks before this time.
    #[arg(long, value_parser = time)]
    to: Option<Timestamp>,
    /// `csv` or `jsonl`.
    #[arg(long, default_value = "csv", value_parser = ["csv", "jsonl"])]
    format: String,
    /// Ask the chain's nodes for the record of every transaction, and compare each wallet to the unit.
    #[arg(long)]
    prove: bool,
    /// Address of the running Signer, if not the one in the configuration: `http://127.0.0.1:8080`.
    #[arg(long)]
    server: Option<String>,
}

/// A day (UTC, of the block), a chain, and a token.
type SumGroup = (String, u32, String);

/// The sums of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct GroupSums {
    charges: u64,
    amount: U256,
    /// Those of which nobody can tell whether they were charged: they are in no other sum.
    unproven: u64,
    unproven_amount: U256,
    fees: U256,
    /// Amount that left wallets by the chain's transfers; none if that was not asked.
    on_chain: Option<U256>,
}

const COLUMNS: [&str; 12] = [
    "day",
    "chainId",
    "token",
    "symbol",
    "charges",
    "amount",
    "amountDecimal",
    "unproven",
    "unprovenAmount",
    "fees",
    "feesDecimal",
    "onChain",
];

/// Writes the sums, a line for each group, and what differs to standard error. Tells whether nothing does.
pub async fn run(
    config: &Config,
    wanted: &TotalsCommand,
    dial: &dyn Dial,
    to: &mut dyn Write,
) -> Result<bool, Box<dyn Error>> {
    ledger_lines::refuse_empty_range(wanted.from, wanted.to)?;
    let from = wanted.from.unwrap_or(Timestamp::UNIX_EPOCH);
    let filter = ledger_lines::decided(Some(from), wanted.to);
    let lines = LinesWanted::all(filter, wanted.server.clone());
    let mut book = BTreeMap::new();
    let mut prover = if wanted.prove { Some(Prover::of(config, dial).await?) } else { None };
    let mut keep = async |line: ChargeRow| {
        add(&mut book, &line)?;
        match &mut prover {
            Some(prover) => prover.take(line).await,
            None => Ok(()),
        }
    };
    ledger_lines::each(config, &lines, &mut keep).await?;
    let proof = match prover {
        Some(prover) => Some(prover.finish().await?),
        None => None,
    };
    if let Some(proof) = &proof {
        for sums in book.values_mut() {
            sums.on_chain = Some(U256::ZERO);
        }
        for (group, moved) in &proof.moved {
            book.entry(group.clone()).or_default().on_chain = Some(*moved);
        }
    }
    let units = Units::of(config);
    if wanted.format == "jsonl" {
        write_jsonl(&book, &units, to)?;
    } else {
        write_csv(&book, &units, to)?;
    }
    let charges: u64 = book.values().map(|sums| sums.charges).sum();
    let mut said = io::stderr();
    let Some(TransferProof { differences, compared, .. }) = proof else {
        writeln!(said, "{charges} charges, not compared with the chain")?;
        return Ok(true);
    };
    for difference in &differences {
        writeln!(said, "{difference}")?;
    }
    let count = differences.len();
    writeln!(said, "{charges} charges, {compared} transactions compared, {count} differences")?;
    Ok(differences.is_empty())
}

/// Returns true if the amount of a line was taken, by the chain's word or a person's.
fn is_charged(line: &ChargeRow) -> bool {
    line.state == "charged" || line.resolved.as_deref() == Some("charged")
}

/// Token base units that were taken, or claimed.
fn amount(line: &ChargeRow) -> Result<U256, Box<dyn Error>> {
    let digits = line.charged_amount.as_deref().or(line.amount.as_deref()).unwrap_or("0");
    Ok(U256::from_str_radix(digits, 10)?)
}

/// The token that was taken, or claimed; empty where nothing tells it.
fn token(line: &ChargeRow) -> &str {
    line.charged_token.as_deref().or(line.token.as_deref()).unwrap_or_default()
}

/// The UTC day of the block that decided.
fn day(line: &ChargeRow) -> Result<String, Box<dyn Error>> {
    let time = Timestamp::from_second(i64::try_from(line.block_time.unwrap_or_default())?)?;
    Ok(time.to_zoned(TimeZone::UTC).date().to_string())
}

fn add(book: &mut BTreeMap<SumGroup, GroupSums>, line: &ChargeRow) -> Result<(), Box<dyn Error>> {
    let sums = book.entry((day(line)?, line.chain_id, token(line).to_owned())).or_default();
    let amount = amount(line)?;
    if is_charged(line) {
        sums.charges = sums.charges.saturating_add(1);
        sums.amount = sums.amount.saturating_add(amount);
    } else if line.state == "unproven" && line.resolved.is_none() {
        sums.unproven = sums.unproven.saturating_add(1);
        sums.unproven_amount = sums.unproven_amount.saturating_add(amount);
    }
    if let Some(fee) = &line.fee_share {
        sums.fees = sums.fees.saturating_add(U256::from_str_radix(fee, 10)?);
    }
    Ok(())
}

/// The units in which amounts are shown to people.
struct Units {
    tokens: TokenNames,
    /// Number of decimals of each chain's coin.
    coins: BTreeMap<u32, u8>,
}

impl Units {
    fn of(config: &Config) -> Self {
        let chains = config.chains.iter();
        let coins =
            chains.map(|chain| (chain.platform_id.0, chain.family.family().coin_decimals()));
        Self { tokens: TokenNames::of_config(config), coins: coins.collect() }
    }
}

fn cells(units: &Units, group: &SumGroup, sums: &GroupSums) -> [String; 12] {
    let (day, chain, token) = group;
    let [symbol, amount] = units.tokens.told(*chain, token, sums.amount);
    let fees = units.coins.get(chain).and_then(|decimals| whole(sums.fees, *decimals));
    [
        day.clone(),
        chain.to_string(),
        token.clone(),
        symbol,
        sums.charges.to_string(),
        sums.amount.to_string(),
        amount,
        sums.unproven.to_string(),
        sums.unproven_amount.to_string(),
        sums.fees.to_string(),
        fees.unwrap_or_default(),
        sums.on_chain.map(|moved| moved.to_string()).unwrap_or_default(),
    ]
}

fn write_csv(
    book: &BTreeMap<SumGroup, GroupSums>,
    units: &Units,
    to: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let mut csv = table::writer(to);
    csv.write_record(COLUMNS)?;
    for (group, sums) in book {
        csv.write_record(cells(units, group, sums))?;
    }
    Ok(csv.flush()?)
}

/// Every value is text: amounts fit into no number of JavaScript.
fn write_jsonl(
    book: &BTreeMap<SumGroup, GroupSums>,
    units: &Units,
    to: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    for (group, sums) in book {
        let named: serde_json::Map<_, _> = COLUMNS
            .into_iter()
            .zip(cells(units, group, sums))
            .map(|(name, cell)| (name.to_owned(), cell.into()))
            .collect();
        writeln!(to, "{}", serde_json::Value::Object(named))?;
    }
    Ok(())
}
