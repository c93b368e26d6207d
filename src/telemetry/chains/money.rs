//! The metrics of the accounts that sign, and of the amounts that they may spend: of a chain, and of each of its
//! accounts.

use super::{ChainNow, Scrape, each, many, of_chain, ratio, whole};
use alloy::primitives::U256;
use chain::{FreeResources, Vitals};
use engine::Lane;
use std::sync::Arc;

/// Tells it.
pub(super) fn tell(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    tell_coins(scrape, chains);
    tell_runway(scrape, chains);
    tell_accounts(scrape, chains);
}

fn tell_coins(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    let sum = |of: fn(&Vitals) -> U256| {
        each(chains, move |chain| {
            let all = chain.vitals.as_ref()?.iter().map(of);
            Some(chain.coins(all.fold(U256::ZERO, U256::saturating_add)))
        })
    };
    scrape.floats(
        ("gas_balance_coins", "What the signing accounts hold, whole coins"),
        sum(|vitals| vitals.balance),
    );
    scrape.floats(
        ("gas_in_flight_coins", "What open transactions may still take of that, whole coins"),
        sum(|vitals| vitals.in_flight),
    );
    scrape.floats(
        ("gas_ordinary_coins", "What an ordinary batch may cost now, whole coins"),
        each(chains, |chain| {
            let dearest = chain.vitals.as_ref()?.iter().map(|vitals| vitals.ordinary).max()?;
            Some(chain.coins(dearest))
        }),
    );
}

fn tell_runway(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    scrape.gauges(
        ("billings_left", "How many more ordinary batches until an account cannot pay for one"),
        each(chains, |chain| chain.signing.billings_left().map(whole)),
    );
    scrape.gauges(
        ("gas_low", "1 while an account can pay for less than gas_warn_billings"),
        each(chains, |chain| Some(i64::from(!chain.signing.warnings().is_empty()))),
    );
    let resources = |of: fn(&FreeResources) -> u64| {
        each(chains, move |chain| {
            let free =
                chain.vitals.as_ref()?.iter().map(|vitals| vitals.resources.as_ref().map(of));
            let free: Option<Vec<u64>> = free.collect();
            Some(whole(free?.into_iter().fold(0, u64::saturating_add)))
        })
    };
    scrape.gauges(
        ("energy_left", "Energy that the accounts can use without paying (TRON)"),
        resources(|free| free.energy),
    );
    scrape.gauges(
        ("bandwidth_left_bytes", "Bandwidth that they can use without paying (TRON)"),
        resources(|free| free.bandwidth),
    );
    scrape.floats(
        (
            "limit_headroom_ratio",
            "What is left of a limit of the configuration: 1 all of it, 0 nothing",
        ),
        many(chains, |chain| {
            let of = |room: chain::Headroom| {
                let left = room.most.saturating_sub(room.taken);
                ([of_chain(chain.id), ("limit", room.limit)], ratio(left, room.most))
            };
            chain.signing.headrooms().into_iter().map(of).collect::<Vec<_>>()
        }),
    );
}

fn tell_accounts(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    let account = |chain: &ChainNow<'_>, lane: &Lane| {
        [of_chain(chain.id), ("account", lane.account().to_owned())]
    };
    scrape.gauges(
        ("account_ready", "1 when a signing account does what it is there for"),
        many(chains, |chain| {
            let of =
                |lane: &Arc<Lane>| (account(chain, lane), i64::from(lane.not_ready().is_none()));
            chain.signing.all().map(of).collect::<Vec<_>>()
        }),
    );
    scrape.gauges(
        ("account_key", "1; where the key of a signing account is held"),
        many(chains, |chain| {
            let of = |lane: &Arc<Lane>| {
                let [chain, account] = account(chain, lane);
                Some(([chain, account, ("key", lane.chain.key_held()?.to_owned())], 1))
            };
            chain.signing.all().filter_map(of).collect::<Vec<_>>()
        }),
    );
    scrape.gauges(
        (
            "account_undecided_batches",
            "Batches of a signing account that the chain has not decided",
        ),
        many(chains, |chain| {
            let of = |lane: &Arc<Lane>| (account(chain, lane), super::count(lane.batches.count()));
            chain.signing.all().map(of).collect::<Vec<_>>()
        }),
    );
    scrape.gauges(
        ("account_billings_left", "How many more ordinary batches a signing account can pay for"),
        many(chains, |chain| {
            let of = |lane: &Arc<Lane>| {
                Some((account(chain, lane), whole(lane.runway.billings_left()?)))
            };
            chain.signing.all().filter_map(of).collect::<Vec<_>>()
        }),
    );
    scrape.floats(
        ("account_gas_balance_coins", "What a signing account holds, whole coins"),
        many(chains, |chain| {
            let of = |lane: &Arc<Lane>| {
                let balance = lane.chain.vitals()?.balance;
                Some((account(chain, lane), chain.coins(balance)))
            };
            chain.signing.all().filter_map(of).collect::<Vec<_>>()
        }),
    );
}
