//! Billing through another contract, or by another name of its periods: by a person's word, since what was charged
//! before is forgotten by it.

use crate::commit::acceptance::next_batch;
use crate::sql::{Database, OptionalExtension as _, SqlError, SqlResult, columns, params};
use crate::tables::doubts;
use crate::tables::networks::{self, ContractKey, naming_text};
use crate::{HistoryEvent, Journal, JournalError, history};
use alloy::primitives::Address;
use billing::{PeriodNaming, PlatformChainId};
use serde_json::json;
use std::time::Duration;

/// The terms by which a chain is to be billed from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepting {
    /// The platform's id.
    pub chain: PlatformChainId,
    /// The contract.
    pub contract: Address,
    /// The naming of the periods of its charges.
    pub naming: PeriodNaming,
    /// The time that a charge without a period stays claimed.
    pub guard: Duration,
    /// Why, for the history.
    pub why: String,
}

/// Why nothing is accepted. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum NotAccepted {
    /// Nobody said why.
    #[error("say why: it is kept in the history. Nothing was changed")]
    NoReason,
    /// The journal has nothing to do with the chain yet.
    #[error("the journal knows no chain {0}: start the Signer, there is nothing to accept")]
    Unknown(PlatformChainId),
    /// Nothing differs.
    #[error("chain {0} is billed like that already: there is nothing to accept")]
    Same(PlatformChainId),
    /// Charges without a period would not meet those of the open billings that name a period, once these are
    /// charged.
    #[error(
        "charges without a period do not meet those that have one, and billings of the contract on chain {0} are \
         open: nothing would guard what they charge. Let the chain decide them, and run this again"
    )]
    Open(PlatformChainId),
    /// The journal may be an old copy, which does not know when a period was charged last.
    #[error(
        "the journal is an old copy that has not learnt yet what chain {0} was charged since: start the Signer with \
         the periods named as before, and run this again when /health/ready tells of no old copy"
    )]
    Forgotten(PlatformChainId),
    /// Charges without a period do not meet earlier charges that name a period.
    #[error(
        "charges without a period are guarded for {guard_s} s after the one before, and the contract has \
         charged {ago_s} s ago, by name of a period: nothing guards that charge. Bill nothing on chain {chain} for \
         {} s more, and run this again", guard_s.saturating_sub(*ago_s)
    )]
    TooSoon {
        /// The platform's id.
        chain: PlatformChainId,
        /// The time that a charge is guarded, s.
        guard_s: u64,
        /// The time since the newest charge, s.
        ago_s: u64,
    },
    /// The journal gave no answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<SqlError> for NotAccepted {
    fn from(error: SqlError) -> Self {
        Self::Journal(error.into())
    }
}

impl Journal {
    /// Has a chain billed through another contract, or its periods named otherwise, from the next start on.
    pub async fn accept_config(&self, accepting: Accepting) -> Result<(), NotAccepted> {
        let at_ms = self.now_ms();
        self.queue.write(move |conn| accept(conn, &accepting, at_ms)).await
    }
}

fn accept(conn: &dyn Database, accepting: &Accepting, at_ms: i64) -> Result<(), NotAccepted> {
    let Accepting { chain, contract, naming, guard, why } = accepting;
    if why.trim().is_empty() {
        return Err(NotAccepted::NoReason);
    }
    let by_id = "SELECT contract FROM chain WHERE id = ?1";
    let before = conn.query_row(by_id, [chain.0], |row| columns::address(row, 0)).optional()?;
    let before = before.ok_or(NotAccepted::Unknown(*chain))?;
    let key = ContractKey { chain: *chain, contract: *contract };
    let named = networks::named(conn, key)?;
    let renamed = named.as_ref().is_some_and(|(before, _)| before != naming);
    if before == *contract && !renamed {
        return Err(NotAccepted::Same(*chain));
    }
    if renamed && *naming == PeriodNaming::Guard {
        guarded(conn, key, *guard, at_ms)?;
    }
    let since = match &named {
        Some((_, since)) if !renamed => *since,
        Some(_) => next_batch(conn)?.0,
        None => 0,
    };
    conn.execute(
        "UPDATE chain SET contract = ?2 WHERE id = ?1",
        params![chain.0, contract.as_slice()],
    )?;
    networks::name_periods(conn, key, naming, since)?;
    let was = named.as_ref().map(|(before, _)| naming_text(before));
    let body = json!({"chain": chain.0, "contract": contract, "period": naming_text(naming), "since": since,
                      "before": {"contract": before, "period": was}, "why": why});
    Ok(history::append(conn, at_ms, HistoryEvent::ContractChanged, &body)?)
}

/// Has imported charges without a period meet every later one of a contract whose periods are named, until their guards
/// are over: as if the naming had changed now.
pub(crate) fn meet_guarded(conn: &dyn Database, key: ContractKey, at_ms: i64) -> SqlResult<()> {
    let ContractKey { chain, contract } = key;
    let billed = "SELECT 1 FROM chain WHERE id = ?1 AND contract = ?2";
    if !conn.prepare(billed)?.exists(params![chain.0, contract.as_slice()])? {
        return Ok(());
    }
    let Some((naming @ PeriodNaming::Field(_), 0)) = networks::named(conn, key)? else {
        return Ok(());
    };
    let since = next_batch(conn)?.0;
    networks::name_periods(conn, key, &naming, since)?;
    let body = json!({"chain": chain.0, "contract": contract, "period": naming_text(&naming), "since": since,
                      "why": "charges without a period were imported"});
    history::append(conn, at_ms, HistoryEvent::ContractChanged, &body)
}

/// Refused until everything that was charged by name of a period, or may have been, is as old as a guard lasts.
fn guarded(
    conn: &dyn Database,
    ContractKey { chain, contract }: ContractKey,
    guard: Duration,
    at_ms: i64,
) -> Result<(), NotAccepted> {
    let of_contract = params![chain.0, contract.as_slice()];
    let open = "SELECT 1 FROM batch WHERE chain = ?1 AND contract = ?2 AND state = 'open'";
    if conn.prepare(open)?.exists(of_contract)? {
        return Err(NotAccepted::Open(chain));
    }
    if doubts::touches(conn, chain)? {
        return Err(NotAccepted::Forgotten(chain));
    }
    // Of a nonce that was used up by no transaction too, claims are held: nobody knows yet whom that let charge.
    let newest = "SELECT max(batch.block_s) FROM claim, batch WHERE batch.id = claim.batch
                  AND claim.live = 1 AND claim.period <> ''
                  AND claim.scope = (SELECT id FROM scope WHERE scope.chain = ?1 AND scope.contract = ?2)";
    let newest: SqlResult<Option<i64>> = conn.query_row(newest, of_contract, |row| row.get(0));
    let Some(newest) = newest? else { return Ok(()) };
    let ago_s = u64::try_from(at_ms.div_euclid(1000).saturating_sub(newest)).unwrap_or(0);
    let guard_s = guard.as_secs();
    if ago_s >= guard_s { Ok(()) } else { Err(NotAccepted::TooSoon { chain, guard_s, ago_s }) }
}
