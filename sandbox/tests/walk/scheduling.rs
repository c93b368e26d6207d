//! The scheduler of `merchant schedule` against the Signer itself.

use crate::world::{CHAINS, PLAN, Signing, World};
use merchant::schedule::{ChainFamily, Connections, RunReport, ScheduleOptions, run_once};
use merchant::signer::Family;
use merchant::types::ChainId;
use serde_json::{Value, json};
use std::time::Duration;

/// Subscribers on each chain.
const USERS: u64 = 5;

/// Runs until every transaction is final, and answers the first report.
async fn run(world: &World, signing: &Signing, options: &ScheduleOptions) -> RunReport {
    let connections = || Connections {
        platform: world.client.clone(),
        signer: signing.client.clone(),
        inbox: None,
    };
    let first = run_once(options, connections()).await.unwrap();
    assert_eq!(first.faults, Vec::<String>::new());
    for _ in 0..300 {
        if run_once(options, connections()).await.unwrap().open == 0 {
            return first;
        }
        world.running.platform.blocks(1).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("its transactions stay open: {first}");
}

async fn subscribe(world: &World, wallet: &str) {
    for (chain, _) in CHAINS {
        for user in 0..USERS {
            let request = world.link_request(chain, PLAN, &format!("{wallet}-{user}"));
            let link = world.client.create_link(&request).await.unwrap();
            let steps = json!({"paymentUrl": link.url, "wallet": wallet, "allowance": "1000"});
            world.control("follow-link", steps).await.unwrap();
        }
    }
    world.finalise().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_over_the_signers_limit_is_split_and_later_ones_are_as_small() {
    let world = World::new().await;
    let signing = Signing::limited(&world, "max_batch = 2").await;
    let place = tempfile::tempdir().unwrap();
    let chains = CHAINS.map(|(chain, family)| ChainFamily { chain: chain.0, family }).to_vec();
    let state = place.path().join("schedule.db");
    let options = ScheduleOptions { state, chains, ..ScheduleOptions::default() };

    subscribe(&world, "ada").await;
    let first = run(&world, &signing, &options).await;
    // On each chain five, then three of them, are refused by the rule; two, two and one are not.
    let counts = |report: &RunReport| (report.posts, report.accepted, report.silent);
    assert_eq!(counts(&first), (10, 10, 0), "{first}");
    subscribe(&world, "ben").await;
    let second = run(&world, &signing, &options).await;
    assert_eq!(counts(&second), (6, 10, 0), "{second}");

    let everybody = world.client.subscription_page(1, 500).await.unwrap().list;
    assert_eq!(everybody.len(), 20);
    for row in everybody {
        let fields: Value = serde_json::from_str(row.unwrap().raw().get()).unwrap();
        assert_eq!(fields["paidPeriods"], 1, "{fields}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn families_the_wrong_way_round_hold_everybody_up_and_decline_nobody() {
    let world = World::new().await;
    let signing = Signing::start(&world).await;
    subscribe(&world, "ada").await;
    let place = tempfile::tempdir().unwrap();
    let families = |wrong: bool| {
        let other = |family| if family == Family::Evm { Family::Tvm } else { Family::Evm };
        let of = |(chain, family): (ChainId, Family)| ChainFamily {
            chain: chain.0,
            family: if wrong { other(family) } else { family },
        };
        let state = place.path().join("schedule.db");
        ScheduleOptions { state, chains: CHAINS.map(of).to_vec(), ..ScheduleOptions::default() }
    };
    let connections =
        Connections { platform: world.client.clone(), signer: signing.client.clone(), inbox: None };
    let report = run_once(&families(true), connections).await.unwrap();
    assert_eq!((report.posts, report.silent, report.declined), (2, 2, 0), "{report}");
    assert!(report.faults.iter().all(|why| why.contains("post it to the other path")), "{report}");
    assert_eq!(report.faults.len(), 2, "{report}");
    // Batches without a verdict rest for a second or two.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let report = run(&world, &signing, &families(false)).await;
    assert_eq!((report.posts, report.accepted), (2, 2 * USERS), "{report}");
}
