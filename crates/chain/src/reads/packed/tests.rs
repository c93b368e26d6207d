use super::*;
use proptest::prelude::*;

fn lookups(calls: Vec<Vec<u8>>) -> LookupReads {
    LookupReads { contract: Address::ZERO, asked: vec![true; calls.len()], calls }
}

fn wallets(wallets: Vec<(Address, Address)>) -> FundsReads {
    FundsReads { spender: Address::ZERO, wallets }
}

fn word(word: U256) -> Vec<u8> {
    let bytes = word.to_be_bytes_trimmed_vec();
    [vec![u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

#[test]
fn the_code_is_there() {
    assert!(READER.len() > 100 && READER.len() < 4096);
}

#[test]
fn wallets_of_one_token_are_asked_under_its_name_once() {
    let [one, other, wallet] = [1, 2, 3].map(Address::repeat_byte);
    let contract = Address::repeat_byte(9);
    let run = BillingRun { gas: 7, data: &[0xaa, 0xbb] };
    let asked = wallets(vec![(one, wallet), (one, other), (other, wallet)]);
    let packed = pack(contract, Some(run), &lookups(vec![vec![0xcc]]), &asked);
    let expected = [
        "00",
        "0000000000000007",
        &"09".repeat(20),
        "00000002aabb",
        "0000000700000001",
        "00000001cc",
        &"01".repeat(20),
        "00000002",
        &"03".repeat(20),
        &"02".repeat(20),
        &"02".repeat(20),
        "00000001",
        &"03".repeat(20),
    ];
    assert_eq!(hex::encode(packed), expected.concat());
}

/// A billing call, whatever it is.
const RUN: BillingRun<'static> = BillingRun { gas: 1, data: &[] };

#[test]
fn a_token_that_says_nothing_of_one_of_the_two_has_told_no_funds() {
    let none = lookups(Vec::new());
    let told = |output: &[u8]| {
        let asked = wallets(vec![(Address::ZERO, Address::ZERO)]);
        unpack(output, None, &none, &asked).map(|told| told.funds)
    };
    let funds = Funds { balance: U256::from(7), allowance: U256::ZERO };
    assert_eq!(told(&[1, 7, 0]), Some(vec![Some(funds)]));
    assert_eq!(told(&[FAILED, 0]), Some(vec![None]));
    assert_eq!(told(&[0, FAILED]), Some(vec![None]));
    assert_eq!(told(&[1, 7]), None, "cut short");
    assert_eq!(told(&[1, 7, 0, 0]), None, "too much");
    assert_eq!(told(&[33; 40]), None, "no word is so long");
    assert_eq!(told(&[]), None, "a node that knows no override runs nothing");
}

proptest! {
    #[test]
    fn what_the_reader_writes_is_read_back(
        ran: Option<(bool, u64, Vec<u8>)>,
        looked in prop::collection::vec(any::<Option<[u128; 3]>>(), 0..4),
        held in prop::collection::vec(any::<Option<(u128, [u8; 32])>>(), 0..6),
    ) {
        let mut output = Vec::new();
        if let Some((passed, used, data)) = &ran {
            output.push(u8::from(*passed));
            output.extend(used.to_be_bytes());
            output.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
            output.extend(data);
        }
        for answer in &looked {
            output.push(answer.as_ref().map_or(FAILED, |words| u8::try_from(words.len()).unwrap()));
            output.extend(answer.iter().flatten().flat_map(|number| word(U256::from(*number))));
        }
        for funds in &held {
            match funds {
                Some((balance, allowance)) => {
                    output.extend(word(U256::from(*balance)));
                    output.extend(word(U256::from_be_bytes(*allowance)));
                }
                None => output.extend([FAILED, FAILED]),
            }
        }
        let lookups = lookups(vec![Vec::new(); looked.len()]);
        let asked = wallets(vec![(Address::ZERO, Address::ZERO); held.len()]);
        let billed = ran.is_some().then_some(RUN);
        let told = unpack(&output, billed, &lookups, &asked).unwrap();
        prop_assert_eq!(told.billing.map(|ran| (ran.passed, ran.used, ran.data.to_vec())), ran);
        let words = |answer: Bytes| -> Vec<U256> {
            answer.chunks(32).map(U256::from_be_slice).collect()
        };
        let wanted = |words: [u128; 3]| -> Vec<U256> { words.into_iter().map(U256::from).collect() };
        let told_words: Vec<_> = told.lookups.into_iter().map(|answer| answer.map(words)).collect();
        let looked: Vec<_> = looked.into_iter().map(|answer| answer.map(wanted)).collect();
        prop_assert_eq!(told_words, looked);
        let held: Vec<_> = held
            .into_iter()
            .map(|funds| funds.map(|(balance, allowance)| Funds {
                balance: U256::from(balance),
                allowance: U256::from_be_bytes(allowance),
            }))
            .collect();
        prop_assert_eq!(told.funds, held);
        for cut in 0..output.len() {
            prop_assert_eq!(unpack(&output[..cut], billed, &lookups, &asked), None);
        }
    }

    #[test]
    fn no_answer_is_too_strange(output: Vec<u8>, billing: bool, calls in 0..4_usize, held in 0..4_usize) {
        let asked = wallets(vec![(Address::ZERO, Address::ZERO); held]);
        let billing = billing.then_some(RUN);
        drop(unpack(&output, billing, &lookups(vec![Vec::new(); calls]), &asked));
    }
}
