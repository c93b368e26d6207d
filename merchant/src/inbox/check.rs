//! Asks the Signer what became of the transactions that billing callbacks name.

use super::ShelfFailed;
use super::metrics::Metrics;
use super::outcome::{Looked, Next, look};
use super::shelf::{LONGEST_PAUSE_MS, Shelf, Unchecked, Verdict};
use crate::Client;
use crate::pause_clock::PauseClock;
use crate::signer::SignerClient;
use futures_util::{StreamExt as _, pin_mut, stream};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Between two looks for work.
const TICK: Duration = Duration::from_millis(500);
/// Number of transactions that are asked about at once.
const AT_ONCE: usize = 8;
/// Between two readings of the platform's subscription list: at least, and at most, milliseconds. In between it is
/// 20 times as long as the reading took.
const LIST_PAUSE_MS: (i64, i64) = (5_000, 60_000);
/// So many orders are stored at once.
const ORDERS: usize = 500;

/// The last reading of the platform's subscription list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    /// Whole: an order that is not on it has no subscription that anybody knows.
    Whole,
    /// None, or broken off: nothing is said of an order that is not known.
    Partly,
}

/// The peers that the checker asks, and the time for which it believes that an answer will come.
#[derive(Debug)]
pub(super) struct Checker {
    /// The clock for pauses and dates.
    pub(super) clock: PauseClock,
    pub(super) shelf: Shelf,
    pub(super) signer: SignerClient,
    /// Tells which subscription an order is.
    pub(super) platform: Option<Client>,
    /// For how long a transaction that the Signer does not know may still become known.
    pub(super) patience_ms: i64,
    /// Pauses are this many times shorter than in production.
    pub(super) pace: i64,
    pub(super) metrics: Arc<Metrics>,
}

impl Checker {
    /// Runs until the store fails.
    pub(super) async fn run(self) -> Result<(), ShelfFailed> {
        // By a clock that nobody moves.
        let mut list_at = Instant::now();
        let mut listed = if self.platform.is_some() { Listed::Partly } else { Listed::Whole };
        loop {
            let unchecked = self.shelf.unchecked(self.clock.now_ms()).await?;
            if unchecked.is_empty() {
                tokio::time::sleep(TICK).await;
                continue;
            }
            let mut transactions: BTreeMap<String, Vec<Unchecked>> = BTreeMap::new();
            for one in unchecked {
                transactions.entry(one.tx_hash.to_ascii_lowercase()).or_default().push(one);
            }
            let asked = transactions.into_values().map(|events| self.ask(events, listed));
            let asked: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
            let mut unnamed = false;
            for which in asked {
                unnamed |= which?;
            }
            if unnamed && Instant::now() >= list_at {
                let began = Instant::now();
                listed = self.read_orders().await?;
                let now = Instant::now();
                list_at = now.checked_add(self.list_pause(began.elapsed())).unwrap_or(now);
            }
        }
    }

    /// One question for all events of one transaction. Answers whether one of them needs to be named
    /// by the platform's list.
    async fn ask(&self, events: Vec<Unchecked>, listed: Listed) -> Result<bool, ShelfFailed> {
        let Some(first) = events.first() else { return Ok(false) };
        let statuses = match self.signer.billings(&first.tx_hash).await {
            Ok(statuses) => Some(statuses),
            Err(error) => {
                warn!(%error, tx_hash = first.tx_hash, "the Signer does not tell what was billed");
                None
            }
        };
        let known = statuses.as_ref().and_then(|statuses| statuses.first());
        let tx_hash = known.map_or(&first.tx_hash, |status| &status.tx_hash).clone();
        let (mut looks, mut unnamed) = (vec![], false);
        for event in events {
            let looked = statuses.as_ref().map_or(Looked::Open, |known| look(known, &event.about));
            let is_unnamed = looked == Looked::WhichSubscription;
            unnamed |= is_unnamed;
            let looked = if is_unnamed && listed == Listed::Partly { Looked::Open } else { looked };
            let now_ms = self.clock.now_ms();
            let verdict = match event.doubt.after(looked, now_ms, self.patience_ms) {
                Next::Tell(billed) => Verdict::Told { billed, tx_hash: tx_hash.clone() },
                Next::Wait(doubt) => {
                    let next_ms = now_ms.saturating_add(self.pause_ms(event.looks));
                    Verdict::LookAt { next_ms, doubt }
                }
            };
            looks.push((event, verdict));
        }
        for billed in self.shelf.looked(looks).await? {
            self.metrics.billed(&billed);
        }
        Ok(unnamed && self.platform.is_some())
    }

    /// 2 s, then twice as much each time, up to 2 minutes.
    fn pause_ms(&self, looks: u32) -> i64 {
        let pause_ms = 2000_i64.saturating_mul(2_i64.saturating_pow(looks)).min(LONGEST_PAUSE_MS);
        pause_ms.div_euclid(self.pace).max(100)
    }

    /// The pause after a reading of the platform's list that took so long.
    fn list_pause(&self, took: Duration) -> Duration {
        let (least, most) = LIST_PAUSE_MS;
        let grown = i64::try_from(took.as_millis()).unwrap_or(i64::MAX).saturating_mul(20);
        let pause_ms = grown.clamp(least, most).div_euclid(self.pace);
        Duration::from_millis(u64::try_from(pause_ms).unwrap_or_default())
    }

    /// The interface does not say how an order's number and its subscription's id hang together; the
    /// platform's subscription list has both.
    async fn read_orders(&self) -> Result<Listed, ShelfFailed> {
        let Some(platform) = &self.platform else { return Ok(Listed::Whole) };
        let mut listed = Listed::Whole;
        let (mut orders, mut count, subscriptions) = (vec![], 0_usize, platform.subscriptions());
        pin_mut!(subscriptions);
        while let Some(subscription) = subscriptions.next().await {
            match subscription {
                Ok(one) => {
                    let named = one.out_trade_no.clone().zip(one.subscription_id);
                    orders.extend(named.map(|(trade_no, id)| (trade_no, id.0)));
                }
                Err(error) => {
                    warn!(%error, "the subscription list could not be read whole");
                    listed = Listed::Partly;
                }
            }
            if orders.len() >= ORDERS {
                count = count.saturating_add(orders.len());
                self.shelf.orders(std::mem::take(&mut orders)).await?;
            }
        }
        count = count.saturating_add(orders.len());
        info!(orders = count, "the subscription list was read, to name callbacks");
        self.shelf.orders(orders).await?;
        Ok(listed)
    }
}
