//! The journal on PostgreSQL beside the one in a file, with one Signer and with two standbys, and one that has grown for
//! years: `tests/postgres.sh cargo bench --bench pipeline -- --journal-server 10000000`. Of that one four thousand claims
//! are written by the program and multiplied by the server, row for row, under another account. `SCALE_SQL` is run by the
//! owner before anything is written there: other settings of the tables.

use super::book::Book;
use super::{MEASURED, Measured, ROUNDS, begun_in, room};
use host::clock::Clock;
use journal::store::Steps;
use journal::{Journal, Setup, Standby, Turn};
use journal_pg::ServerConfig;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_postgres::Config;

/// Number of batches that are posted at once.
const TOGETHER: u64 = 16;

/// Number of claims that are written before they are multiplied.
const SEED: u64 = 3_840;

/// Multiplies the rows of a table; `changed` is what differs in each of them, `k` its number.
const MULTIPLY: &str = "CREATE FUNCTION multiply(t text, changed jsonb, times bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN EXECUTE (SELECT format('INSERT INTO %I (%s) SELECT %s FROM %I AS s, generate_series(1, %s::bigint) AS k',
        t, string_agg(quote_ident(column_name), ','),
        string_agg(coalesce(changed ->> column_name, 's.' || quote_ident(column_name)), ','), t, times)
      FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = t); END $$";

/// Every table of which each batch adds rows. The walls around claims are taken down meanwhile, and stand again.
const GROW: &str = r#"SET session_replication_role = replica; SET maintenance_work_mem = '512MB';
    SET synchronous_commit = off; SET work_mem = '64MB';
    CREATE TABLE walls AS SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
        AND indexname IN ('claim_key', 'claim_subscription');
    DO $$ DECLARE wall record; BEGIN FOR wall IN SELECT * FROM walls LOOP
        EXECUTE 'DROP INDEX ' || wall.indexname; END LOOP; END $$;
    INSERT INTO lane SELECT chain, decode(repeat('bb', 20), 'hex'), 1 << 40, NULL, NULL FROM lane;
    SELECT multiply('batch', '{"id": "s.id + k * 1000", "position": "s.position + k * 1000",
        "signer": "decode(repeat(''bb'', 20), ''hex'')", "accepted_ms": "s.accepted_ms + k * 1000000",
        "hash": "sha256(s.hash || int8send(k))", "winner": "sha256(s.winner || int8send(k))"}', TIMES);
    SELECT multiply('tx', '{"batch": "s.batch + k * 1000", "hash": "sha256(s.hash || int8send(k))"}', TIMES);
    INSERT INTO batch_hour SELECT DISTINCT accepted_ms / 3600000, id / 1024 FROM batch ON CONFLICT DO NOTHING;
    SELECT multiply('claim', '{"batch": "s.batch + k * 1000", "subscribe_id": "s.subscribe_id + k * 1000000",
        "user_hash": "sha256(s.user_hash || int8send(k))"}', TIMES);
    SELECT multiply('payer', '{"user_hash": "sha256(s.user_hash || int8send(k))",
        "wallet": "substr(sha256(s.wallet || int8send(k)), 1, 20)"}', TIMES);
    SELECT multiply('history', '{"seq": "s.seq + k * (SELECT max(seq) FROM history)",
        "digest": "sha256(s.digest || int8send(k))"}', TIMES);
    SELECT multiply('ending', '{"token": "substr(sha256(s.token || int8send(k)), 1, 16)"}', TIMES);
    DO $$ DECLARE wall record; BEGIN FOR wall IN SELECT * FROM walls LOOP
        EXECUTE wall.indexdef; END LOOP; END $$;
    DROP TABLE walls"#;

/// Reads the size of each table, and the share of its changes that needed no new entry in an index.
const SIZES: &str = "SELECT relname, pg_total_relation_size(relid) / 1048576 AS mib,
        pg_indexes_size(relid) / 1048576 AS indexes, n_live_tup AS rows, n_dead_tup AS dead,
        n_tup_hot_upd * 100 / greatest(n_tup_upd, 1) AS hot
    FROM pg_stat_user_tables WHERE schemaname = current_schema() AND n_tup_ins > 1000 ORDER BY 2 DESC";

/// Prints a line for each journal, number of Signers and size of a batch; of several one serves. Then the same of a
/// journal with so many claims.
pub(crate) async fn beside_a_file(claims: Option<u64>) {
    let room = room();
    println!(
        "milliseconds as median / 99 of 100 / longest\n{:>8} {:>8} {:>8} {:>20} {:>20} {:>6} {:>20} {:>14}",
        "journal",
        "Signers",
        "charges",
        "commit",
        "end of a batch",
        "trips",
        "lookup",
        "a second by 16"
    );
    let path = begun_in(&room);
    for size in [1, MEASURED] {
        let mut book = Book::open(&path).await;
        line("file", 1, size, &mut book).await;
        book.close().await;
        for signers in [1, 3] {
            let (journal, others) = on_server(room.path(), size, signers);
            let mut book = Book::take_up(journal).await;
            line("server", signers, size, &mut book).await;
            assert_eq!(others.len() + 1, signers, "they stood by until now");
            drop(others);
            book.close().await;
        }
    }
    if let Some(claims) = claims {
        grown(room.path(), claims).await;
    }
}

async fn line(name: &str, signers: usize, size: u64, book: &mut Book) {
    let Measured { commit, end, lookup, trips } = Measured::of(book, size).await;
    let begun = Instant::now();
    for _ in 0..ROUNDS / TOGETHER {
        book.accept_together(TOGETHER, size).await;
    }
    let batches = (ROUNDS / TOGETHER * TOGETHER) as f64 / begun.elapsed().as_secs_f64();
    println!(
        "{name:>8} {signers:>8} {size:>8} {commit:>20} {end:>20} {trips:>6} {lookup:>20} {batches:>14.0}"
    );
}

/// Has a server grow a journal to so many claims, and prints what it costs then.
async fn grown(room: &Path, claims: u64) {
    let (journal, _) = on_server(room, claims, 1);
    let owner = schema_of(claims, 1);
    if let Some(sql) = std::env::var_os("SCALE_SQL") {
        run(&owner, &sql.into_string().unwrap());
    }
    let mut book = Book::take_up(journal).await;
    let seed = book.grow_to(SEED).await;
    let begun = Instant::now();
    let times = (claims / seed).saturating_sub(1);
    if times > 0 {
        run(&owner, MULTIPLY);
        run(&owner, &GROW.replace("TIMES", &times.to_string()));
    }
    println!("{} claims after {:.0} s", seed * (times + 1), begun.elapsed().as_secs_f64());
    vacuum(&owner, "VACUUM (ANALYZE)");
    run(&owner, "SELECT pg_stat_reset()");
    line("grown", 1, MEASURED, &mut book).await;
    // The server counts what a session did a second later.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for row in run(&owner, SIZES) {
        println!("{row}");
    }
    vacuum(&owner, "VACUUM (FREEZE) claim");
    book.close().await;
}

fn vacuum(owner: &Config, sql: &str) {
    let begun = Instant::now();
    run(owner, sql);
    println!("{sql}: {:.1} s", begun.elapsed().as_secs_f64());
}

/// A journal in a schema of its own, and who stands by.
fn on_server(room: &Path, size: u64, signers: usize) -> (Journal, Vec<Standby>) {
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
    journal_pg::create(&config(1), &owner, &schema).unwrap();
    let begun = |number| journal_pg::open_in_turn(&config(number), Clock::MACHINE).unwrap();
    let Turn::Now(journal) = begun(1) else { panic!("nobody else has it") };
    let others = (2..=signers).map(|number| match begun(number) {
        Turn::Later(standby) => standby,
        Turn::Now(_) => panic!("the first has it"),
    });
    (journal, others.collect())
}

/// The server, as the owner of such a schema reaches it.
fn schema_of(size: u64, signers: usize) -> Config {
    let given = std::env::var_os("SIGNER_TEST_POSTGRES").unwrap().into_string().unwrap();
    let mut owner: Config = given.parse().unwrap();
    owner.options(format!("-c search_path=scale_{size}_{signers}"));
    owner
}

/// Runs statements; tells the rows that they find.
fn run(server: &Config, sql: &str) -> Vec<String> {
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
