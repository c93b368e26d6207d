//! The journal on a server that has grown for years: `-- --grown 10000000`. Four thousand claims are written by the
//! program and multiplied by the server, row for row, under another account; what is measured then is the program's
//! own. `SCALE_SQL` is run by the owner before anything is written: other settings of the tables.

use crate::book::Book;
use crate::sample::Sample;
use crate::server::{on_server, run, schema_of};
use crate::{MEASURED, ROUNDS, room};
use std::sync::atomic::Ordering;
use std::time::Instant;

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
        AND indexname IN ('claim_key', 'claim_subscription', 'batch_accepted');
    DO $$ DECLARE wall record; BEGIN FOR wall IN SELECT * FROM walls LOOP
        EXECUTE 'DROP INDEX ' || wall.indexname; END LOOP; END $$;
    INSERT INTO lane SELECT chain, decode(repeat('bb', 20), 'hex'), 1 << 40 FROM lane;
    SELECT multiply('batch', '{"id": "s.id + k * 1000", "position": "s.position + k * 1000",
        "signer": "decode(repeat(''bb'', 20), ''hex'')", "accepted_ms": "s.accepted_ms + k * 1000000",
        "winner": "sha256(s.winner || int8send(k))"}', TIMES);
    SELECT multiply('attempt', '{"batch": "s.batch + k * 1000", "hash": "sha256(s.hash || int8send(k))"}', TIMES);
    SELECT multiply('claim', '{"batch": "s.batch + k * 1000", "subscribe_id": "s.subscribe_id + k * 1000000",
        "user_hash": "sha256(s.user_hash || int8send(k))"}', TIMES);
    SELECT multiply('payer', '{"user_hash": "sha256(s.user_hash || int8send(k))",
        "wallet": "substr(sha256(s.wallet || int8send(k)), 1, 20)"}', TIMES);
    SELECT multiply('counted', '{"batch": "s.batch + k * 1000"}', TIMES);
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

/// Prints what the journal costs at so many claims.
pub(crate) async fn grown(claims: u64) {
    let room = room();
    let (journal, ..) = on_server(room.path(), claims, 1);
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
    let (mut commit, mut end, mut lookup) =
        (Sample::default(), Sample::default(), Sample::default());
    let trips = |book: &Book| book.journal().figures().trips.load(Ordering::Relaxed);
    let mut waited = 0;
    for round in 0..ROUNDS {
        let before = trips(&book);
        let batch = commit.time(book.accept(MEASURED)).await;
        waited = trips(&book) - before;
        end.time(book.settle(&batch)).await;
        lookup.time(book.look_up(round * MEASURED, MEASURED)).await;
    }
    println!(
        "commit of {MEASURED}: {commit} ms, {waited} round trips; its end: {end} ms; lookup: {lookup} ms"
    );
    let (mut commit, mut end) = (Sample::default(), Sample::default());
    for _ in 0..ROUNDS * 5 {
        let batch = commit.time(book.accept(10)).await;
        end.time(book.settle(&batch)).await;
    }
    println!("commit of 10: {commit} ms; its end: {end} ms");
    // The server counts what a session did a second later.
    std::thread::sleep(std::time::Duration::from_secs(2));
    for row in run(&owner, SIZES) {
        println!("{row}");
    }
    vacuum(&owner, "VACUUM claim");
    vacuum(&owner, "VACUUM (FREEZE) claim");
    book.close().await;
}

fn vacuum(owner: &tokio_postgres::Config, sql: &str) {
    let begun = Instant::now();
    run(owner, sql);
    println!("{sql}: {:.1} s", begun.elapsed().as_secs_f64());
}
