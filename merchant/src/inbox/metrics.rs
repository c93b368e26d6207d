//! The inbox's metrics. Every name and help text is here.

use super::onward::Push;
use super::outcome::Billed;
use super::shelf::{Kept, Stand};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Arrival {
    kind: String,
    is: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Label {
    is: String,
}

fn label(is: &str) -> Label {
    Label { is: is.to_owned() }
}

/// The inbox's metrics.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    arrivals: Family<Arrival, Counter>,
    outcomes: Family<Label, Counter>,
    pushes: Family<Label, Counter>,
    events: Family<Label, Gauge>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("merchant_inbox");
        let (arrivals, outcomes) = (Family::default(), Family::default());
        let (pushes, events) = (Family::default(), Family::default());
        let help = "Verified deliveries, by kind and whether they were new, repeat or conflict";
        registry.register("deliveries", help, Family::clone(&arrivals));
        registry.register("outcomes", "What the chain said of billings", Family::clone(&outcomes));
        registry.register("pushes", "Tries to hand events on", Family::clone(&pushes));
        let help = "Events held for the chain, waiting, delivered, dead and skipped";
        registry.register("events", help, Family::clone(&events));
        Self { registry, arrivals, outcomes, pushes, events }
    }

    /// Something verified came in, and is on disk.
    pub(crate) fn kept(&self, kind: &str, kept: Kept) {
        let is = match kept {
            Kept::New => "new",
            Kept::Repeat => "repeat",
            Kept::Conflict => "conflict",
        };
        // The platform names its own kinds; a word nobody knows must not become a metric of its own.
        let known = [
            "SubscriptionRegister",
            "SubscriptionApprove",
            "SubscriptionBilling",
            "SubscriptionCancel",
            "Recharge",
            "Withdrawal",
            "Scheduler",
        ];
        let kind = if known.contains(&kind) { kind } else { "Unknown" };
        let arrival = Arrival { kind: kind.to_owned(), is: is.to_owned() };
        self.arrivals.get_or_create(&arrival).inc();
    }

    /// The chain decided about a billing.
    pub(crate) fn billed(&self, billed: &Billed) {
        let is = match billed {
            Billed::Charged => "charged",
            Billed::NotCharged { .. } => "not_charged",
            Billed::Unproven { .. } => "unproven",
            Billed::Unknown => "unknown",
        };
        self.outcomes.get_or_create(&label(is)).inc();
    }

    /// A try to hand an event on.
    pub(crate) fn pushed(&self, push: Push) {
        let is = match push {
            Push::Delivered => "delivered",
            Push::Again(_) => "again",
            Push::Dead => "dead",
        };
        self.pushes.get_or_create(&label(is)).inc();
    }

    /// In the text format of `OpenMetrics`.
    pub(crate) fn text(&self, stand: &Stand) -> String {
        for word in ["held", "waiting", "delivered", "dead", "skipped"] {
            let count =
                stand.iter().find(|(known, _)| known == word).map_or(0, |(_, count)| *count);
            self.events.get_or_create(&label(word)).set(count);
        }
        let mut text = String::new();
        // Writing into a String cannot fail.
        encode(&mut text, &self.registry).unwrap_or_default();
        text
    }
}
