//! Asks the Signer what became of the transactions that billing callbacks name.

use super::ShelfFailed;
use super::metrics::Metrics;
use super::outcome::{Billed, Looked, look};
use super::shelf::{Shelf, Unchecked, Verdict};
use crate::Client;
use crate::pause_clock::PauseClock;
use crate::signer::SignerClient;
use futures_util::{StreamExt as _, pin_mut, stream};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tracing::{info, warn};

/// Between two looks for work.
const TICK: Duration = Duration::from_millis(500);
/// Number of transactions that are asked about at once.
const AT_ONCE: usize = 8;
/// Between two readings of the platform's subscription list, milliseconds.
const LIST_PAUSE_MS: i64 = 60_000;

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
        let mut listed_ms = i64::MIN;
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
            let asked = transactions.into_values().map(|events| self.ask(events));
            let asked: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
            let mut unnamed = false;
            for which in asked {
                unnamed |= which?;
            }
            if unnamed
                && self.clock.now_ms()
                    >= listed_ms.saturating_add(LIST_PAUSE_MS.div_euclid(self.pace))
            {
                listed_ms = self.clock.now_ms();
                self.read_orders().await?;
            }
        }
    }

    /// One question for all events of one transaction. Answers whether one of them needs to be named
    /// by the platform's list.
    async fn ask(&self, events: Vec<Unchecked>) -> Result<bool, ShelfFailed> {
        let Some(first) = events.first() else { return Ok(false) };
        let statuses = match self.signer.billings(&first.tx_hash).await {
            Ok(statuses) => Some(statuses),
            Err(error) => {
                warn!(%error, tx_hash = first.tx_hash, "the Signer does not tell what was billed");
                None
            }
        };
        let (mut looks, mut unnamed) = (vec![], false);
        for event in events {
            let looked = statuses.as_ref().map_or(Looked::Open, |known| look(known, &event.about));
            let waited_ms = self.clock.now_ms().saturating_sub(event.stored_ms);
            let told = match looked {
                Looked::Told(billed) => Some(billed),
                Looked::Missing if waited_ms >= self.patience_ms => Some(Billed::Unknown),
                Looked::WhichSubscription if waited_ms >= self.patience_ms => {
                    let reason = "the callback does not say which subscription it is about";
                    Some(Billed::Unproven { reason: reason.to_owned() })
                }
                Looked::WhichSubscription => {
                    unnamed = true;
                    None
                }
                Looked::Missing | Looked::Open => None,
            };
            let verdict = if let Some(billed) = told {
                self.metrics.billed(&billed);
                Verdict::Told(billed)
            } else {
                Verdict::LookAt(self.clock.now_ms().saturating_add(self.pause_ms(event.looks)))
            };
            looks.push((event, verdict));
        }
        self.shelf.looked(looks).await?;
        Ok(unnamed && self.platform.is_some())
    }

    /// 2 s, then twice as much each time, up to 2 minutes.
    fn pause_ms(&self, looks: u32) -> i64 {
        let pause_ms = 2000_i64.saturating_mul(2_i64.saturating_pow(looks)).min(120_000);
        pause_ms.div_euclid(self.pace).max(100)
    }

    /// The interface does not say how an order's number and its subscription's id hang together; the
    /// platform's subscription list has both.
    async fn read_orders(&self) -> Result<(), ShelfFailed> {
        let Some(platform) = &self.platform else { return Ok(()) };
        let (mut orders, subscriptions) = (vec![], platform.subscriptions());
        pin_mut!(subscriptions);
        while let Some(subscription) = subscriptions.next().await {
            match subscription {
                Ok(one) => {
                    let named = one.out_trade_no.clone().zip(one.subscription_id);
                    orders.extend(named.map(|(trade_no, id)| (trade_no, id.0)));
                }
                Err(error) => warn!(%error, "the subscription list could not be read whole"),
            }
        }
        info!(orders = orders.len(), "the subscription list was read, to name callbacks");
        self.shelf.orders(orders).await
    }
}
