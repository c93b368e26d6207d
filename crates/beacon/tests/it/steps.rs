//! Each step that an answer can fail, and no other step that would refuse it.

use crate::made::{
    Claim, PERIOD, bootstrap, bootstrap_of, committee, network, read_bootstrap, read_finality,
    read_update,
};
use crate::walks::{client_in, refused};
use alloy::primitives::{B256, hex};
use beacon::client::LightClient;
use beacon::unproven::{Contradiction, Obstacle, Unproven};
use blst::min_pk::{AggregateSignature, PublicKey, Signature};
use serde_json::{Value, json};

fn finalize(claim: &Claim) -> Result<(), Unproven> {
    client_in(3).finalized(&read_finality(&claim.finality())).map(drop)
}

#[test]
fn two_thirds_of_a_committee_are_342() {
    for (signers, outcome) in [
        (0, refused(Obstacle::Participation(0))),
        (1, refused(Obstacle::Participation(1))),
        (341, refused(Obstacle::Participation(341))),
        (342, Ok(())),
        (512, Ok(())),
    ] {
        let mut claim = Claim::at(3, 320);
        claim.signers = signers.max(1);
        let mut told = claim.finality();
        if signers == 0 {
            told["data"]["sync_aggregate"] = json!({
                "sync_committee_bits": hex::encode_prefixed([0; 64]),
                "sync_committee_signature": format!("0xc0{}", "00".repeat(95)),
            });
        }
        assert_eq!(client_in(3).finalized(&read_finality(&told)).map(drop), outcome);
        let mut update = claim.update();
        update["data"]["sync_aggregate"] = told["data"]["sync_aggregate"].clone();
        assert_eq!(client_in(3).advance(&read_update(&update)).map(drop), outcome);
    }
}

#[test]
fn a_signature_of_another_fork_network_committee_or_kind_is_not_the_committees() {
    let change = |change: fn(&mut Claim)| {
        let mut claim = Claim::at(3, 320);
        change(&mut claim);
        finalize(&claim)
    };
    assert_eq!(change(|_| ()), Ok(()));
    assert_eq!(change(|claim| claim.fork_version = [5, 0, 0, 1]), refused(Obstacle::Signature));
    assert_eq!(change(|claim| claim.fork_version = [7, 0, 0, 1]), refused(Obstacle::Signature));
    assert_eq!(change(|claim| claim.genesis[31] ^= 1), refused(Obstacle::Signature));
    assert_eq!(change(|claim| claim.signed_by = 4), refused(Obstacle::Signature));
    let mut told = Claim::at(3, 320).finality();
    let signature = told.pointer_mut("/data/sync_aggregate/sync_committee_signature").unwrap();
    for other in [format!("0xc0{}", "00".repeat(95)), format!("0x{}", "00".repeat(96))] {
        *signature = json!(other);
    }
    assert_eq!(client_in(3).finalized(&read_finality(&told)), refused(Obstacle::Signature));
}

#[test]
fn slots_stand_in_the_order_in_which_they_were() {
    let wrong = Err(Contradiction::SlotOrder.into());
    let mut claim = Claim::at(3, 320);
    claim.signature = claim.attested;
    assert_eq!(finalize(&claim), wrong);
    claim.signature = claim.attested + 1;
    assert_eq!(finalize(&claim), Ok(()));
    claim.attested = claim.finalized;
    assert_eq!(finalize(&claim), Ok(()));
    claim.attested = claim.finalized - 1;
    assert_eq!(finalize(&claim), wrong);
    let told = read_update(&claim.update());
    assert_eq!(client_in(3).advance(&told).map(drop), wrong);
}

#[test]
fn a_final_block_is_never_taken_back_nor_replaced_by_another_of_its_slot() {
    let mut client = client_in(3);
    let finality = |offset| read_finality(&Claim::at(3, offset).finality());
    let newest = client.finalized(&finality(640)).unwrap();
    assert_eq!(client.finalized(&finality(320)), refused(Obstacle::Outdated(newest.slot)));
    assert_eq!(client.finalized(&finality(640)).unwrap(), newest);
    let mut rival = Claim::at(3, 640);
    rival.salt = 1;
    let told = read_finality(&rival.finality());
    assert_eq!(client.finalized(&told), refused(Obstacle::RivalBlock(newest.slot)));
    let told = read_update(&rival.update());
    assert_eq!(client.advance(&told).map(drop), refused(Obstacle::RivalBlock(newest.slot)));
    assert_eq!((client.period(), client.newest()), (3, newest));
}

#[test]
fn a_next_committee_is_final_in_its_own_period() {
    let mut client = client_in(3);
    let mut claim = Claim::at(3, 32);
    claim.finalized = 3 * PERIOD - 32;
    let told = read_update(&claim.update());
    assert_eq!(client.advance(&told).map(drop), refused(Obstacle::NotFinal));
    // Nothing finalized, as an update may be: in the first period, too.
    let mut claim = Claim::at(0, 320);
    claim.finalized = 0;
    let told = read_update(&claim.update());
    assert_eq!(client_in(0).advance(&told).map(drop), refused(Obstacle::NotFinal));
}

#[test]
fn a_branch_is_as_long_as_its_place_is_deep() {
    // Places that differ from the right ones in nothing but their depth, the one shallower and the other deeper: the
    // turns on the way up are the same as far as they go.
    for (period, [next, finalized]) in [(3, [55, 105]), (3, [215, 425]), (1, [119, 233])] {
        let mut claim = Claim::at(period, 320);
        claim.places[1] = next;
        let told = read_update(&claim.update());
        let found = client_in(period).advance(&told).map(drop);
        assert_eq!(found, Err(Contradiction::NextCommittee.into()));
        let mut claim = Claim::at(period, 320);
        claim.places[2] = finalized;
        let told = read_finality(&claim.finality());
        let found = client_in(period).finalized(&told).map(drop);
        assert_eq!(found, Err(Contradiction::Finality.into()));
    }
}

#[test]
fn a_key_that_is_no_point_of_the_group_has_no_place_in_a_committee() {
    let zero = [vec![0xc0], vec![0; 47]].concat();
    let no_point = vec![0xff; 48];
    for key in [zero, no_point, outside_the_group()] {
        let mut committee_with = committee(3);
        committee_with["pubkeys"][300] = json!(hex::encode_prefixed(&key));
        let (root, told) = bootstrap_of(3 * PERIOD + 32, [&committee_with, &committee(4)]);
        let begun = LightClient::begin(network(), root, &read_bootstrap(&told));
        assert_eq!(begun.map(drop), refused(Obstacle::Key(300)));
        let mut claim = Claim::at(3, 320);
        claim.next = committee_with;
        let mut client = client_in(3);
        let told = read_update(&claim.update());
        assert_eq!(client.advance(&told).map(drop), refused(Obstacle::Key(300)));
        assert_eq!(client.period(), 3);
    }
}

/// A key that is a point of the curve and none of the group.
fn outside_the_group() -> Vec<u8> {
    let candidate = |last: u8| [vec![0x80], vec![0; 46], vec![last]].concat();
    let outside =
        |key: &Vec<u8>| PublicKey::uncompress(key).is_ok_and(|point| point.validate().is_err());
    (1..=255).map(candidate).find(outside).unwrap()
}

#[test]
fn a_signature_outside_the_group_is_none() {
    let mut told = Claim::at(3, 320).finality();
    let path = "/data/sync_aggregate/sync_committee_signature";
    let honest = hex::decode(told.pointer(path).unwrap().as_str().unwrap()).unwrap();
    let honest = Signature::from_bytes(&honest).unwrap();
    let sum = AggregateSignature::aggregate(&[&honest, &small_order()], false).unwrap();
    *told.pointer_mut(path).unwrap() = json!(hex::encode_prefixed(sum.to_signature().to_bytes()));
    assert_eq!(client_in(3).finalized(&read_finality(&told)), refused(Obstacle::Signature));
}

/// A point of the signatures' curve whose part in the group is zero: a point outside it, as often as the group is large.
fn small_order() -> Signature {
    let candidate = |last: u8| [vec![0x80], vec![0; 94], vec![last]].concat();
    let outside = |bytes: Vec<u8>| Signature::uncompress(&bytes).ok();
    let point = (1..=255).map(candidate).find_map(outside).unwrap();
    let order = hex!("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");
    let mut sum: Option<AggregateSignature> = None;
    for bit in order.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)) {
        sum = sum.map(|sum| {
            let mut twice = sum;
            twice.add_aggregate(&sum);
            twice
        });
        if bit {
            match &mut sum {
                Some(sum) => sum.add_signature(&point, false).unwrap(),
                None => sum = Some(AggregateSignature::from_signature(&point)),
            }
        }
    }
    let point = sum.unwrap().to_signature();
    assert!(!point.subgroup_check());
    point
}

#[test]
fn a_start_is_the_block_that_was_pinned() {
    let (root, told) = bootstrap(3 * PERIOD + 32);
    let (other, _) = bootstrap(3 * PERIOD + 64);
    let begin = |pinned: B256| LightClient::begin(network(), pinned, &read_bootstrap(&told));
    assert_eq!(begin(root).unwrap().newest().root, root);
    assert_eq!(begin(other).map(drop), refused(Obstacle::OtherBlock(root)));
    assert_eq!(begin(B256::ZERO).map(drop), refused(Obstacle::OtherBlock(root)));
}

#[test]
fn an_answer_in_the_form_of_an_unknown_fork_is_not_judged() {
    let unknown = |told: &mut Value| told["version"] = json!("gloas");
    let obstacle = Obstacle::UnknownFork("gloas".into());
    let (root, mut told) = bootstrap(3 * PERIOD + 32);
    unknown(&mut told);
    let begun = LightClient::begin(network(), root, &read_bootstrap(&told)).map(drop);
    assert_eq!(begun, refused(obstacle.clone()));
    let mut update = Claim::at(3, 320).update();
    unknown(&mut update);
    let mut client = client_in(3);
    assert_eq!(client.advance(&read_update(&update)), refused(obstacle.clone()));
    assert_eq!(client.finalized(&read_finality(&update)), refused(obstacle));
}
