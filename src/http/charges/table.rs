//! The ledger as CSV: RFC 4180, a header line, times in UTC as RFC 3339. A request for CSV gets this.

use super::ChargeRow;
use jiff::Timestamp;
use std::io::Write;

/// The columns.
const COLUMNS: [&str; 41] = [
    "cursor",
    "billing",
    "subscribeId",
    "planId",
    "userHash",
    "period",
    "amount",
    "amountDecimal",
    "symbol",
    "token",
    "wallet",
    "state",
    "failCode",
    "failReason",
    "resolved",
    "chargedAmount",
    "chargedAmountDecimal",
    "chargedToken",
    "chargedWallet",
    "chainId",
    "address",
    "contract",
    "caller",
    "requestId",
    "txHash",
    "block",
    "blockTime",
    "acceptedAt",
    "settledAt",
    "result",
    "charges",
    "used",
    "fee",
    "feeDecimal",
    "feeShare",
    "feeShareDecimal",
    "refusedAt",
    "lastRefusedAt",
    "refusals",
    "tokenAllowance",
    "tokenBalance",
];

/// The line with the names of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Written first.
    Written,
    /// Left out: the lines go on from an earlier page.
    LeftOut,
}

impl Header {
    /// The header of a page behind this cursor.
    pub fn after<C>(cursor: Option<&C>) -> Self {
        if cursor.is_none() { Self::Written } else { Self::LeftOut }
    }
}

/// A writer of such a file.
pub fn writer<W: Write>(to: W) -> csv::Writer<W> {
    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(to)
}

/// A writer of the ledger.
pub fn ledger<W: Write>(to: W, header: Header) -> csv::Result<csv::Writer<W>> {
    let mut csv = writer(to);
    if header == Header::Written {
        csv.write_record(COLUMNS)?;
    }
    Ok(csv)
}

/// Writes a line of the ledger.
pub fn write_row<W: Write>(to: &mut csv::Writer<W>, charge: &ChargeRow) -> csv::Result<()> {
    to.write_record(cells(charge))
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

/// Free text: a spreadsheet would take it for a formula where it begins like one.
fn words(value: Option<&str>) -> String {
    match value {
        Some(words) if words.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{words}"),
        other => text(other),
    }
}

fn number(value: Option<u64>) -> String {
    value.map(|number| number.to_string()).unwrap_or_default()
}

fn time(seconds: Option<i64>) -> String {
    let known = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    known.map(|time| time.to_string()).unwrap_or_default()
}

fn cells(charge: &ChargeRow) -> [String; 41] {
    [
        charge.cursor.clone(),
        text(charge.billing.as_deref()),
        charge.subscribe_id.clone(),
        charge.plan_id.clone(),
        charge.user_hash.clone(),
        text(charge.period.as_deref()),
        text(charge.amount.as_deref()),
        text(charge.amount_decimal.as_deref()),
        words(charge.symbol.as_deref()),
        text(charge.token.as_deref()),
        text(charge.wallet.as_deref()),
        charge.state.clone(),
        text(charge.fail_code.as_deref()),
        words(charge.fail_reason.as_deref()),
        text(charge.resolved.as_deref()),
        text(charge.charged_amount.as_deref()),
        text(charge.charged_amount_decimal.as_deref()),
        text(charge.charged_token.as_deref()),
        text(charge.charged_wallet.as_deref()),
        charge.chain_id.to_string(),
        text(charge.address.as_deref()),
        text(charge.contract.as_deref()),
        words(charge.caller.as_deref()),
        words(charge.request_id.as_deref()),
        text(charge.tx_hash.as_deref()),
        number(charge.block),
        time(charge.block_time.and_then(|time| i64::try_from(time).ok())),
        time(charge.accepted_at),
        time(charge.settled_at),
        text(charge.result.as_deref()),
        number(charge.charges.and_then(|count| u64::try_from(count).ok())),
        text(charge.used.as_deref()),
        text(charge.fee.as_deref()),
        text(charge.fee_decimal.as_deref()),
        text(charge.fee_share.as_deref()),
        text(charge.fee_share_decimal.as_deref()),
        time(charge.refused_at),
        time(charge.last_refused_at),
        number(charge.refusals),
        text(charge.token_allowance.as_deref()),
        text(charge.token_balance.as_deref()),
    ]
}
