//! Rows of a server's journal, some of whose values are others than were written: the bytes say which. A value that
//! makes no sense is an error for whoever asks, and nothing panics.

use alloy::primitives::{B256, U256};
use billing::BatchId;
use host::clock::Clock;
use journal::sql::{
    Constraint, Database, ServerColumn, ServerReply, ServerStatement, SqlResult, Statement,
};
use journal::store::{self, Begun, Findings, Job, Opened, TablesAtStart, WorkQueue};
use journal::{ClaimScope, FreeSpace, Journal};
use journal_test_support::{
    Book, CHAIN, CONTRACT, NOW_MS, asked_by, config, end, guarded, item, lane, paid_by, proposal,
    request, short_of_allowance, subject,
};
use ledger::{Feed, FeedPlace, Ledger, LedgerFilter, LedgerOrder};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::cell::{OnceCell, RefCell};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

struct World {
    runtime: Runtime,
    /// A journal with a billing in every state, which nobody has open.
    file: Connection,
    _book: Book,
}

thread_local! {
    static WORLD: OnceCell<World> = const { OnceCell::new() };
}

/// Asks a journal everything that is read from it, and audits it.
pub fn read(data: &[u8]) {
    WORLD.with(|world| {
        let world = world.get_or_init(World::begin);
        let altering = || {
            let alterations = RefCell::new(Alterations::of(data));
            AlteringServer { file: &world.file, alterations }
        };
        world.runtime.block_on(altering().is_asked());
        let audit = store::audit(&altering(), &[], &mut |_, _| {});
        if data.is_empty() {
            assert_eq!(audit.unwrap().faults, Vec::<String>::new(), "rows as they were written");
        }
    });
}

impl World {
    fn begin() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let book = runtime.block_on(filled());
        let file = Connection::open(config(&book.room).path).unwrap();
        Self { runtime, file, _book: book }
    }
}

async fn filled() -> Book {
    use billing::BatchState::{Cancelled, Charged, Expired, Reverted, Usurped};
    use billing::ItemOutcome::{Charged as Paid, Unproven};
    let book = Book::in_a_file().await;
    for (period, (state, outcomes)) in (1..).zip([
        (Charged, vec![Paid, short_of_allowance(), Unproven]),
        (Reverted, vec![]),
        (Cancelled, vec![]),
        (Expired, vec![]),
        (Usurped, vec![]),
    ]) {
        // A charge without a period stays claimed for a while: the others of it have one.
        let third = if period == 1 { guarded(3) } else { item(3, period) };
        let items = [item(1, period), paid_by(9, item(2, period)), third];
        let mut proposal = proposal(&items);
        proposal.caller = Some(asked_by());
        proposal.request = Some(request(&format!("request-{period}"), 1));
        let slot = book.take(proposal).await.unwrap();
        book.settle(end(&slot, state, outcomes)).await;
    }
    book.accept(&[item(1, 20), item(2, 20)]).await.unwrap();
    book.journal.close().await;
    book
}

/// A server that has the tables of a file, and alters what it tells of them.
struct AlteringServer<'d> {
    file: &'d Connection,
    alterations: RefCell<Alterations<'d>>,
}

struct AlteredStatement<'s, 'd> {
    server: &'s AlteringServer<'d>,
    sql: String,
}

impl AlteringServer<'_> {
    async fn is_asked(&self) {
        let Ok(tables) = TablesAtStart::read(self) else { return };
        let (writes, _unread) = mpsc::channel(1);
        let (reads, mut jobs) = mpsc::channel(8);
        let journal = Journal::of(Opened {
            queue: WorkQueue::of_a_server(writes, reads, Default::default()),
            figures: Default::default(),
            found: Findings {
                old_copy: false,
                was_closed: true,
                left_ms: None,
                begun: Begun::written(),
            },
            tables,
            space: FreeSpace::default(),
            instance: None,
            clock: Clock::MACHINE,
        });
        let answering = async {
            while let Some(Job::Read(look)) = jobs.recv().await {
                look(self)();
            }
        };
        tokio::select! {
            () = ask(&journal) => (),
            () = answering => (),
        }
    }

    fn rows(&self, sql: &str, values: Vec<Value>) -> SqlResult<Vec<Vec<Value>>> {
        let mut question = self.file.prepare_cached(sql)?;
        let columns = question.column_count();
        let mut found = question.query(params_from_iter(values))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let told = (0..columns).map(|at| Ok(self.alterations.borrow_mut().told(row.get(at)?)));
            rows.push(told.collect::<SqlResult<_>>()?);
        }
        Ok(rows)
    }
}

impl Database for AlteringServer<'_> {
    fn prepare_cached(&self, sql: &str) -> SqlResult<Statement<'_>> {
        self.prepare(sql)
    }

    fn prepare(&self, sql: &str) -> SqlResult<Statement<'_>> {
        Ok(Statement::OnServer(Box::new(AlteredStatement { server: self, sql: sql.to_owned() })))
    }

    fn flush(&self) -> SqlResult<()> {
        Ok(())
    }

    fn defer_references(&self) -> SqlResult<()> {
        Ok(())
    }

    fn tables_with(&self, column: &str) -> SqlResult<Vec<String>> {
        Database::tables_with(self.file, column)
    }

    fn orphans(&self) -> SqlResult<Vec<(String, String)>> {
        Ok(Vec::new())
    }
}

impl ServerStatement for AlteredStatement<'_, '_> {
    fn run(&self, each: Vec<Vec<Value>>) -> SqlResult<Vec<ServerReply>> {
        let replies = each.into_iter().map(|values| {
            Ok(ServerReply { rows: self.server.rows(&self.sql, values)?, changed: 0 })
        });
        replies.collect()
    }

    fn queue(&self, _: Vec<Value>, _: Option<Constraint>) -> SqlResult<()> {
        panic!("nothing is written: {}", self.sql)
    }

    fn queue_set(&self, _: Vec<ServerColumn>, _: Option<Constraint>) -> SqlResult<()> {
        panic!("nothing is written: {}", self.sql)
    }
}

/// The bytes: by turns how many values are told as they are, and how the next one is told.
struct Alterations<'d> {
    left: &'d [u8],
    unaltered: Option<u8>,
}

impl<'d> Alterations<'d> {
    fn of(data: &'d [u8]) -> Self {
        let mut new = Self { left: data, unaltered: None };
        new.unaltered = new.byte();
        new
    }

    fn told(&mut self, value: Value) -> Value {
        match self.unaltered {
            None => value,
            Some(0) => {
                let other = self.other(&value).unwrap_or(value);
                self.unaltered = self.byte();
                other
            }
            Some(count) => {
                self.unaltered = Some(count - 1);
                value
            }
        }
    }

    fn other(&mut self, value: &Value) -> Option<Value> {
        Some(match (self.byte()?, value) {
            (0, _) => Value::Null,
            (1, _) => Value::Integer(i64::from_le_bytes(self.bytes(8)?.try_into().ok()?)),
            (2, _) => Value::Integer(i64::from(self.byte()?)),
            (3, _) => Value::Text(String::from_utf8(self.some()?.to_vec()).ok()?),
            (4, _) => Value::Blob(self.some()?.to_vec()),
            (5, _) => Value::Blob(vec![self.byte()?; 32]),
            (_, Value::Text(text)) => Value::Text(text.get(1..)?.to_owned()),
            (_, Value::Blob(bytes)) => Value::Blob(bytes.get(1..)?.to_vec()),
            (_, Value::Integer(number)) => Value::Integer(number.checked_neg()?),
            (_, Value::Null | Value::Real(_)) => return None,
        })
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    fn some(&mut self) -> Option<&'d [u8]> {
        let count = self.byte()?;
        self.bytes(count.into())
    }

    fn bytes(&mut self, count: usize) -> Option<&'d [u8]> {
        let (first, rest) = self.left.split_at_checked(count)?;
        self.left = rest;
        Some(first)
    }
}

/// Every question of a process that starts, serves and tells. Errors are answers, too.
async fn ask(journal: &Journal) {
    let scope = ClaimScope { chain: CHAIN, contract: CONTRACT, chain_time: 0 };
    let subjects = vec![subject(item(1, 1)), subject(item(2, 20)), subject(guarded(3))];
    let _claims = journal.claims(scope, subjects).await;
    let _head = journal.head().await;
    let _name = journal.name().await;
    let _spent = journal.spent(CHAIN, NOW_MS).await;
    let _told = journal.export_claims().await;
    for batch in (0..8).map(BatchId) {
        let _billing = journal.billing(batch).await;
        let _charged = journal.is_charged_elsewhere(batch).await;
        let _end = journal.end_in_history(batch, NOW_MS).await;
    }
    let _billing = journal.billing_by_hash(B256::from(U256::from(8))).await;
    let lane = journal.lane(lane());
    let _next = lane.next_position().await;
    let _until = lane.known_until().await;
    let _past = lane.past(0).await;
    let _read = lane.read_until().await;
    let _used = lane.used_up().await;
    let ledger = Ledger { journal: journal.clone(), refusals: None };
    for order in [LedgerOrder::Oldest, LedgerOrder::Newest] {
        let _page = ledger.step(LedgerFilter::default(), order, None, 10).await;
    }
    let feed = Feed::of(journal);
    let _events = feed.step(FeedPlace::default(), 64).await;
    let _newest = feed.end().await;
}
