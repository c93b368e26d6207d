//! The journal on PostgreSQL beside the one in a file, in one run: `tests/postgres.sh cargo run --release -p scale
//! --features postgres -- --server`.

use crate::book::{AMOUNT, Book};
use crate::questions::each_line;
use crate::sample::Sample;
use crate::{ROUNDS, room};
use alloy::primitives::U256;
use host::clock::Clock;
use journal::{FullLedger, HistoryHead, Journal, ServerConfig, Setup, Standby, Steps, Turn};
use merchant_signer::http::ChargeRow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_postgres::Config;

/// Number of batches that are posted at once.
const TOGETHER: u64 = 16;

/// Prints a line for each journal, number of Signers and size of a batch. Of several one serves, and the others stand
/// by, which is all that they do with a journal. In the end each journal is audited, backed up or copied, and restored, and
/// its sums are those of what was done.
pub(crate) async fn beside_a_file() {
    let room = room();
    println!(
        "milliseconds as median / 99 of 100 / longest\n{:>8} {:>8} {:>8} {:>20} {:>20} {:>12} {:>20} {:>14}",
        "journal",
        "Signers",
        "charges",
        "commit",
        "end of a batch",
        "trips each",
        "lookup",
        "a second by 16"
    );
    for size in [1, 100] {
        let path = room.path().join(format!("journal-{size}.sqlite"));
        Journal::initialise(&path).unwrap();
        let mut book = Book::open(&path).await;
        line(("file", 1), size, &mut book).await;
        Load::ended(book, size).await.is_in_file(&path).await;
        for signers in [1, 3] {
            let (journal, others, config) = on_server(room.path(), size, signers);
            let mut book = Book::take_up(journal).await;
            line(("server", signers), size, &mut book).await;
            assert_eq!(others.len() + 1, signers, "they stood by until now");
            drop(others);
            let copy = room.path().join(format!("copy-{size}-{signers}.sqlite"));
            Load::ended(book, size).await.is_on_server(&config, &copy).await;
        }
    }
}

/// The number of charges in each state, and their amounts together.
type Sums = BTreeMap<String, (u64, U256)>;

/// Everything that was done with a journal.
struct Load {
    batches: u64,
    sums: Sums,
}

impl Load {
    /// So many charges in each batch: those of the rounds were charged, and those that were posted together are open.
    async fn ended(book: Book, size: u64) -> Self {
        let counts = [("charged", ROUNDS), ("open", ROUNDS / TOGETHER * TOGETHER)];
        let sums = counts.map(|(state, batches)| {
            let charges = batches * size;
            (state.to_owned(), (charges, U256::from(charges) * AMOUNT))
        });
        let load = Self { batches: book.batches(), sums: sums.into() };
        assert_eq!(sums_of(book.journal()).await, load.sums);
        book.close().await;
        load
    }

    /// The journal in a file holds all of it, and so does the one that is restored from a backup of it.
    async fn is_in_file(&self, path: &Path) -> HistoryHead {
        let room = room();
        let audit = Journal::rehearse_restore(path, room.path()).unwrap();
        assert_eq!((audit.batches, audit.faults), (self.batches, vec![]));
        let restored = Journal::open(&Book::config(&room.path().join("restored.sqlite"))).unwrap();
        assert_eq!(sums_of(restored.clone()).await, self.sums);
        restored.close().await;
        audit.head
    }

    /// So does the one on a server, and a file that it is copied to.
    async fn is_on_server(&self, config: &ServerConfig, copy: &Path) {
        let (none, watch) = (Vec::<String>::new(), &mut |_, _| {});
        let audit = Journal::audit_on_server(config, &[], watch).unwrap();
        assert_eq!((audit.batches, &audit.faults), (self.batches, &none));
        let made = Journal::copy_to_file(config, &Book::config(copy), watch).unwrap();
        assert_eq!((made.head, made.faults), (audit.head.clone(), none));
        assert_eq!(self.is_in_file(copy).await, audit.head);
    }
}

async fn sums_of(journal: Journal) -> Sums {
    let mut sums = Sums::new();
    let add = |line: &ChargeRow| {
        let (charges, amount) = sums.entry(line.state.clone()).or_default();
        *charges += 1;
        *amount += line.amount.as_ref().unwrap().parse::<U256>().unwrap();
    };
    each_line(&FullLedger { journal, refusals: None }, add).await;
    sums
}

async fn line((name, signers): (&str, usize), size: u64, book: &mut Book) {
    let (mut commit, mut end, mut lookup) =
        (Sample::default(), Sample::default(), Sample::default());
    let trips = |book: &Book| book.journal().figures().trips.load(Ordering::Relaxed);
    let mut waited = 0;
    for round in 0..ROUNDS {
        let before = trips(book);
        let batch = commit.time(book.accept(size)).await;
        waited = trips(book) - before;
        end.time(book.settle(&batch)).await;
        lookup.time(book.look_up(round * size, size)).await;
    }
    let begun = Instant::now();
    for _ in 0..ROUNDS / TOGETHER {
        book.accept_together(TOGETHER, size).await;
    }
    let batches = (ROUNDS / TOGETHER * TOGETHER) as f64 / begun.elapsed().as_secs_f64();
    println!(
        "{name:>8} {signers:>8} {size:>8} {commit:>20} {end:>20} {waited:>12} {lookup:>20} {batches:>14.0}"
    );
}

/// A journal in a schema of its own, and who stands by.
pub(crate) fn on_server(
    room: &Path,
    size: u64,
    signers: usize,
) -> (Journal, Vec<Standby>, ServerConfig) {
    let schema = format!("scale_{size}_{signers}");
    let owner = schema_of(size, signers);
    run(&owner, &format!("CREATE ROLE {schema} LOGIN; CREATE SCHEMA {schema}"));
    let mut server = owner.clone();
    server.user(schema.as_str());
    let config = |number: usize| ServerConfig {
        server: server.clone(),
        authority_file: None,
        mark_path: room.join(format!("{schema}-{number}.mark")),
        patience: Duration::from_secs(20),
        queue_length: 1024,
        place: schema.clone(),
        instance: format!("Signer {number}"),
        takeover_after: Duration::from_secs(10),
        shared: false,
        steps: Steps::default(),
        setup: Setup::default(),
    };
    Journal::create_on_server(&config(1), &owner, &schema).unwrap();
    let begun = |number| Journal::open_in_turn(&config(number), Clock::MACHINE).unwrap();
    let Turn::Now(journal) = begun(1) else { panic!("nobody else has it") };
    let others = (2..=signers).map(|number| match begun(number) {
        Turn::Later(standby) => standby,
        Turn::Now(_) => panic!("the first has it"),
    });
    (journal, others.collect(), config(1))
}

/// The server, as the owner of such a schema reaches it.
pub(crate) fn schema_of(size: u64, signers: usize) -> Config {
    let given = std::env::var_os("SIGNER_TEST_POSTGRES").unwrap().into_string().unwrap();
    let mut owner: Config = given.parse().unwrap();
    owner.options(format!("-c search_path=scale_{size}_{signers}"));
    owner
}

/// Runs statements; tells the rows that they find.
pub(crate) fn run(server: &Config, sql: &str) -> Vec<String> {
    let (server, sql) = (server.clone(), sql.to_owned());
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = server.connect(tokio_postgres::NoTls).await.unwrap();
            tokio::select! {
                told = client.simple_query(&sql) => told.unwrap(),
                lost = connection => panic!("{lost:?}"),
            }
        })
    };
    let told = std::thread::spawn(work).join().unwrap();
    let row = |message| {
        let tokio_postgres::SimpleQueryMessage::Row(row) = message else { return None };
        let value =
            |n: usize| format!("{} {:<10}", row.columns()[n].name(), row.get(n).unwrap_or(""));
        Some((0..row.len()).map(value).collect::<Vec<_>>().join(" "))
    };
    told.into_iter().filter_map(row).collect()
}
