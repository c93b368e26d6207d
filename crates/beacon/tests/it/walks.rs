//! The way over periods and forks.

use crate::made::{Claim, PERIOD, bootstrap, network, read_bootstrap, read_finality, read_update};
use alloy::primitives::B256;
use beacon::client::{Advance, LightClient};
use beacon::network::Network;
use beacon::unproven::{Obstacle, Unproven};
use serde_json::json;

/// A client that stands in this period.
pub(crate) fn client_in(period: u64) -> LightClient {
    let (root, told) = bootstrap(period * PERIOD + 32);
    LightClient::begin(network(), root, &read_bootstrap(&told)).unwrap()
}

#[test]
fn five_periods_and_four_forks_are_walked_and_each_final_block_is_the_one_that_was_made() {
    let mut client = client_in(0);
    assert_eq!(client.newest().slot, 32);
    for period in 0..5 {
        assert_eq!(client.period(), period);
        let told = Claim::at(period, 320).finality();
        let block = client.finalized(&read_finality(&told)).unwrap();
        assert_eq!(block, client.newest());
        let header = &told["data"]["finalized_header"];
        assert_eq!(json!(block.slot.to_string()), header["beacon"]["slot"]);
        assert_eq!(json!(block.number.to_string()), header["execution"]["block_number"]);
        assert_eq!(json!(block.hash), header["execution"]["block_hash"]);
        assert_eq!(json!(block.state_root), header["execution"]["state_root"]);
        assert_eq!(client.network().time_of(block.slot), Some(block.timestamp));
        assert_eq!(block.root, B256::from(crate::made::header_root(&header["beacon"])));
        let update = read_update(&Claim::at(period, 640).update());
        assert_eq!(client.advance(&update).unwrap(), Advance::Stepped);
        assert_eq!(client.newest().slot, period * PERIOD + 640);
        assert_eq!(client.advance(&update).unwrap(), Advance::KnownBefore);
    }
    assert_eq!(client.period(), 5);
    // A later client begins at the root that the walk proved.
    let (root, told) = bootstrap(4 * PERIOD + 640);
    assert_eq!(client.newest().root, root);
    LightClient::begin(network(), root, &read_bootstrap(&told)).unwrap();
}

#[test]
fn an_update_that_is_older_than_the_newest_final_block_steps_and_takes_nothing_back() {
    let mut client = client_in(3);
    let newest = client.finalized(&read_finality(&Claim::at(3, 640).finality())).unwrap();
    let update = read_update(&Claim::at(3, 320).update());
    assert_eq!(client.advance(&update).unwrap(), Advance::Stepped);
    assert_eq!(client.newest(), newest);
}

#[test]
fn the_committee_of_the_signature_slot_signs_under_the_fork_of_the_slot_before() {
    // Attested in the last slot of Deneb, signed in the first of Electra, by the committee that begins there.
    let mut claim = Claim::at(1, PERIOD - 65);
    (claim.signature, claim.signed_by) = (2 * PERIOD, 2);
    let told = read_finality(&claim.finality());
    let mut client = client_in(1);
    assert_eq!(client.clone().finalized(&told), refused(Obstacle::UnknownCommittee(2)));
    client.advance(&read_update(&Claim::at(1, 320).update())).unwrap();
    client.finalized(&told).unwrap();

    // One slot later Electra's version holds.
    claim.signature += 1;
    assert_eq!(client.finalized(&read_finality(&claim.finality())), refused(Obstacle::Signature));
    claim.fork_version = [5, 0, 0, 1];
    client.finalized(&read_finality(&claim.finality())).unwrap();
}

#[test]
fn the_committee_before_is_still_known_and_no_other() {
    let mut client = client_in(2);
    for period in [2, 3] {
        client.advance(&read_update(&Claim::at(period, 320).update())).unwrap();
    }
    let mut claim = Claim::at(3, 640);
    client.finalized(&read_finality(&claim.finality())).unwrap();
    // A signature two periods back, over a header that is new enough, can only be told by a liar.
    (claim.attested, claim.signature) = (3 * PERIOD + 800, 3 * PERIOD + 801);
    claim.signed_by = 2;
    assert_eq!(client.finalized(&read_finality(&claim.finality())), refused(Obstacle::Signature));
    let mut young = client_in(4);
    let mut claim = Claim::at(5, 320);
    claim.signed_by = 4;
    let told = read_finality(&claim.finality());
    assert_eq!(young.finalized(&told), refused(Obstacle::UnknownCommittee(5)));
}

#[test]
fn a_period_is_neither_skipped_nor_proven_by_its_own_committee() {
    let mut client = client_in(2);
    let mut told = Claim::at(3, 320).update();
    let next = read_update(&told);
    assert_eq!(client.advance(&next), Err(Obstacle::UnknownCommittee(3).into()));
    // Not even a contradiction is looked for before the period's turn has come.
    told["data"]["next_sync_committee_branch"] = json!([]);
    let next = read_update(&told);
    assert_eq!(client.advance(&next), Err(Obstacle::UnknownCommittee(3).into()));
    // Signed by the committee that it would introduce.
    let mut claim = Claim::at(2, 320);
    claim.signed_by = 3;
    let told = read_update(&claim.update());
    assert_eq!(client.advance(&told), Err(Obstacle::Signature.into()));
    // Attested in the last slot, signed by the next committee in its first.
    let mut claim = Claim::at(2, PERIOD - 65);
    (claim.signature, claim.signed_by) = (3 * PERIOD, 3);
    let told = read_update(&claim.update());
    assert_eq!(client.advance(&told), Err(Obstacle::UnknownCommittee(3).into()));
    assert_eq!(client.period(), 2);
}

#[test]
fn known_networks_count_from_their_genesis_to_fulu() {
    for (network, fulu, time) in [
        (Network::mainnet(), 411_392, 1_764_798_551),
        (Network::sepolia(), 272_640, 1_760_427_360),
        (Network::hoodi(), 50_688, 1_761_677_592),
    ] {
        assert_eq!(network.forks.len(), 7);
        assert!(network.forks.is_sorted_by_key(|fork| (fork.epoch, fork.name)));
        assert_eq!(network.forks[6].epoch, fulu);
        // The times that were announced for Fusaka on each network.
        assert_eq!(network.time_of(fulu * 32), Some(time));
        assert_eq!(network.time_of(u64::MAX), None);
    }
}

pub(crate) fn refused<T>(obstacle: Obstacle) -> Result<T, Unproven> {
    Err(obstacle.into())
}
