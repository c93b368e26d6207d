//! The journal on PostgreSQL beside the one in a file, in one run: `tests/postgres.sh cargo run --release -p scale
//! --features postgres -- --server`.

use crate::book::Book;
use crate::sample::Sample;
use crate::{ROUNDS, room};
use merchant_signer::journal::{Journal, ServerConfig};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_postgres::Config;

/// How many batches are posted at once.
const TOGETHER: u64 = 16;

/// Prints a line for each journal and size of a batch.
pub(crate) async fn beside_a_file() {
    let room = room();
    println!(
        "milliseconds as median / 99 of 100 / longest\n{:>8} {:>8} {:>20} {:>20} {:>12} {:>20} {:>14}",
        "journal", "charges", "commit", "end of a batch", "trips each", "lookup", "a second by 16"
    );
    for size in [1, 100] {
        let path = room.path().join(format!("journal-{size}.sqlite"));
        Journal::initialise(&path).unwrap();
        line("file", size, &mut Book::open(&path).await).await;
        let journal = on_server(room.path(), size);
        line("server", size, &mut Book::take_up(journal).await).await;
    }
}

async fn line(name: &str, size: u64, book: &mut Book) {
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
        "{name:>8} {size:>8} {commit:>20} {end:>20} {waited:>12} {lookup:>20} {batches:>14.0}"
    );
}

/// A journal in a schema of its own.
fn on_server(room: &Path, size: u64) -> Journal {
    let given = std::env::var_os("SIGNER_TEST_POSTGRES").unwrap().into_string().unwrap();
    let schema = format!("scale_{size}");
    let mut owner: Config = given.parse().unwrap();
    owner.options(format!("-c search_path={schema}"));
    let make = format!("CREATE ROLE scale_{size} LOGIN; CREATE SCHEMA {schema}");
    let plain: Config = given.parse().unwrap();
    std::thread::spawn(move || run(&plain, &make)).join().unwrap();
    let mut server = owner.clone();
    server.user(schema.as_str());
    let (mark_path, patience) = (room.join(format!("server-{size}.mark")), Duration::from_secs(20));
    let config = ServerConfig {
        server,
        authority_file: None,
        mark_path,
        patience,
        queue_length: 1024,
        place: schema.clone(),
        instance: "a test".to_owned(),
        takeover_after: Duration::from_secs(10),
        shared: false,
    };
    Journal::create_on_server(&config, &owner, &schema).unwrap();
    Journal::open_on_server(&config, merchant_signer::clock::Clock::MACHINE).unwrap()
}

fn run(server: &Config, sql: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = server.connect(tokio_postgres::NoTls).await.unwrap();
        tokio::select! {
            made = client.batch_execute(sql) => made.unwrap(),
            lost = connection => lost.unwrap(),
        }
    });
}
