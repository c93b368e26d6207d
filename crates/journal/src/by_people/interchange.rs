//! Claims on their way from one journal to another: a file of JSON lines, whose format is in docs/claims-format.md.
//! Importing only adds: what the file names is treated as if it had been learnt from the chain.

use crate::by_people::claims_file::{
    BillingLine, ClaimLine, FORMAT, FirstLine, NetworkLine, VERSION,
};
use crate::by_people::{config_change, resolution};
use crate::commit::{acceptance, endings, place_takers, rows};
use crate::model::{Billing, Line, LineOutcome};
use crate::sql::{Database, SqlError, SqlResult};
use crate::tables::networks::ContractKey;
use crate::tables::{doubts, networks};
use crate::{
    Binding, HistoryEvent, Journal, JournalError, LaneId, Network, Origin, Resolution, Settlement,
    history,
};
use billing::{
    BatchId, BatchState, BlockRef, Execution, Family, ForeignEffect, ForeignTx, ItemOutcome,
    Landed, Period, PeriodNaming, PlatformChainId, Verdict,
};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// The contents written to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its lines.
    pub text: String,
    /// Billings in it.
    pub billings: u64,
    /// Billings that are not in it, because the chain has not decided.
    pub open: u64,
}

/// The counts of billings taken from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Billings that were not known.
    pub added: u64,
    /// Billings that were.
    pub known: u64,
}

/// Why nothing was taken from a file.
#[derive(Debug, thiserror::Error)]
pub enum NotImported {
    /// A line makes no sense, or not here.
    #[error("line {line}: {problem}. Nothing was imported")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The problem that was found.
        problem: String,
    },
    /// Nobody said why.
    #[error("say why: it is kept in the history. Nothing was imported")]
    NoReason,
    /// The journal did not take it.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<SqlError> for NotImported {
    fn from(error: SqlError) -> Self {
        Self::Journal(error.into())
    }
}

impl Journal {
    /// Everything that the chain has decided, as a file for another journal.
    pub async fn export_claims(&self) -> Result<Exported, JournalError> {
        self.queue.read(export).await
    }

    /// Adds what such a file names, all of it or nothing.
    pub async fn import_claims(
        &self,
        text: String,
        by: String,
        why: String,
    ) -> Result<Imported, NotImported> {
        let at_ms = self.now_ms();
        self.queue.write(move |conn| import(conn, &text, &by, &why, at_ms)).await
    }
}

fn at(line: usize, problem: impl Into<String>) -> NotImported {
    NotImported::Line { line, problem: problem.into() }
}

/// Every billing that the chain has decided, in the order of the journal.
fn export(conn: &dyn Database) -> SqlResult<Exported> {
    let mut networks = Vec::new();
    for key in networks::all(conn)? {
        let ContractKey { chain, contract } = key;
        let Network { family, id } = networks::of(conn, chain)?;
        let family = family.word().to_owned();
        let period = match networks::named(conn, key)? {
            Some((PeriodNaming::Field(name), _)) => Some(name),
            Some((PeriodNaming::Guard, _)) | None => None,
        };
        networks.push(NetworkLine { chain: chain.0, family, network: id, contract, period });
    }
    let header = FirstLine { format: FORMAT.to_owned(), version: VERSION, networks };
    let mut exported = Exported { text: line_of(&header)?, billings: 0, open: 0 };
    let ids: Vec<i64> = conn
        .prepare("SELECT id FROM batch ORDER BY id")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in ids {
        let Some(billing) = rows::billing(conn, BatchId(id))? else { continue };
        if billing.state == BatchState::Open {
            exported.open = exported.open.saturating_add(1);
        } else if let Some(told) = told(&billing, guard(conn, &billing)?) {
            exported.text.push_str(&line_of(&told)?);
            exported.billings = exported.billings.saturating_add(1);
        }
    }
    Ok(exported)
}

fn line_of(value: &impl Serialize) -> SqlResult<String> {
    let text = serde_json::to_string(value);
    let text = text.map_err(SqlError::foreign)?;
    Ok(text + "\n")
}

/// Returns the time that the charges of a billing are guarded after its block, s.
fn guard(conn: &dyn Database, billing: &Billing) -> SqlResult<u64> {
    let sql = "SELECT coalesce(max(guard_until_s), 0) FROM claim WHERE batch = ?1";
    let until: u64 = conn.query_row(sql, [billing.batch.0], |row| row.get(0))?;
    Ok(billing.block.map_or(0, |block| until.saturating_sub(block.time)))
}

/// Returns the line of a billing of which a transaction of its own landed. A billing whose place another one took
/// is told on that one's line.
fn told(billing: &Billing, guard: u64) -> Option<BillingLine> {
    let block = billing.block?;
    let transaction = match (billing.state, billing.winner) {
        // A person's word on this billing, given or still to come, is not lost with this journal.
        (BatchState::Usurped, None) => billing.current().hash(),
        (BatchState::Usurped, Some(_)) => return None,
        (_, winner) => winner?,
    };
    Some(BillingLine {
        chain: billing.origin.lane.chain.0,
        contract: billing.origin.contract,
        signer: billing.origin.lane.signer,
        position: billing.position,
        transaction,
        block: block.number,
        block_time: block.time,
        guard,
        succeeded: billing.state != BatchState::Reverted,
        claims: billing.items.iter().filter_map(claim).collect(),
    })
}

fn claim(line: &Line) -> Option<ClaimLine> {
    let outcome = match (&line.outcome, line.resolved) {
        (_, Some(Resolution::Free)) => return None,
        (_, Some(Resolution::Charged))
        | (Some(LineOutcome::Told(ItemOutcome::Charged | ItemOutcome::ChargedAsTold(_))), None) => {
            "charged"
        }
        (Some(LineOutcome::Told(ItemOutcome::Unproven)), None) => "unproven",
        (
            Some(LineOutcome::Told(ItemOutcome::Failed { .. }) | LineOutcome::Released) | None,
            None,
        ) => {
            return None;
        }
    };
    let (key, terms) = (line.item.key, line.terms());
    Some(ClaimLine {
        subscribe_id: line.item.subscribe.0,
        plan_id: key.plan.0,
        user_hash: key.user.0,
        period: match key.period {
            Period::Numbered(number) => Some(number.to_string()),
            Period::Guarded => None,
        },
        amount: line.item.amount.to_string(),
        plan_version: terms.plan_version.map(|version| version.to_string()),
        wallet: terms.wallet,
        token: terms.token,
        outcome: outcome.to_owned(),
    })
}

/// Takes all of a file, or nothing of it.
fn import(
    conn: &dyn Database,
    text: &str,
    by: &str,
    why: &str,
    at_ms: i64,
) -> Result<Imported, NotImported> {
    if why.trim().is_empty() {
        return Err(NotImported::NoReason);
    }
    let mut lines = (1..).zip(text.lines());
    let (_, first) = lines.next().ok_or_else(|| at(1, "the file is empty"))?;
    let header: FirstLine = serde_json::from_str(first).map_err(|e| at(1, e.to_string()))?;
    bind(conn, &header, at_ms)?;
    let mut imported = Imported { added: 0, known: 0 };
    for (number, line) in lines {
        let told: BillingLine =
            serde_json::from_str(line).map_err(|e| at(number, e.to_string()))?;
        if !header.networks.iter().any(|known| known.chain == told.chain) {
            return Err(at(number, format!("the first line says nothing of chain {}", told.chain)));
        }
        let added = take(conn, number, &told, Word { by, why, at_ms })?;
        if added && told.claims.iter().any(|claim| claim.period.is_none()) {
            let key = ContractKey { chain: PlatformChainId(told.chain), contract: told.contract };
            config_change::meet_guarded(conn, key, at_ms)?;
        }
        let count = if added { &mut imported.added } else { &mut imported.known };
        *count = count.saturating_add(1);
    }
    let digest = hex::encode(Sha256::digest(text));
    let body = json!({"file": digest, "added": imported.added, "known": imported.known,
                      "by": by, "why": why});
    history::append(conn, at_ms, HistoryEvent::Imported, &body)?;
    Ok(imported)
}

/// Has the ids of the file stand for what they stand for there, if nothing contradicts.
fn bind(conn: &dyn Database, header: &FirstLine, at_ms: i64) -> Result<(), NotImported> {
    if header.format != FORMAT || header.version != VERSION {
        return Err(at(1, format!("this is no file of {FORMAT}, version {VERSION}")));
    }
    for told in &header.networks {
        let chain = PlatformChainId(told.chain);
        if !chain.can_be_configured() {
            return Err(at(1, format!("{chain} is no id of a chain: 1 to 2147483647")));
        }
        let family = Family::from_word(&told.family)
            .ok_or_else(|| at(1, format!("there is no family {:?}", told.family)))?;
        let network = Network { family, id: told.network };
        let naming = told.period.clone().map_or(PeriodNaming::Guard, PeriodNaming::Field);
        let binding = Binding { chain, network, contract: told.contract, naming };
        networks::bind(conn, &binding, at_ms).map_err(|why| {
            if let JournalError::Misbound(why) = why { at(1, why.of_a_file()) } else { why.into() }
        })?;
    }
    Ok(())
}

/// The person who imports a file, the reason and the time.
#[derive(Clone, Copy)]
struct Word<'a> {
    by: &'a str,
    why: &'a str,
    at_ms: i64,
}

/// Adds one billing; tells whether it was not known.
fn take(
    conn: &dyn Database,
    number: usize,
    told: &BillingLine,
    Word { by, why, at_ms }: Word<'_>,
) -> Result<bool, NotImported> {
    told.fits().map_err(|why| at(number, why))?;
    let lane = LaneId { chain: PlatformChainId(told.chain), signer: told.signer };
    let origin = Origin { lane, contract: told.contract };
    if doubts::unknown(conn, vec![told.transaction])?.is_empty() {
        return Ok(false);
    }
    let mut items = Vec::with_capacity(told.claims.len());
    let mut outcomes = Vec::with_capacity(told.claims.len());
    for claim in &told.claims {
        let (item, outcome) = claim.read().map_err(|why| at(number, why))?;
        items.push(item);
        outcomes.push(outcome);
    }
    let position = match networks::of(conn, lane.chain)?.family {
        Family::Evm => told.position,
        // Only counted there: the next is as good as any.
        Family::Tvm => acceptance::open_lane(conn, lane, 0, at_ms)?,
    };
    let block = BlockRef { number: told.block, time: told.block_time, hash: None };
    let landed = Landed { hash: told.transaction, block, record: None };
    let execution = match (told.succeeded, outcomes.is_empty()) {
        (true, _) => Execution::Succeeded(outcomes),
        (false, true) => Execution::Reverted,
        (false, false) => return Err(at(number, "what did not succeed has charged nobody")),
    };
    let contract = told.contract;
    let effect = ForeignEffect::Billed { contract, items, execution };
    let learnt = ForeignTx { position, landed, effect };
    let guard_s = told.guard;
    if !acceptance::is_taken(conn, lane, position)? {
        if let Some(batch) = place_takers::used_up_at(conn, lane, position)? {
            resolution::free_the_rest(conn, batch, by, why, at_ms)?;
        }
        endings::adopt(conn, &origin, &learnt, guard_s, at_ms)?;
    } else if let Some(batch) = place_takers::lost(conn, lane, position, told.transaction)? {
        endings::settle(
            conn,
            &Settlement { batch, verdict: Verdict::Usurped(learnt), guard_s },
            at_ms,
        )?;
    } else {
        let problem = format!(
            "a billing of this journal has the nonce {position}, and the Signer has not seen yet that another \
             transaction took it: start the Signer, and import the file again when /health/ready tells of it"
        );
        return Err(at(number, problem));
    }
    Ok(true)
}
