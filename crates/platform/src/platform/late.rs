//! A charge whose period ends while its transaction waits: the one way to `PERIOD_PASSED`.

use super::{Platform, Side};
use crate::api::clocks;
use crate::store::subscriptions::Page;
use std::time::Duration;

/// Time left to post before the end of the period (s). A transaction on TRON lives for two minutes.
const BEFORE_S: u64 = 20;
/// The most due subscriptions that are looked at.
const LOOKED_AT: u64 = 10_000;
/// The setting with the time after which the period has passed (Unix s).
const PASSED: &str = "late_until_s";

impl Platform {
    /// Moves time on to shortly before the last of the periods ends that are due on a chain, mostly that of the newest
    /// subscriber, and holds blocks: what is posted now waits.
    pub(crate) async fn come_to_the_end(&self, side: &Side) -> Result<(), String> {
        let page = Page { page: 1, size: LOOKED_AT };
        let (_, due) = self.store().due(clocks(self), page).map_err(words)?;
        let of_chain = due.iter().filter(|due| due.subscription.chain == side.id);
        let end_s = of_chain.map(|due| due.until_s).max();
        let end_s = end_s.ok_or("nothing is due on this chain: no period can pass")?;
        let left_s = end_s.saturating_sub(BEFORE_S).saturating_sub(self.clock().now_s());
        if left_s > 0 {
            self.advance(Duration::from_secs(left_s)).await.map_err(words)?;
        }
        self.set_held(true);
        self.store().set(PASSED, &(end_s + 1).to_string()).map_err(words)
    }

    /// Moves time past the end of that period, and lets blocks come again: what waited comes too late.
    pub(crate) async fn outlast(&self) -> Result<(), String> {
        let passed_s = self.store().number(PASSED, 0).map_err(words)?;
        self.clock().reach(passed_s * 1000);
        self.set_held(false);
        self.blocks(1).await.map_err(words)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "this is how map_err hands it over")]
fn words(error: impl ToString) -> String {
    error.to_string()
}
