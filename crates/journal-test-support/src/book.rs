//! A journal in a directory of its own, in a file or on the server that the environment names.

use crate::room::Room;
use crate::samples::{
    CHAIN, CONTRACT, FIRST, NOW_MS, TABLES, binding, lane, proposal, signed, subject,
};
use crate::server;
use billing::{Attempt, BatchId, Claim, Item, Slot, Subject};
use config::JournalConfig;
use futures_util::future::join_all;
use journal::sql::{Database, SqlResult};
use journal::store;
use journal::testing::Tables as _;
use journal::{AcceptError, Audit, Billing, ClaimScope, Durable, Journal, Proposal, Settlement};
use std::sync::mpsc::Sender;
use std::time::Duration;
use tempfile::TempDir;

/// A journal in a directory of its own, with one open lane.
#[derive(Debug)]
pub struct Book {
    /// The handle.
    pub journal: Journal,
    /// Its directory.
    pub room: Room,
}

impl Book {
    /// On the server that tests/postgres.sh starts, if the environment names it, or else in a file.
    pub async fn new() -> Self {
        if let Some(server) = server::given() {
            let room = Room::new();
            return Self::begin(server::made(&server, &room), room).await;
        }
        Self::in_a_file().await
    }

    /// For what is a matter of files.
    pub async fn in_a_file() -> Self {
        let room = Room::new();
        let config = config(&room);
        Journal::initialise(&config.path).unwrap();
        Self::begin(Journal::open(&config).unwrap(), room).await
    }

    /// On a new journal, whose lane is opened.
    pub async fn begin(journal: Journal, room: Room) -> Self {
        journal.bind(binding(), NOW_MS).await.unwrap();
        assert_eq!(journal.lane(lane()).open(FIRST, NOW_MS).await.unwrap(), FIRST);
        Self { journal, room }
    }

    /// Has a batch of these charges signed and accepted.
    pub async fn accept(&self, items: &[Item]) -> Result<Slot<Durable<Attempt>>, AcceptError> {
        self.take(proposal(items)).await
    }

    /// Has a batch signed for the position where its lane is, and accepted.
    pub async fn take(&self, proposal: Proposal) -> Result<Slot<Durable<Attempt>>, AcceptError> {
        take(&self.journal, proposal).await
    }

    /// Accepts one item; tells whether it was.
    pub async fn takes(&self, item: Item) -> bool {
        match self.accept(&[item]).await {
            Ok(_) => true,
            Err(AcceptError::Claimed) => false,
            Err(other) => panic!("{other}"),
        }
    }

    /// Writes down how a batch ended.
    pub async fn settle(&self, end: Settlement) {
        self.journal.settle(vec![end], NOW_MS).await.unwrap();
    }

    /// The live claims that are found for `item` by its own period.
    pub async fn claims(&self, item: Item) -> Vec<Claim> {
        self.claims_at(0, subject(item)).await
    }

    /// The live claims on a subject at this time of the chain, Unix seconds.
    pub async fn claims_at(&self, chain_time: u64, subject: Subject) -> Vec<Claim> {
        let scope = ClaimScope { chain: CHAIN, contract: CONTRACT, chain_time };
        self.journal.claims(scope, vec![subject]).await.unwrap().remove(0)
    }

    /// A batch that is there.
    pub async fn billing(&self, batch: BatchId) -> Billing {
        self.journal.billing(batch).await.unwrap().unwrap()
    }

    /// The next position of the lane.
    pub async fn next_position(&self) -> u64 {
        self.journal.lane(lane()).next_position().await.unwrap().unwrap()
    }

    /// Every value of every row.
    pub async fn everything(&self) -> Vec<String> {
        self.journal.read(|conn| everything(conn, &TABLES)).await.unwrap()
    }

    /// The findings of an audit.
    pub async fn audit(&self) -> Audit {
        self.journal.read(audit).await.unwrap()
    }

    /// Lets go of the file and opens it again, as a restart does.
    #[must_use]
    pub fn restart(self) -> Self {
        let Self { journal, room } = self;
        drop(journal);
        if let Some(server) = server::given()
            && !config(&room).path.exists()
        {
            return Self { journal: server::opened(&server, &room), room };
        }
        Self { journal: Journal::open(&config(&room)).unwrap(), room }
    }

    /// Has all `proposals` wait for the journal's thread before it looks at the first one.
    pub async fn accept_together(
        &self,
        proposals: impl IntoIterator<Item = Proposal>,
    ) -> Vec<Result<Slot<Durable<Attempt>>, AcceptError>> {
        let release = self.hold_up().await;
        let all = join_all(proposals.into_iter().map(|proposal| self.journal.accept(proposal)));
        tokio::join!(biased; all, async { drop(release) }).0
    }

    /// The same, each signed for the position behind the one before it, and signed again as long as the lane
    /// is elsewhere.
    pub async fn take_together(
        &self,
        proposals: Vec<impl Fn() -> Proposal>,
    ) -> Vec<Result<Slot<Durable<Attempt>>, AcceptError>> {
        let mut answers = Vec::new();
        while answers.len() < proposals.len() {
            let (next, rest) = (self.next_position().await, &proposals[answers.len()..]);
            let placed = (next..).zip(rest).map(|(position, one)| one().at(position));
            let told = self.accept_together(placed).await;
            let done = |told: &Result<_, _>| !matches!(told, Err(AcceptError::Moved));
            answers.extend(told.into_iter().take_while(done));
        }
        answers
    }

    /// Keeps the journal's thread waiting until the answer is dropped. Work that is sent from now on is in one group.
    pub async fn hold_up(&self) -> Sender<()> {
        self.journal.hold_up().await
    }
}

/// A journal in a file of this directory.
pub fn config(room: &TempDir) -> JournalConfig {
    JournalConfig {
        path: room.path().join("journal.db"),
        mark_path: None,
        backups: None,
        min_free_bytes: 1,
        queue_length: 256,
        keep_refusals: Some(Duration::from_hours(24)),
    }
}

/// Runs statements one after the other.
pub fn run(conn: &dyn Database, sql: &str) -> SqlResult<()> {
    let statements = sql.split(';').filter(|one| !one.trim().is_empty());
    statements.into_iter().try_for_each(|one| conn.prepare(one)?.exists([]).map(drop))
}

/// Every value of every row of these tables.
pub fn everything(conn: &dyn Database, tables: &[&str]) -> SqlResult<Vec<String>> {
    let mut all = Vec::new();
    for table in tables {
        let mut select = conn.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2"))?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next_row()? {
            let values: Vec<_> = (0..).map_while(|column| row.get_ref(column).ok()).collect();
            all.push(format!("{table} {values:?}"));
        }
    }
    Ok(all)
}

/// The findings of an audit of what a connection sees.
pub fn audit(conn: &dyn Database) -> SqlResult<Audit> {
    store::audit(conn, &[], &mut |_, _| {})
}

/// Has a batch signed for the position where its lane is, and accepted.
pub async fn take(
    journal: &Journal,
    mut proposal: Proposal,
) -> Result<Slot<Durable<Attempt>>, AcceptError> {
    let next = journal.lane(proposal.origin.lane).next_position().await?;
    proposal.place(next.unwrap_or(FIRST));
    journal.accept(proposal).await
}

/// A proposal that is signed for another position.
pub trait Placed {
    /// Signs it for this position.
    fn place(&mut self, position: u64);

    /// The same, signed for this position.
    #[must_use]
    fn at(self, position: u64) -> Self;
}

impl Placed for Proposal {
    fn place(&mut self, position: u64) {
        let parts = self.sealed.parts();
        if *parts.signed == signed(*parts.position) {
            *parts.signed = signed(position);
        }
        *parts.position = position;
    }

    fn at(mut self, position: u64) -> Self {
        self.place(position);
        self
    }
}
