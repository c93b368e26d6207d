//! The metrics of each chain. Nothing here asks a node: the metrics tell the cached values, and their age.

mod money;

use super::scrape::{Labels, Samples, Scrape};
use alloy::primitives::U256;
use billing::{Family, PlatformChainId, spell_address};
use chain::{ProofMode, Vitals};
use engine::{Gate, Lane, LaneCounts, LaneSet, NotReady, SigningLanes};
use std::sync::Arc;
use std::time::Duration;
use strum::IntoEnumIterator;

/// One chain at one moment: the lanes that take new work, and those that only end what they have begun.
pub(super) struct ChainNow<'a> {
    pub(super) id: PlatformChainId,
    /// One that takes new work, for what is the same of all.
    pub(super) lane: &'a Arc<Lane>,
    signing: &'a SigningLanes,
    followers: Vec<&'a Arc<Lane>>,
    family: Family,
    /// Of all that take new work, once all are seen.
    vitals: Option<Vec<Vitals>>,
    tallies: Vec<LaneCounts>,
    standing: Vec<NotReady>,
    now_ms: i64,
}

impl<'a> ChainNow<'a> {
    /// All chains, in the order of their ids.
    pub(super) fn of(lanes: &'a LaneSet, now_ms: i64) -> Vec<Self> {
        let one = |signing: &'a SigningLanes| {
            let (lane, id) = (signing.any(), signing.any().id().chain);
            Self {
                id,
                lane,
                signing,
                family: lane.chain.facts().family,
                vitals: signing.all().map(|lane| lane.chain.vitals()).collect(),
                tallies: lanes.of_chain(signing).map(|lane| lane.counts()).collect(),
                standing: signing.not_ready().into_iter().map(|(obstacle, _)| obstacle).collect(),
                followers: lanes.followers_of(id).collect(),
                now_ms,
            }
        };
        lanes.chains().into_iter().map(one).collect()
    }

    fn all(&self) -> impl Iterator<Item = &'a Arc<Lane>> {
        self.signing.all().chain(self.followers.iter().copied())
    }

    fn coins(&self, amount: U256) -> f64 {
        coins(amount, self.family)
    }

    fn sum<T>(&self, of: impl Fn(&LaneCounts) -> Option<T>) -> impl Iterator<Item = T> {
        self.tallies.iter().filter_map(of)
    }
}

/// The label that every value of a chain has.
pub(super) fn of_chain(id: PlatformChainId) -> (&'static str, String) {
    ("chain", id.0.to_string())
}

/// One value for each chain that has it.
fn each<V>(chains: &[ChainNow<'_>], of: impl Fn(&ChainNow<'_>) -> Option<V>) -> Samples<1, V> {
    chains.iter().filter_map(|chain| Some(([of_chain(chain.id)], of(chain)?))).collect()
}

/// Several for each chain, told apart by further labels.
fn many<const N: usize, V, I>(
    chains: &[ChainNow<'_>],
    of: impl Fn(&ChainNow<'_>) -> I,
) -> Samples<N, V>
where
    I: IntoIterator<Item = (Labels<N>, V)>,
{
    chains.iter().flat_map(of).collect()
}

/// Tells everything of chains that is not told of their nodes.
pub(super) fn tell(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    tell_standing(scrape, chains);
    tell_head(scrape, chains);
    tell_open(scrape, chains);
    tell_ends(scrape, chains);
    money::tell(scrape, chains);
}

fn tell_standing(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    let family = |chain: &ChainNow<'_>| <&'static str>::from(chain.family);
    scrape.gauges(
        ("chain_info", "1; what a chain is called, and its family"),
        many(chains, |chain| {
            let name = ("name", chain.lane.chain.facts().name.clone());
            [([of_chain(chain.id), name, ("family", family(chain).to_owned())], 1)]
        }),
    );
    scrape.gauges(
        ("ready", "1 when the chain does what it is there for, as /health/ready says"),
        each(chains, |chain| Some(i64::from(chain.standing.is_empty()))),
    );
    scrape.gauges(
        ("obstacle", "1 for the reason why a chain is not ready"),
        many(chains, |chain| {
            let of = |reason: NotReady| {
                let now = i64::from(chain.standing.contains(&reason));
                ([of_chain(chain.id), ("reason", reason.word().to_owned())], now)
            };
            NotReady::iter().map(of).collect::<Vec<_>>()
        }),
    );
    scrape.gauges(
        (
            "records_proven",
            "1 if the last record that decided something was proven by its block (EVM)",
        ),
        each(chains, |chain| {
            let mode = chain.all().filter_map(|lane| lane.chain.proof_mode()).max()?;
            (mode != ProofMode::Untried).then(|| i64::from(mode == ProofMode::Proven))
        }),
    );
    scrape.gauges(
        ("lane_open", "1 when the chain takes new work"),
        each(chains, |chain| {
            Some(i64::from(chain.signing.all().all(|lane| lane.gate() == Gate::Open)))
        }),
    );
    scrape.gauges(
        ("paused", "1 while the chain is paused: nothing new is signed"),
        each(chains, |chain| Some(i64::from(chain.lane.paused().is_some()))),
    );
    scrape.floats(
        ("paused_since_timestamp_seconds", "When a caller paused the chain, Unix time"),
        each(chains, |chain| Some(seconds(chain.lane.journal.pauses().of(chain.id)?.since_ms))),
    );
}

fn tell_head(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    scrape.gauges(
        ("chain_head", "Number of the newest block seen"),
        each(chains, |chain| Some(chain.lane.head().map_or(0, |view| whole(view.head)))),
    );
    let time = |of: fn(&chain::HeadView) -> u64| {
        each(chains, move |chain| {
            let time = chain.lane.head().map(|view| of(&view)).filter(|time| *time > 0)?;
            Some(Duration::from_secs(time).as_secs_f64())
        })
    };
    scrape.floats(
        ("head_timestamp_seconds", "Time of the newest block seen, Unix time"),
        time(|view| view.head_time),
    );
    scrape.floats(
        ("final_timestamp_seconds", "Time of the newest final block seen, Unix time"),
        time(|view| view.final_time),
    );
    scrape.floats(
        ("look_timestamp_seconds", "When the chain was last looked at with success, Unix time"),
        each(chains, |chain| {
            let oldest = chain.vitals.as_ref()?.iter().map(|vitals| vitals.age).max()?;
            let age_ms = i64::try_from(oldest.as_millis()).ok()?;
            Some(seconds(chain.now_ms.saturating_sub(age_ms)))
        }),
    );
}

fn tell_open(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    scrape.gauges(
        ("undecided_batches", "Batches that the chain has not decided"),
        each(chains, |chain| Some(count(chain.all().map(|lane| lane.batches.count()).sum()))),
    );
    scrape.floats(
        ("newest_batch_timestamp_seconds", "When the newest batch was accepted, Unix time"),
        each(chains, |chain| chain.sum(|tally| tally.accepted_ms).max().map(seconds)),
    );
    scrape.floats(
        ("oldest_open_timestamp_seconds", "When the oldest of them was accepted, Unix time"),
        each(chains, |chain| {
            chain.all().filter_map(|lane| lane.batches.oldest_ms()).min().map(seconds)
        }),
    );
    scrape.gauges(
        ("held_up_batches", "Undecided batches that something known keeps from landing"),
        each(chains, |chain| {
            Some(count(chain.all().map(|lane| lane.batches.held_up().len()).sum()))
        }),
    );
    scrape.gauges(
        ("following_batches", "Undecided batches of accounts that only end what they have begun"),
        many(chains, |chain| {
            let of = |lane: &&Arc<Lane>| {
                let account = spell_address(chain.family, lane.chain.facts().signer);
                ([of_chain(chain.id), ("account", account)], count(lane.batches.count()))
            };
            chain.followers.iter().filter(|lane| !lane.rests()).map(of).collect::<Vec<_>>()
        }),
    );
    scrape.gauges(
        (
            "disputed_batches",
            "Undecided batches of which a node has long told another record than others",
        ),
        many(chains, |chain| {
            let disputed: Vec<_> = chain.all().flat_map(|lane| lane.disputed()).collect();
            let of = |label: String| {
                let batches = disputed.iter().filter(|(_, nodes)| nodes.contains(&label)).count();
                ([of_chain(chain.id), ("node", label)], count(batches))
            };
            let nodes = chain.lane.chain.nodes().into_iter();
            nodes.map(|node| of(node.label)).collect::<Vec<_>>()
        }),
    );
}

fn tell_ends(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    scrape.counters(
        ("batches_accepted", "Batches that were signed and committed"),
        each(chains, |chain| Some(chain.sum(|tally| Some(tally.accepted)).sum())),
    );
    scrape.counters(
        ("charges_accepted", "Charges in them"),
        each(chains, |chain| Some(chain.sum(|tally| Some(tally.charges_accepted)).sum())),
    );
    let none = LaneCounts::default();
    scrape.counters(
        ("batches_ended", "Batches that final blocks have decided, by how"),
        many(chains, |chain| {
            let of = |state: &&'static str| {
                let ended = chain.sum(|tally| tally.ended.get(state).copied()).sum();
                ([of_chain(chain.id), ("state", (*state).to_owned())], ended)
            };
            none.ended.keys().map(of).collect::<Vec<_>>()
        }),
    );
    scrape.counters(
        ("charges", "Charges that final blocks have decided, by how and why"),
        many(chains, |chain| {
            let of = |end: &(&'static str, &'static str)| {
                let labels = [("state", end.0.to_owned()), ("reason", end.1.to_owned())];
                let [state, reason] = labels;
                let charges = chain.sum(|tally| tally.charges.get(end).copied()).sum();
                ([of_chain(chain.id), state, reason], charges)
            };
            none.charges.keys().map(of).collect::<Vec<_>>()
        }),
    );
    scrape.counters(
        ("signed_again", "Further transactions that were signed for open batches"),
        many(chains, |chain| {
            let of = |(kind, _): (&engine::SignedAgain, &u64)| {
                let signed = chain.sum(|tally| tally.signed_again.get(kind).copied()).sum();
                ([of_chain(chain.id), ("kind", kind.word().to_owned())], signed)
            };
            none.signed_again.iter().map(of).collect::<Vec<_>>()
        }),
    );
    scrape.sums(
        (
            "fees_paid_coins",
            "What transactions in final blocks have cost, whole coins, by how their batch ended",
        ),
        many(chains, |chain| {
            let of = |state: &&'static str| {
                let paid = chain.sum(|tally| tally.fees.get(state).copied());
                let paid = paid.fold(U256::ZERO, U256::saturating_add);
                ([of_chain(chain.id), ("state", (*state).to_owned())], chain.coins(paid))
            };
            none.fees.keys().map(of).collect::<Vec<_>>()
        }),
    );
}

/// An amount in whole coins of its chain: exact to 15 digits, as far as metrics go.
#[expect(clippy::float_arithmetic, reason = "metrics are floats; exact amounts are told elsewhere")]
fn coins(amount: U256, family: Family) -> f64 {
    f64::from(amount) / 10_f64.powi(family.coin_decimals().into())
}

/// `part` of `whole`; 1 where there is nothing to have a part of.
#[expect(clippy::float_arithmetic, reason = "metrics are floats")]
fn ratio(part: U256, whole: U256) -> f64 {
    if whole.is_zero() { 1.0 } else { f64::from(part) / f64::from(whole) }
}

/// Milliseconds as seconds.
pub(super) fn seconds(ms: i64) -> f64 {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default()).as_secs_f64()
}

pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
