//! How the server finds a charge: by looking at that one, however many its period has.

use super::*;
use journal::sql::params;
use journal::testing::{known_lanes, lookups};
use rusqlite::types::ToSql;

fn plan(conn: &dyn Database, sql: &str, values: &[&dyn ToSql]) -> SqlResult<String> {
    let mut explain = conn.prepare(sql)?;
    let lines = explain.query_map(values, |row| row.get::<String>(0))?;
    Ok(lines.collect::<SqlResult<Vec<_>>>()?.join("\n"))
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_lookup_reads_one_charge_of_a_period_that_the_planner_has_never_seen() {
    let book = Book::new().await;
    for period in 1..=10 {
        let all: Vec<Item> = (0..100).map(|who| item(who, period)).collect();
        book.accept(&all).await.unwrap();
    }
    let subject = subject(item(50, 1));
    let plans = move |conn: &dyn Database| {
        let (chain, contract, period, user) = (CHAIN.0, CONTRACT, "1", subject.user);
        let (contract, user) = (contract.as_slice(), user.0.as_slice());
        let [by_key, by_id] = lookups().map(|sql| format!("EXPLAIN ANALYZE {sql}"));
        let by_key = (by_key, params![chain, contract, 0, period, subject.plan.0, user]);
        let by_id = (by_id, params![chain, contract, 0, period, subject.subscribe.0]);
        [by_key, by_id].map(|(sql, values)| plan(conn, &sql, values)).into_iter().collect()
    };
    let plans: Vec<String> = book.journal.read(plans).await.unwrap();
    for (plan, index) in plans.iter().zip(["claim_key", "claim_subscription"]) {
        assert!(plan.contains(&format!("using {index} on claim")), "{plan}");
        assert!(!plan.contains("Rows Removed by Filter"), "{plan}");
    }
}

/// A server finds claims by user or subscription, so a start would go through all of them for those without a period.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_start_that_looks_for_guarded_charges_reads_none_that_has_a_period() {
    let book = Book::new().await;
    for period in 1..=10 {
        let all: Vec<Item> = (0..100).map(|who| item(who, period)).collect();
        book.accept(&all).await.unwrap();
    }
    let plans = |conn: &dyn Database| {
        let sql = format!("EXPLAIN ANALYZE {}", known_lanes());
        plan(conn, &sql, params![NOW_MS / 1000])
    };
    let owner = within(&given().unwrap(), &book.room);
    for statistics in ["", "ANALYZE"] {
        ran(owner.clone(), statistics.to_owned()).unwrap();
        let plan = book.journal.read(plans).await.unwrap();
        assert!(plan.contains("claim_guarded"), "{plan}");
        assert!(!plan.contains("Seq Scan on claim"), "{plan}");
    }
}
