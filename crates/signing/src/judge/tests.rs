//! What a process that holds a key signs, and what it refuses, whatever it is told beside the bytes.

mod cancels;
mod renewals;

use super::*;
use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::dyn_abi::DynSolValue;
use alloy::eips::Encodable2718 as _;
use alloy::primitives::{B256, TxKind, address, hex};
use billing::{Charge, Entry, Item, Period, PlatformChainId, Scalar, Values};
use config::Config;
use contract::Computed;
use host::clock::Clock;
use keys::{KeySource, TestKeys};
use tron_primitives::transaction::{RefBlock, Unsigned as TronUnsigned};

const CONTRACT: Address = address!("5FbDB2315678afecb367f032d93F642f64180aa3");
const USDT: Address = address!("55d398326f99059fF775485246999027B3197955");
const PAYEE: Address = Address::repeat_byte(0xA1);
const CALL: &str = "charge((uint64 subscribeId, uint64 planId, bytes32 userHash, uint32 period, \
                    uint128 amount, address payee)[] items, uint256 deadline)";

fn chain(family: Family, call: &str, contract: Address) -> ChainConfig {
    let own = match family {
        Family::Evm => {
            "family = \"evm\"\neip155_id = 31337\nrpc = \"http://127.0.0.1:8545\"\n\
             fees = { max_fee_per_gas = \"100 gwei\", max_priority_fee_per_gas = \"1 gwei\", \
             max_tx_cost = \"1 ether\" }\n"
        }
        Family::Tvm => {
            "family = \"tvm\"\nchain_id = \"0xcd8690dc\"\nfees.max_fee_limit = \"100 TRX\"\n\
             nodes = [{ full = \"http://127.0.0.1:8090\", solidity = \"http://127.0.0.1:8091\" }]\n"
        }
    };
    let text = format!(
        "callers.a = {{ key = \"a\", secret = \"a secret of the tests\" }}\n[chains.139]\nname = \"a\"\n\
         test = true\nkey = \"env\"\ncontract = \"{contract}\"\n{own}\
         [chains.139.billing]\ncall = \"{call}\"\n\
         [chains.139.policy]\nmax_batch = 2\ntokens.USDT = \"{USDT}\"\nmax_amount.USDT = 100\n\
         allowed.payee = \"{PAYEE}\"\n"
    );
    let env = ["EVM_PRIVATE_KEY", "TVM_PRIVATE_KEY"].map(|name| (name.to_owned(), "x".to_owned()));
    Config::from_toml(&text, &env).unwrap_or_else(|why| panic!("{why}")).chains.remove(0)
}

fn profile(chain: &ChainConfig) -> Profile {
    Profile::parse(chain.family.billing(), chain.family.family()).unwrap()
}

fn judge_of(byte: &str, chain: &ChainConfig) -> TransactionJudge {
    let source = KeySource::Env { json_or_hex: byte.repeat(32).into(), platform_chain_id: 139 };
    let key = source.load("chains.139.key", TestKeys::Allowed).unwrap();
    TransactionJudge::new(
        chain,
        Arc::new(profile(chain)),
        key,
        DayCeiling::unlimited(Clock::telling(|| 1_000_000)).into(),
    )
}

fn judge(family: Family) -> TransactionJudge {
    judge_of("09", &chain(family, CALL, CONTRACT))
}

fn charge(n: u8, amount: u64, payee: Address) -> Charge {
    let fields = [
        ("subscribeId", Scalar::Number(n.to_string().into())),
        ("planId", Scalar::Number("3".into())),
        ("userHash", Scalar::Text(hex::encode([n; 32]).into())),
    ];
    let fields = fields.map(|(name, value)| (name.into(), value)).into();
    let mut entry = Entry::parse(fields).unwrap().admitted(Values::new());
    entry.supply("payee", DynSolValue::Address(payee));
    let (period, amount) = (Period::Numbered(U256::from(4)), U256::from(amount));
    Charge { entry, period, amount, wallet: Address::ZERO, token: USDT }
}

/// A call that says who signs.
const NAMES_SIGNER: &str = "charge((uint64 subscribeId, uint64 planId, bytes32 userHash, uint32 period, \
                            uint128 amount, address payee)[] items, address signer, uint256 deadline)";

/// The call, with this deadline.
fn call(judge: &TransactionJudge, charges: &[Charge], deadline: u64) -> Vec<u8> {
    judge.profile.encode(charges, &Computed { deadline, signer: judge.address() }).unwrap()
}

/// A transaction in the making.
#[derive(Clone)]
struct Made {
    to: Address,
    nonce: u64,
    data: Vec<u8>,
    /// Wei a unit of gas; the fee limit on TRON.
    price: u64,
}

impl Made {
    fn evm(&self) -> TxEip1559 {
        TxEip1559 {
            chain_id: 31337,
            nonce: self.nonce,
            gas_limit: 1_000_000,
            max_fee_per_gas: self.price.into(),
            max_priority_fee_per_gas: 1,
            to: TxKind::Call(self.to),
            input: self.data.clone().into(),
            ..TxEip1559::default()
        }
    }

    fn tron(&self, owner: Address) -> TronUnsigned {
        TronUnsigned {
            owner,
            contract: self.to,
            data: self.data.clone(),
            ref_block: RefBlock::to(B256::repeat_byte(1)),
            expiration_ms: 1_060_000,
            timestamp_ms: 1_000_000_u64.saturating_add(self.nonce),
            fee_limit: self.price,
        }
    }

    fn bytes(&self, judge: &TransactionJudge) -> Vec<u8> {
        match judge.policy.family {
            Family::Evm => self.evm().encoded_for_signing(),
            Family::Tvm => self.tron(judge.address()).raw_data().unwrap(),
        }
    }

    /// As it goes on the wire, signed by what the judge signs with.
    fn signed(&self, judge: &TransactionJudge, signature: &Signature) -> Vec<u8> {
        match judge.policy.family {
            Family::Evm => TxEnvelope::from(self.evm().into_signed(*signature)).encoded_2718(),
            Family::Tvm => {
                let tx = self.tron(judge.address());
                tx.complete(tx.raw_data().unwrap(), signature).unwrap()
            }
        }
    }
}

fn made(data: Vec<u8>) -> Made {
    Made { to: CONTRACT, nonce: 7, data, price: 30_000_000 }
}

fn told(judge: &TransactionJudge, question: &KeyQuestion) -> Result<Signature, String> {
    judge.answer(question).unwrap().map_err(|why| match why {
        NotSigned::Refused(refusal) => refusal.rule,
        NotSigned::Failed(why) => why.to_string(),
    })
}

fn intent<'a>(items: &'a [Item], tokens: &'a [Address]) -> Intent<'a> {
    Intent {
        kind: AttemptKind::Bill,
        contract: CONTRACT,
        function: [0; 4].into(),
        items,
        tokens: Some(tokens),
        earlier: None,
        cost: U256::MAX,
    }
}

/// Asks for a signature of a new batch that is said to be of these charges.
fn bill(judge: &TransactionJudge, made: &Made, charges: &[Charge]) -> Result<Signature, String> {
    let items: Vec<Item> = charges.iter().map(Charge::item).collect();
    let tokens: Vec<Address> = charges.iter().map(|charge| charge.token).collect();
    told(judge, &KeyQuestion::of(&made.bytes(judge), &intent(&items, &tokens)).unwrap())
}

fn again(judge: &TransactionJudge, made: &Made, earlier: &[u8]) -> Result<Signature, String> {
    told(
        judge,
        &KeyQuestion::Again(SignAgain { bytes: made.bytes(judge), earlier: earlier.to_vec() }),
    )
}

fn rule<T>(outcome: Result<T, String>) -> String {
    outcome.map_or_else(|rule| rule, |_| "none".to_owned())
}

const FAMILIES: [Family; 2] = [Family::Evm, Family::Tvm];

#[test]
fn a_new_batch_is_held_to_the_limits_that_were_read_here() {
    for family in FAMILIES {
        let judge = judge(family);
        let good = [charge(1, 100, PAYEE), charge(2, 9, PAYEE)];
        let says = |made: Made, charges: &[Charge]| rule(bill(&judge, &made, charges));
        let of = |charges: &[Charge]| says(made(call(&judge, charges, 5)), charges);
        assert_eq!(of(&good), "none");
        assert_eq!(of(&[charge(1, 101, PAYEE)]), "chains.139.policy.max_amount.USDT");
        assert_eq!(of(&[charge(1, 1, CONTRACT)]), "chains.139.policy.allowed.payee");
        let three: Vec<Charge> = (1..=3).map(|n| charge(n, 1, PAYEE)).collect();
        assert_eq!(of(&three), "chains.139.policy.max_batch");
        let dai = Charge { token: Address::ZERO, ..charge(1, 1, PAYEE) };
        assert_eq!(of(&[dai]), "chains.139.policy.tokens");
        let data = call(&judge, &good, 5);
        assert_eq!(says(made(data.clone()), &good[..1]), "charges", "it was told of fewer");
        let less = [charge(1, 1, PAYEE), charge(2, 9, PAYEE)];
        assert_eq!(says(made(data.clone()), &less), "charges", "it was told of less");
        assert_eq!(says(Made { to: USDT, ..made(data.clone()) }, &good), "contract");
        let mut other = data.clone();
        other[0] ^= 1;
        assert_eq!(says(made(other), &good), "function");
        let price = 1_000_000_000_001;
        assert_eq!(says(Made { price, ..made(data) }, &good), "cost", "more than is configured");
    }
}

#[test]
fn a_batch_that_could_charge_for_longer_than_is_configured_or_somebody_twice_is_refused() {
    for family in FAMILIES {
        let judge = judge(family);
        let good = [charge(1, 100, PAYEE)];
        let until = |deadline| rule(bill(&judge, &made(call(&judge, &good, deadline)), &good));
        // The clock says 1,000 s; a deadline is 1,800 s ahead of the chain, which may be off; and a minute.
        let tolerated = if family == Family::Evm { 300 } else { 60 };
        let latest = 1_000 + 1_800 + tolerated + 60;
        assert_eq!([until(latest), until(latest + 1)], ["none", "deadline"]);
        assert_eq!(until(u64::MAX), "deadline");
        let mut other_name = charge(1, 7, PAYEE);
        other_name.entry.subscribe = billing::SubscribeId(2);
        for twice in [charge(1, 9, PAYEE), other_name] {
            let both = [good[0].clone(), twice];
            assert_eq!(rule(bill(&judge, &made(call(&judge, &both, 5)), &both)), "charges");
        }
        if family == Family::Tvm {
            let first = made(call(&judge, &good, 5));
            let before = first.signed(&judge, &bill(&judge, &first, &good).unwrap());
            let renewed =
                |deadline| rule(again(&judge, &made(call(&judge, &good, deadline)), &before));
            assert_eq!([renewed(latest), renewed(latest + 1)], ["none", "again"]);
        }
    }
}

#[test]
fn a_day_comes_to_three_times_its_limits_and_each_place_in_the_line_is_counted_once() {
    for family in FAMILIES {
        let room = tempfile::tempdir().unwrap();
        let (day, _) = DayCeiling::open(&room.path().join("signed"), Clock::telling(|| 0)).unwrap();
        let mut chain = chain(family, CALL, CONTRACT);
        let limits = &mut chain.policy;
        limits.tokens.get_mut("USDT").unwrap().max_amount_per_day = Some(U256::from(100));
        let mut judge = judge_of("09", &chain);
        judge.ceiling = Arc::new(day);
        let of = |nonce, n, amount| {
            let charges = [charge(n, amount, PAYEE)];
            rule(bill(&judge, &Made { nonce, ..made(call(&judge, &charges, 5)) }, &charges))
        };
        let most = "chains.139.policy.max_amount_per_day.USDT";
        assert_eq!([of(1, 1, 100), of(2, 2, 90)], ["none", "none"]);
        match family {
            // What is refused by the commit is signed again for the same place.
            Family::Evm => {
                assert_eq!([of(2, 3, 100), of(2, 4, 90)], ["none", "none"]);
                assert_eq!([of(3, 5, 100), of(4, 6, 1)], ["none", most]);
            }
            Family::Tvm => {
                assert_eq!([of(2, 3, 10), of(2, 4, 1)], ["none", "none"]);
                assert_eq!([of(3, 5, 100), of(3, 6, 99)], [most, "none"]);
            }
        }
    }
}

#[test]
fn a_call_that_names_another_account_as_the_one_that_signs_is_refused() {
    for family in FAMILIES {
        let judge = judge_of("09", &chain(family, NAMES_SIGNER, CONTRACT));
        let good = [charge(1, 100, PAYEE)];
        let by = |signer| {
            let data = judge.profile.encode(&good, &Computed { deadline: 5, signer }).unwrap();
            rule(bill(&judge, &made(data), &good))
        };
        assert_eq!([by(judge.address()), by(PAYEE)], ["none", "signer"]);
    }
}

#[test]
fn gas_and_bids_are_held_to_what_is_configured_however_little_the_whole_costs() {
    const GWEI: u128 = 1_000_000_000;
    let judge = judge(Family::Evm);
    let good = [charge(1, 100, PAYEE)];
    let items: Vec<Item> = good.iter().map(Charge::item).collect();
    let first = made(call(&judge, &good, 5)).evm();
    let says = |tx: &TxEip1559| {
        let question = KeyQuestion::of(&tx.encoded_for_signing(), &intent(&items, &[USDT]));
        rule(told(&judge, &question.unwrap()))
    };
    let cheap = TxEip1559 { max_fee_per_gas: 2, ..first.clone() };
    assert_eq!(says(&TxEip1559 { gas_limit: 16_777_216, ..cheap.clone() }), "none");
    assert_eq!(says(&TxEip1559 { gas_limit: 16_777_217, ..cheap }), "gas_limit_cap");
    let bid = |fee, tip| {
        let (max_fee_per_gas, max_priority_fee_per_gas) = (fee, tip);
        TxEip1559 { gas_limit: 50_000, max_fee_per_gas, max_priority_fee_per_gas, ..first.clone() }
    };
    assert_eq!(says(&bid(100 * GWEI, GWEI)), "none");
    assert_eq!(says(&bid(101 * GWEI, GWEI)), "max_fee_per_gas");
    assert_eq!(says(&bid(100 * GWEI, GWEI + 1)), "max_priority_fee_per_gas");
    // Another attempt bids by what is configured now, and asks for no more gas than the first.
    let modest = bid(GWEI, 1);
    let signature = told(
        &judge,
        &KeyQuestion::of(&modest.encoded_for_signing(), &intent(&items, &[USDT])).unwrap(),
    );
    let earlier = TxEnvelope::from(modest.clone().into_signed(signature.unwrap())).encoded_2718();
    let again = |tx: TxEip1559| {
        let (bytes, earlier) = (tx.encoded_for_signing(), earlier.clone());
        rule(told(&judge, &KeyQuestion::Again(SignAgain { bytes, earlier })))
    };
    assert_eq!(again(bid(100 * GWEI, GWEI)), "none");
    assert_eq!(again(bid(101 * GWEI, GWEI)), "max_fee_per_gas");
    assert_eq!(again(bid(100 * GWEI, GWEI + 1)), "max_priority_fee_per_gas");
    assert_eq!(again(TxEip1559 { gas_limit: 50_001, ..modest }), "again");
}

#[test]
fn a_signature_leads_back_to_the_account_and_is_of_the_bytes() {
    let judge = judge(Family::Evm);
    let (good, other) =
        ([charge(1, 100, PAYEE)], judge_of("08", &chain(Family::Evm, CALL, CONTRACT)));
    let made = made(call(&judge, &good, 5));
    let signature = bill(&judge, &made, &good).unwrap();
    let digest = alloy::primitives::keccak256(made.bytes(&judge));
    assert_eq!(signature.recover_address_from_prehash(&digest).unwrap(), judge.address());
    assert_ne!(judge.address(), other.address());
    assert_eq!(judge.policy.chain, PlatformChainId(139));
}

#[test]
fn another_attempt_is_signed_for_what_this_key_has_signed_before_and_for_nothing_else() {
    for family in FAMILIES {
        let judge = judge(family);
        let good = [charge(1, 100, PAYEE)];
        let first = made(call(&judge, &good, 5));
        let before = first.signed(&judge, &bill(&judge, &first, &good).unwrap());
        let says = |made: Made| rule(again(&judge, &made, &before));
        assert_eq!(says(Made { price: 40_000_000, ..first.clone() }), "none");
        let dear = Made { price: 1_000_000_000_001, ..first.clone() };
        assert_eq!(says(dear), "cost");
        let more = made(call(&judge, &[charge(1, 99, PAYEE)], 5));
        assert_eq!(says(more), "again", "other charges");
        assert_eq!(says(made(call(&judge, &[charge(1, 100, USDT)], 5))), "again", "another payee");
        assert_eq!(says(Made { to: USDT, ..first.clone() }), "again");
        // Where positions exclude each other, another one would let both land; where they say nothing, a
        // renewal has another deadline.
        let moved = says(Made { nonce: 8, ..first.clone() });
        let later = says(made(call(&judge, &good, 6)));
        match family {
            Family::Evm => assert_eq!((moved.as_str(), later.as_str()), ("again", "again")),
            Family::Tvm => assert_eq!((moved.as_str(), later.as_str()), ("none", "none")),
        }
        assert_eq!(rule(again(&judge, &first, b"nothing")), "again");
    }
}

#[test]
fn what_another_key_has_signed_proves_nothing() {
    // On TRON a transaction names its account, so another key's is of another account.
    for family in FAMILIES {
        let chain = chain(family, CALL, CONTRACT);
        let (judge, other) = (judge_of("09", &chain), judge_of("08", &chain));
        let good = [charge(1, 100, PAYEE)];
        let first = made(call(&other, &good, 5));
        let before = first.signed(&other, &bill(&other, &first, &good).unwrap());
        assert_eq!(rule(again(&judge, &made(call(&judge, &good, 5)), &before)), "again");
    }
}
