//! Two calls side by side.

use super::*;

const CALL: &str = "charge((uint64 subscribeId, uint64 planId, bytes32 userHash, uint256 amount, \
                    uint40 deadline)[] items, address signer, uint256 deadline)";
const SCALAR: &str = "charge(uint64 subscribeId, uint64 planId, bytes32 userHash, uint256 deadline, \
                      uint256 amount, address signer)";

fn of(call: &str) -> Profile {
    parsed(&BillingConfig { call: call.to_owned(), ..blank() })
}

fn written(profile: &Profile, amount: u64, computed: Computed) -> Vec<u8> {
    let fields = [
        ("subscribeId", number(1)),
        ("planId", number(7)),
        ("userHash", text(hex::encode([5; 32]))),
        ("amount", number(amount)),
    ];
    let fields = fields.into_iter().chain(wallet_and_token());
    let fields = fields.map(|(name, value)| (name.into(), value)).collect();
    let charge = complete(profile, &Entry::parse(fields).unwrap(), None).unwrap();
    profile.encode(&[charge], &computed).unwrap()
}

#[test]
fn calls_that_differ_in_deadlines_differ_in_nothing_else() {
    let later = Computed { deadline: 1_790_009_999, ..NOW };
    let elsewhere = Computed { signer: WALLET, ..NOW };
    for call in [CALL, SCALAR] {
        let profile = of(call);
        let first = written(&profile, 9, NOW);
        let differ = |other: Vec<u8>| profile.differ_in_deadlines(&first, &other);
        assert!(differ(first.clone()) && differ(written(&profile, 9, later)));
        assert!(!differ(written(&profile, 8, later)), "another amount");
        assert!(!differ(written(&profile, 9, elsewhere)), "another account that signs");
        assert!(!differ(first[..first.len() - 1].to_vec()), "it cannot be read");
        assert_eq!(profile.stated_signers(&first), [CONTRACT]);
        assert_eq!(profile.stated_signers(&written(&profile, 9, elsewhere)), [WALLET]);
    }
}

#[test]
fn one_deadline_moves_and_nothing_beside_it() {
    let later = Computed { deadline: 1_790_009_999, ..NOW };
    let profile = of(SCALAR);
    let first = written(&profile, 9, NOW);
    let moved = |other: Vec<u8>| profile.moved_deadline(&first, &other);
    let times = [NOW, later].map(|computed| U256::from(computed.deadline));
    let [before, now] = times;
    assert_eq!(moved(written(&profile, 9, later)), Some(MovedDeadline { before, now }));
    assert_eq!(moved(first.clone()), None, "nothing moves");
    assert_eq!(moved(written(&profile, 8, later)), None, "two differ");
    assert_eq!(moved(written(&profile, 8, NOW)), None, "it is no deadline");
    let rows = of(CALL);
    let (first, second) = (written(&rows, 9, NOW), written(&rows, 9, later));
    assert_eq!(rows.moved_deadline(&first, &second), None, "each row has one");
}
