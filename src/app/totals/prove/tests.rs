use super::*;
use alloy::primitives::Address;
use serde_json::json;

const TOKEN: Address = Address::repeat_byte(9);

/// A charge of `amount`, to the wallet of this byte where it is known.
fn charge(amount: u64, wallet: Option<u8>) -> ChargeRow {
    let wallet = wallet.map(|byte| Address::repeat_byte(byte).to_string());
    let told = json!({
        "cursor": "1.a.1.0", "billing": "1", "subscribeId": "1", "planId": "1", "userHash": "0x", "chainId": 1,
        "state": "charged", "amount": amount.to_string(), "wallet": wallet,
        "token": wallet.is_some().then(|| TOKEN.to_string()),
    });
    serde_json::from_value(told).unwrap()
}

/// What left these wallets.
fn moved(sums: &[(u8, u64)]) -> BTreeMap<TokenOfWallet, U256> {
    sums.iter()
        .map(|(byte, sum)| ((TOKEN, Address::repeat_byte(*byte)), U256::from(*sum)))
        .collect()
}

fn told(batch: &[ChargeRow], taken: &[(u8, u64)]) -> Vec<String> {
    differences(Family::Evm, batch, &moved(taken), &TokenNames::default()).unwrap()
}

#[test]
fn a_wallet_that_pays_for_two_is_held_against_the_sum_of_both() {
    let both = [charge(5, Some(1)), charge(5, Some(1)), charge(7, Some(2))];
    assert_eq!(told(&both, &[(1, 10), (2, 7)]), [""; 0]);
    let less = told(&both, &[(1, 5), (2, 7)]);
    assert!(
        less[0].contains("has 10 base units charged, the chain moved 5 base units"),
        "{less:?}"
    );
}

#[test]
fn charges_whose_wallets_are_not_known_are_held_against_what_is_left() {
    let unknown = [charge(5, None), charge(5, None), charge(7, Some(2))];
    assert_eq!(told(&unknown, &[(1, 10), (2, 7)]), [""; 0], "one wallet paid for two");
    assert_eq!(told(&unknown, &[(1, 5), (2, 12)]), [""; 0], "one that is known paid for another");
    let more = told(&unknown, &[(1, 11), (2, 7)]);
    assert!(
        more[0].contains("has 10 base units charged") && more[0].contains("11 left"),
        "{more:?}"
    );
    let less = told(&unknown, &[(1, 10), (2, 6)]);
    assert!(less[0].contains("has 7 base units charged, the chain moved 6 base units"), "{less:?}");
}
