//! How the server finds a charge: by looking at that one, however many its period has.

use super::*;
use journal::sql::params;
use journal::testing::lookups;

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
        let mut told = Vec::new();
        for (sql, values) in [
            (by_key, params![chain, contract, 0, period, subject.plan.0, user]),
            (by_id, params![chain, contract, 0, period, subject.subscribe.0]),
        ] {
            let mut explain = conn.prepare(&sql)?;
            let lines = explain.query_map(values, |row| row.get::<String>(0))?;
            told.push(lines.collect::<SqlResult<Vec<_>>>()?.join("\n"));
        }
        Ok(told)
    };
    let plans = book.journal.read(plans).await.unwrap();
    for (plan, index) in plans.iter().zip(["claim_key", "claim_subscription"]) {
        assert!(plan.contains(&format!("using {index} on claim")), "{plan}");
        assert!(!plan.contains("Rows Removed by Filter"), "{plan}");
    }
}
