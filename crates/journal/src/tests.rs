//! The laws of the journal, held against a real SQLite file.

mod accepting;
mod adopting;
mod again;
mod any_order;
mod auditing;
mod binding;
mod claiming;
mod copying;
mod exchanging;
mod feeding;
mod ledgering;
mod naming;
#[cfg(feature = "postgres")]
mod on_server;
mod opening;
mod passing;
mod pausing;
mod refusing;
mod resolving;
mod restoring;
mod room;
mod settling;
mod sharing;
mod spending;
mod used_up;
mod versions;

use super::sql::SqlResult;
use super::*;
use alloy::primitives::{Address, U256};
use billing::{
    AskedBy, AttemptKind, BatchState, BlockRef, CallEnding, CallerKey, CallerLabel, ChargeKey,
    ChargeTerms, ClaimState, Denomination, Execution, FailCode, Family, ForeignEffect, InBlocks,
    Item, ItemOutcome, Landed, NamedRequest, Period, PeriodNaming, PlanId, RequestId, Signed,
    SubscribeId, TakenAsTold, TxRecord, UserHash, Verdict,
};
use config::JournalConfig;
use futures_util::future::join_all;
use policy::Unit;
use room::Room;
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const CHAIN: PlatformChainId = PlatformChainId(139);
const CONTRACT: Address = Address::repeat_byte(0xC0);
const SIGNER: Address = Address::repeat_byte(0x51);
/// Where the lane begins: the account had sent seven transactions before.
const FIRST: u64 = 7;
const NOW_MS: i64 = 1_767_225_600_000;
const NETWORK: Network = Network { family: Family::Evm, id: 31_337 };
/// How the contract is called, as far as the journal cares: a text.
const PROFILE: &str = "a profile";
const TABLES: [&str; 17] = [
    "boot",
    "restored",
    "chain",
    "contract",
    "pause",
    "lane",
    "profile",
    "doubt",
    "batch",
    "attempt",
    "claim",
    "payer",
    "spend",
    "counted",
    "history",
    "request",
    "request_batch",
];

/// A journal in a directory of its own, with one open lane.
struct Book {
    journal: Journal,
    room: Room,
}

impl Book {
    /// Where the environment says: on the server that tests/postgres.sh starts, or else in a file.
    async fn new() -> Self {
        #[cfg(feature = "postgres")]
        if let Some(server) = on_server::given() {
            let room = Room::new();
            return Self::begin(on_server::made(&server, &room), room).await;
        }
        Self::in_a_file().await
    }

    /// For what is a matter of files.
    async fn in_a_file() -> Self {
        let room = Room::new();
        let config = config(&room);
        Journal::initialise(&config.path).unwrap();
        Self::begin(Journal::open(&config).unwrap(), room).await
    }

    async fn begin(journal: Journal, room: Room) -> Self {
        journal.bind(binding(), NOW_MS).await.unwrap();
        assert_eq!(journal.open_lane(lane(), FIRST, NOW_MS).await.unwrap(), FIRST);
        Self { journal, room }
    }

    async fn accept(&self, items: &[Item]) -> Result<Slot<Durable<Attempt>>, AcceptError> {
        self.take(proposal(items)).await
    }

    /// Has a batch signed for the position where its lane is, and accepted.
    async fn take(&self, proposal: Proposal) -> Result<Slot<Durable<Attempt>>, AcceptError> {
        take(&self.journal, proposal).await
    }

    /// Accepts one item; tells whether it was.
    async fn takes(&self, item: Item) -> bool {
        match self.accept(&[item]).await {
            Ok(_) => true,
            Err(AcceptError::Claimed) => false,
            Err(other) => panic!("{other}"),
        }
    }

    async fn settle(&self, end: Settlement) {
        self.journal.settle(vec![end], NOW_MS).await.unwrap();
    }

    /// The live claims that are found for `item` by its own period.
    async fn claims(&self, item: Item) -> Vec<Claim> {
        self.claims_at(0, subject(item)).await
    }

    async fn claims_at(&self, chain_time: u64, subject: Subject) -> Vec<Claim> {
        let scope = ClaimScope { chain: CHAIN, contract: CONTRACT, chain_time };
        self.journal.claims(scope, vec![subject]).await.unwrap().remove(0)
    }

    async fn billing(&self, batch: BatchId) -> Billing {
        self.journal.billing(batch).await.unwrap().unwrap()
    }

    async fn next_position(&self) -> u64 {
        self.journal.next_position(lane()).await.unwrap().unwrap()
    }

    /// Every value of every row.
    async fn everything(&self) -> Vec<String> {
        self.journal.read(|conn| everything(conn, &TABLES)).await.unwrap()
    }

    /// What the journal says of itself.
    async fn audit(&self) -> Audit {
        self.journal.read(|conn| audit::audit(conn, &[])).await.unwrap()
    }

    /// Lets go of the file and opens it again, as a restart does.
    fn restart(self) -> Self {
        let Self { journal, room } = self;
        drop(journal);
        #[cfg(feature = "postgres")]
        if let Some(server) = on_server::given()
            && !config(&room).path.exists()
        {
            return Self { journal: on_server::opened(&server, &room), room };
        }
        Self { journal: Journal::open(&config(&room)).unwrap(), room }
    }

    /// Has all `proposals` wait for the journal's thread before it looks at the first one.
    async fn accept_together(
        &self,
        proposals: impl IntoIterator<Item = Proposal>,
    ) -> Vec<Result<Slot<Durable<Attempt>>, AcceptError>> {
        let release = self.hold_up().await;
        let all = join_all(proposals.into_iter().map(|proposal| self.journal.accept(proposal)));
        tokio::join!(biased; all, async { drop(release) }).0
    }

    /// The same, each signed for the position behind the one before it, and signed again as long as the lane
    /// is elsewhere.
    async fn take_together(
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

    /// Keeps the journal's thread waiting until the answer is dropped.
    async fn hold_up(&self) -> std::sync::mpsc::Sender<()> {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (arrive, arrived) = oneshot::channel();
        let wait = Job::Read(Box::new(move |_| {
            arrive.send(()).unwrap();
            assert!(released.recv().is_err(), "released");
            Box::new(|| ())
        }));
        assert!(self.journal.jobs.send(wait).await.is_ok());
        // What is sent from now on is in one group.
        arrived.await.unwrap();
        release
    }
}

fn config(room: &TempDir) -> JournalConfig {
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
fn run(conn: &dyn Database, sql: &str) -> SqlResult<()> {
    let statements = sql.split(';').filter(|one| !one.trim().is_empty());
    statements.into_iter().try_for_each(|one| conn.prepare(one)?.exists([]).map(drop))
}

fn everything(conn: &dyn Database, tables: &[&str]) -> SqlResult<Vec<String>> {
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

/// A subscription and its user: both have the number `who`.
fn item(who: u8, period: u64) -> Item {
    let key = ChargeKey { plan: PlanId(3), user: user(who), period: numbered(period) };
    Item {
        subscribe: SubscribeId(who.into()),
        key,
        amount: U256::from(500),
        terms: ChargeTerms::default(),
    }
}

/// The same, paid from a wallet that is known.
fn paid_by(wallet: u8, item: Item) -> Item {
    let wallet = Some(Address::repeat_byte(wallet));
    Item { terms: ChargeTerms { wallet, ..item.terms }, ..item }
}

/// The same of a contract that knows no periods.
fn guarded(who: u8) -> Item {
    let mut item = item(who, 0);
    item.key.period = Period::Guarded;
    item
}

fn user(who: u8) -> UserHash {
    UserHash(B256::repeat_byte(who))
}

fn numbered(period: u64) -> Period {
    Period::Numbered(U256::from(period))
}

fn subject(item: Item) -> Subject {
    let ChargeKey { plan, user, period } = item.key;
    Subject { subscribe: item.subscribe, plan, user, period: Some(period) }
}

async fn take(
    journal: &Journal,
    mut proposal: Proposal,
) -> Result<Slot<Durable<Attempt>>, AcceptError> {
    let next = journal.next_position(proposal.origin.lane).await?;
    proposal.place(next.unwrap_or(FIRST));
    journal.accept(proposal).await
}

impl Proposal {
    /// Signs for another position.
    fn place(&mut self, position: u64) {
        if self.sealed.signed == signed(self.sealed.position) {
            self.sealed.signed = signed(position);
        }
        self.sealed.position = position;
    }

    fn at(mut self, position: u64) -> Self {
        self.place(position);
        self
    }
}

/// Signed for the first position of the lane.
fn proposal(items: &[Item]) -> Proposal {
    Proposal {
        origin: origin(),
        profile: PROFILE.into(),
        request: None,
        earlier: vec![],
        caller: None,
        trace: None,
        in_blocks: InBlocks::Below(FIRST),
        window: 1000,
        counts: vec![],
        chain_time: 0,
        at_ms: NOW_MS,
        sealed: Sealed::new(FIRST, items, signed(FIRST)),
    }
}

/// Somebody whose label is not the API key.
fn asked_by() -> AskedBy {
    let (key, label) = ("merchant-key".to_owned(), "scheduler".to_owned());
    AskedBy { key: CallerKey(key), label: CallerLabel(label) }
}

/// What somebody asks under the name `id`; another thing for every `digest`.
fn request(id: &str, digest: u8) -> NamedRequest {
    let id = RequestId::parse(id).unwrap();
    NamedRequest { id, caller: Some(asked_by().key), digest: B256::repeat_byte(digest) }
}

/// What a transaction may cost, and the most that a day's may.
fn fee(cost: u64, most: Option<u64>) -> Count {
    count(Unit::Fee, vec![], cost, most)
}

fn count(unit: Unit, items: Vec<usize>, amount: u64, most: Option<u64>) -> Count {
    let (amount, most, rule) = (U256::from(amount), most.map(U256::from), unit.word());
    let units = Denomination::Token { name: unit.word(), decimals: None };
    Count { unit, items, amount, most, rule, units }
}

/// Stands for a signature: another one for every position.
fn signed(position: u64) -> Signed {
    let hash = B256::from(U256::from(position));
    Signed { hash, raw: format!("transaction {position}").into_bytes(), gas_required: 21_000 }
}

const BLOCK: BlockRef = BlockRef { number: 88, time: 1_000 };

/// The end of `slot` by its first transaction.
fn end(slot: &Slot<Durable<Attempt>>, state: BatchState, outcomes: Vec<ItemOutcome>) -> Settlement {
    let landed =
        Landed { hash: slot.attempts.first().get().signed.hash, block: BLOCK, record: None };
    let verdict = match state {
        BatchState::Charged => Verdict::Charged(landed, outcomes),
        BatchState::Reverted => Verdict::Reverted(landed),
        BatchState::Cancelled => Verdict::Cancelled(landed),
        BatchState::Expired => Verdict::Expired(BLOCK),
        BatchState::Usurped => Verdict::Usurped(foreign(slot.position, ForeignEffect::Other)),
        BatchState::Open => panic!("no end"),
    };
    Settlement { batch: slot.batch, verdict, guard_s: 600 }
}

/// A transaction at `position` that nobody here signed.
fn foreign(position: u64, effect: ForeignEffect) -> ForeignTx {
    let landed = Landed { hash: B256::repeat_byte(0xEE), block: BLOCK, record: None };
    ForeignTx { position, landed, effect }
}

/// As the chain is known.
fn binding() -> Binding {
    let naming = PeriodNaming::Field("period".to_owned());
    Binding { chain: CHAIN, network: NETWORK, contract: CONTRACT, naming }
}

fn lane() -> LaneId {
    LaneId { chain: CHAIN, signer: SIGNER }
}

fn origin() -> Origin {
    Origin { lane: lane(), contract: CONTRACT }
}

fn short_of_allowance() -> ItemOutcome {
    ItemOutcome::Failed { code: FailCode::AllowanceInsufficient, detail: Some("1".to_owned()) }
}
