//! What a day's ceiling holds to, across restarts, other processes, and files that were tampered with.

use super::*;
use billing::{Denomination, Family};
use policy::Unit;
use std::fs;

const CHAIN: PlatformChainId = PlatformChainId(139);
const DAY_MS: i64 = 86_400_000;

fn today() -> Clock {
    Clock::telling(|| 20 * DAY_MS + 5)
}

fn opened(path: &Path, clock: Clock) -> DayCeiling {
    DayCeiling::open(path, clock).unwrap().0
}

fn takes(ceiling: &DayCeiling, amount: u64) -> String {
    let count = Count {
        unit: Unit::Fee,
        items: vec![],
        amount: U256::from(amount),
        most: Some(U256::from(100)),
        rule: "max_fee_per_day".to_owned(),
        units: Denomination::Coin { family: Family::Evm, network: 1 },
    };
    let taken = ceiling.take(CHAIN, &[count]);
    taken.map_or_else(|refusal| refusal.rule, |()| "taken".to_owned())
}

#[test]
fn three_times_the_limit_is_signed_for_on_a_day_and_no_more_whatever_is_started_anew() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("signed");
    let (first, new) = DayCeiling::open(&path, today()).unwrap();
    assert!(new);
    assert_eq!(takes(&first, 200), "taken");
    let (second, new) = DayCeiling::open(&path, today()).unwrap();
    assert!(!new);
    assert_eq!(takes(&second, 101), "max_fee_per_day");
    assert_eq!(takes(&second, 60), "taken");
    // Both run: what one has signed, the other knows.
    assert_eq!(
        [takes(&first, 41), takes(&first, 40), takes(&second, 1)].join(" "),
        "max_fee_per_day taken max_fee_per_day"
    );
    let tomorrow = opened(&path, Clock::telling(|| 21 * DAY_MS));
    assert_eq!(takes(&tomorrow, 300), "taken");
    assert_eq!(takes(&first, 1), "max_fee_per_day", "a clock that is behind opens no other day");
}

#[test]
fn a_file_that_is_odd_loose_or_emptied_opens_no_ceiling() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("signed");
    let running = opened(&path, today());
    assert_eq!(takes(&running, 300), "taken");
    let good = fs::read_to_string(&path).unwrap();
    for odd in [good.replace("300", "0"), good.replace("end ", "e "), "\0".repeat(40)] {
        fs::write(&path, odd).unwrap();
        assert!(matches!(DayCeiling::open(&path, today()), Err(CeilingFault::Odd)));
        assert_eq!(takes(&running, 1), "keys.ceiling_file");
    }
    fs::write(&path, "").unwrap();
    assert_eq!(takes(&running, 1), "keys.ceiling_file", "it was emptied beneath it");
    fs::write(&path, format!("{good}{good}")).unwrap();
    assert_eq!(takes(&opened(&path, today()), 1), "max_fee_per_day", "a longer one stood there");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    assert!(matches!(DayCeiling::open(&path, today()), Err(CeilingFault::Loose(_))));
    assert!(DayCeiling::open(&room.path().join("no/such"), today()).is_err());
}

#[test]
fn nothing_is_taken_where_one_of_several_sums_is_above_its_ceiling() {
    let room = tempfile::tempdir().unwrap();
    let ceiling = opened(&room.path().join("signed"), today());
    let count = |amount, most| Count {
        unit: Unit::Fee,
        items: vec![],
        amount: U256::from(amount),
        most: Some(U256::from(most)),
        rule: "r".to_owned(),
        units: Denomination::Coin { family: Family::Tvm, network: 0 },
    };
    let refused = ceiling.take(CHAIN, &[count(300, 100), count(1, 100)]).unwrap_err();
    let said = "signed for 0.0003 TRX today (UTC), this needs 0.000001 TRX more";
    assert!(refused.why.contains(said), "{refused}");
    assert!(ceiling.take(CHAIN, &[count(300, 100)]).is_ok());
    assert!(
        ceiling.take(PlatformChainId(140), &[count(300, 100)]).is_ok(),
        "each chain has its own"
    );
    let without = Count { most: None, ..count(u64::MAX, 1) };
    assert!(ceiling.take(CHAIN, &[without]).is_ok(), "what has no limit has no ceiling");
}
