//! A slice of the campaign, and every broken rule.

use crate::report::{Campaign, campaign, mutants};
use crate::{Bench, Rules};

/// How many seeds are tried until a broken rule has to be noticed.
const TRIES: u64 = 60;

#[test]
fn nobody_is_charged_twice_on_either_chain_whatever_goes_wrong() {
    let what = Campaign { from: 0, seeds: 20, mutant: None, only: None, theme: None, threads: 2 };
    let tally = campaign(&what).unwrap();
    assert!(tally.broken.is_empty(), "{:?}", tally.broken);
    for at in ["EVM", "TRON"] {
        assert!(tally.count(at, "charged") > 10, "{}", tally.table());
    }
}

/// The newest histories in which a law was broken once.
#[test]
fn what_broke_a_law_once_breaks_none() {
    let sole_liar = || (Some("EVM".to_owned()), Some("sole-liar".to_owned()));
    let newest = [85_005_544, 85_009_614, 88_000_060, 89_001_064].map(|from| (from, (None, None)));
    let liars = [91_051_431, 91_075_576].map(|from| (from, sole_liar()));
    for (from, (only, theme)) in newest.into_iter().chain(liars) {
        let what = Campaign { from, seeds: 1, mutant: None, only, theme, threads: 1 };
        let broken = campaign(&what).unwrap().broken;
        assert!(broken.is_empty(), "{broken:?}");
    }
}

#[test]
fn a_sole_provider_that_lies_about_what_is_in_its_blocks_releases_nothing() {
    let (only, theme) = (Some("EVM".to_owned()), Some("sole-liar".to_owned()));
    let what = Campaign { from: 0, seeds: 20, mutant: None, only, theme, threads: 2 };
    let tally = campaign(&what).unwrap();
    assert!(tally.broken.is_empty(), "{:?}", tally.broken);
    for told in ["charged", "lie", "altered block", "emptied block"] {
        assert!(tally.count("EVM", told) > 10, "{}", tally.table());
    }
}

#[test]
fn a_sole_provider_that_makes_up_whole_blocks_releases_nothing_that_a_witness_does_not_bear_out() {
    let (only, theme) = (Some("EVM".to_owned()), Some("witnessed".to_owned()));
    let what = Campaign { from: 0, seeds: 20, mutant: None, only, theme, threads: 2 };
    let tally = campaign(&what).unwrap();
    assert!(tally.broken.is_empty(), "{:?}", tally.broken);
    for told in ["charged", "made up a whole block"] {
        assert!(tally.count("EVM", told) > 10, "{}", tally.table());
    }
    assert!(is_noticed("WitnessUnasked", "EVM"), "it is the witness that holds it");
}

#[test]
fn a_seed_is_played_the_same_way_again() {
    let mut bench = Bench::new();
    for seed in 0..2 {
        let digests = [0, 1].map(|_| bench.play(seed, Rules::default()).log.digest);
        let afresh = Bench::new().play(seed, Rules::default()).log.digest;
        assert_eq!(digests, [afresh; 2], "seed {seed}");
    }
}

/// Whether somebody notices.
fn is_noticed(mutant: &str, side: &str) -> bool {
    let (broken, only) = (Some(mutant.to_owned()), Some(side.to_owned()));
    let what = Campaign { from: 0, seeds: TRIES, mutant: broken, only, theme: None, threads: 2 };
    !campaign(&what).unwrap().broken.is_empty()
}

#[test]
fn rules_that_every_charge_needs_are_noticed_at_once_when_they_are_broken() {
    for mutant in [
        "ReleaseOnReject",
        "BroadcastBeforePersist",
        "AbsenceProof",
        "NoClaimKey",
        "FailureIsSuccess",
        "AlwaysReady",
        "NamesAnother",
        "NamesAnotherEarlier",
        "OpenIsCharged",
        "InProgressIsPaid",
        "NoGuard",
        "AnyNumber",
        "ClaimsPerAccount",
    ] {
        for side in ["EVM", "TRON"] {
            assert!(is_noticed(mutant, side), "{mutant} is broken on {side}, and nobody notices");
        }
    }
}

#[test]
#[ignore = "takes long: `MUTANT=all ./test --campaign` does it in the release build"]
fn every_broken_rule_is_noticed_on_every_chain_that_has_it() {
    for (mutant, side) in mutants() {
        assert!(is_noticed(&mutant, side), "{mutant} is broken on {side}, and nobody notices");
    }
}
