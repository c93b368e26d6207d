//! Every rule with what breaks it, and what just passes.

use super::*;
use alloy::primitives::{B256, keccak256};
use billing::{ChargeKey, ChargeTerms, Entry, Period, PlanId, Scalar, UserHash, Values};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;

const CONTRACT: Address = Address::repeat_byte(0xC0);
const SIGNER: Address = Address::repeat_byte(0x51);
const USDT: Address = Address::repeat_byte(0x0A);
const DAI: Address = Address::repeat_byte(0x0B);
const SELECTOR: Selector = Selector::new([1, 2, 3, 4]);

fn limits() -> PolicyConfig {
    let usdt = TokenLimits {
        address: USDT,
        max_amount: Some(U256::from(100)),
        max_amount_per_day: Some(U256::from(250)),
        decimals: Some(2),
    };
    let dai =
        TokenLimits { address: DAI, max_amount: None, max_amount_per_day: None, decimals: None };
    PolicyConfig {
        max_batch: Some(3),
        max_fee_per_day: Some(U256::from(9_000)),
        tokens: [("USDT".to_owned(), usdt), ("DAI".to_owned(), dai)].into(),
        ..PolicyConfig::default()
    }
}

fn policy() -> Policy {
    Policy {
        chain: PlatformChainId(139),
        family: Family::Evm,
        bound_to: Some(56),
        contract: CONTRACT,
        selector: SELECTOR,
        signer: SIGNER,
        paused: false,
        limits: limits(),
    }
}

fn charge(n: u8, token: Address, amount: u64) -> Charge {
    let fields = [
        ("subscribeId", Scalar::Number(n.to_string().into())),
        ("planId", Scalar::Number("3".into())),
        ("userHash", Scalar::Text(hex::encode([n; 32]).into())),
    ];
    let fields: BTreeMap<_, _> = fields.map(|(name, value)| (name.into(), value)).into();
    Charge {
        entry: Entry::parse(fields).unwrap().admitted(Values::new()),
        period: Period::Numbered(U256::from(4)),
        amount: U256::from(amount),
        wallet: Address::ZERO,
        token,
    }
}

fn rule<T>(outcome: Result<T, Refusal>) -> String {
    match outcome {
        Ok(_) => "none".to_owned(),
        Err(refusal) => refusal.rule,
    }
}

#[test]
fn a_charge_of_more_than_its_limit_or_of_another_token_is_refused_and_the_limit_itself_is_not() {
    let admit = |charges: &[Charge]| rule(policy().admit(charges));
    assert_eq!(admit(&[charge(1, USDT, 100), charge(2, DAI, u64::MAX)]), "none");
    assert_eq!(admit(&[charge(1, USDT, 101)]), "chains.139.policy.max_amount.USDT");
    assert_eq!(admit(&[charge(1, Address::ZERO, 1)]), "chains.139.policy.tokens");
    let three: Vec<Charge> = (1..=3).map(|n| charge(n, USDT, 1)).collect();
    assert_eq!(admit(&three), "none");
    let four: Vec<Charge> = (1..=4).map(|n| charge(n, USDT, 1)).collect();
    assert_eq!(admit(&four), "chains.139.policy.max_batch");
    let told = policy().admit(&[charge(7, USDT, 101)]).unwrap_err().to_string();
    assert!(
        told.contains("subscription 7") && told.contains("1.01 USDT, more than 1 USDT;"),
        "{told}"
    );
}

#[test]
fn an_address_that_the_entry_states_is_one_of_those_that_are_allowed() {
    let (ours, other) = (Address::repeat_byte(0xA1), Address::repeat_byte(0xB2));
    let limits = PolicyConfig { allowed: [("payee".to_owned(), vec![ours])].into(), ..limits() };
    let policy = Policy { limits, ..policy() };
    let paid_to = |payee: Option<Address>| {
        let mut charge = charge(1, USDT, 1);
        if let Some(payee) = payee {
            charge.entry.supply("payee", DynSolValue::Address(payee));
        }
        policy.admit(&[charge])
    };
    assert_eq!(rule(paid_to(Some(ours))), "none");
    for payee in [Some(other), None] {
        assert_eq!(rule(paid_to(payee)), "chains.139.policy.allowed.payee");
    }
}

#[test]
fn without_limits_any_amount_of_any_token_is_let_through_and_said_to_be() {
    let open = Policy { limits: PolicyConfig::default(), ..policy() };
    let charges: Vec<Charge> = (0..200).map(|n| charge(n, Address::ZERO, u64::MAX)).collect();
    open.admit(&charges).unwrap();
    assert!(open.counts(sums(&charges)).unwrap().iter().all(|count| count.most.is_none()));
    assert_eq!(
        open.fee(AttemptKind::Bill, U256::MAX).after(U256::MAX, U256::MAX).unwrap(),
        U256::MAX
    );
    assert!(open.describe().1 && open.describe().0.contains("any amount of any token"));
    assert!(policy().describe().1, "DAI has no limits");
    let mut closed = limits();
    closed.tokens.remove("DAI");
    let closed = Policy { limits: closed, ..policy() };
    assert_eq!(
        closed.describe().0,
        "at most 3 of charges at once; fees of at most 0.000000000000009 BNB a day; 1 USDT a charge, 2.5 USDT a day"
    );
    assert!(!closed.describe().1);
}

#[test]
fn a_day_has_room_for_its_limit_and_for_nothing_more() {
    let charges = [charge(1, USDT, 60), charge(2, DAI, 5), charge(3, USDT, 40)];
    let [usdt, dai]: [Count; 2] = policy().counts(sums(&charges)).unwrap().try_into().unwrap();
    assert_eq!(
        (usdt.unit, usdt.amount, &usdt.items),
        (Unit::Token(USDT), U256::from(100), &vec![0, 2])
    );
    assert_eq!((dai.unit, dai.amount, &dai.items), (Unit::Token(DAI), U256::from(5), &vec![1]));
    let after = |count: &Count, before: u64| rule(count.after(U256::from(before), count.amount));
    assert_eq!(after(&usdt, 150), "none");
    assert_eq!(after(&usdt, 151), "chains.139.policy.max_amount_per_day.USDT");
    assert_eq!(rule(usdt.after(U256::MAX, usdt.amount)), usdt.rule, "no sum runs over");
    assert_eq!(after(&dai, u64::MAX), "none");
    let fee = policy().fee(AttemptKind::Bill, U256::from(1_000));
    assert_eq!(after(&fee, 8_000), "none");
    assert_eq!(after(&fee, 8_001), "chains.139.policy.max_fee_per_day");
    let cancel = policy().fee(AttemptKind::Cancel, U256::from(1_000));
    assert_eq!(after(&cancel, 9_000), "none", "a cancel waits for no tomorrow");
    assert_eq!(cancel.amount, U256::from(1_000), "and is counted");
}

#[test]
fn a_day_begins_at_midnight_utc() {
    assert_eq!(utc_day(0), 0);
    assert_eq!((utc_day(86_399_999), utc_day(86_400_000)), (0, 1));
    assert_eq!(utc_day(-1), -1);
}

/// A transaction that an adapter has read.
#[derive(Debug)]
struct Read {
    effect: Result<Effect, fmt::Error>,
    family: Family,
}

impl Unsigned for Read {
    type Unreadable = fmt::Error;

    fn bytes(&self) -> &[u8] {
        b"the bytes"
    }

    fn family(&self) -> Family {
        self.family
    }

    fn effect(&self) -> Result<Effect, fmt::Error> {
        self.effect.clone()
    }
}

fn sums(charges: &[Charge]) -> impl Iterator<Item = (Address, U256)> {
    charges.iter().map(|charge| (charge.token, charge.amount))
}

fn item(n: u8, amount: u64) -> Item {
    charge(n, USDT, amount).item()
}

fn carried(item: &Item) -> Carried {
    Carried {
        subscribe: Some(item.subscribe),
        plan: Some(item.key.plan),
        user: Some(item.key.user),
        period: Some(item.key.period),
        amount: Some(item.amount),
        ..Carried::default()
    }
}

fn bills(items: &[Item]) -> Effect {
    let charges = Ok(items.iter().map(carried).collect());
    Effect {
        chain_id: Some(56),
        from: None,
        to: CONTRACT,
        value: U256::ZERO,
        cost: U256::from(1_000),
        data: Data::Call { addresses: vec![], signers: vec![], selector: SELECTOR, charges },
    }
}

const TOKENS: [Address; 2] = [USDT; 2];

fn approved(effect: Effect, items: &[Item], tokens: Option<&[Address]>) -> String {
    approved_as(SELECTOR, effect, items, tokens)
}

fn approved_as(
    function: Selector,
    effect: Effect,
    items: &[Item],
    tokens: Option<&[Address]>,
) -> String {
    let (kind, contract) = (AttemptKind::Bill, CONTRACT);
    let intent =
        Intent { kind, contract, function, items, tokens, earlier: None, cost: U256::from(1_000) };
    rule(policy().approve(Read { effect: Ok(effect), family: Family::Evm }, &intent))
}

/// What the policy says of a transaction that bills 1 and 2, and differs from that in one thing.
fn changed(change: impl FnOnce(&mut Effect)) -> String {
    let items = [item(1, 100), item(2, 9)];
    let mut effect = bills(&items);
    change(&mut effect);
    approved(effect, &items, Some(&TOKENS))
}

fn told(change: impl FnOnce(&mut Carried)) -> String {
    changed(|effect| {
        let mut charges = vec![carried(&item(1, 100)), carried(&item(2, 9))];
        change(&mut charges[1]);
        effect.data = Data::Call {
            addresses: vec![],
            signers: vec![],
            selector: SELECTOR,
            charges: Ok(charges),
        };
    })
}

#[test]
fn nothing_is_approved_but_the_configured_call_for_what_was_asked() {
    assert_eq!(changed(|_| {}), "none");
    assert_eq!(changed(|effect| effect.chain_id = Some(1)), "chain");
    assert_eq!(changed(|effect| effect.chain_id = None), "chain");
    assert_eq!(changed(|effect| effect.from = Some(SIGNER)), "none");
    assert_eq!(changed(|effect| effect.from = Some(CONTRACT)), "signer");
    assert_eq!(changed(|effect| effect.to = SIGNER), "contract");
    assert_eq!(changed(|effect| effect.value = U256::from(1)), "value");
    assert_eq!(changed(|effect| effect.cost = U256::from(999)), "none");
    assert_eq!(changed(|effect| effect.cost = U256::from(1_001)), "cost");
    assert_eq!(changed(|effect| effect.data = Data::None), "function");
    let with = |selector, charges| {
        changed(move |i| {
            i.data = Data::Call { addresses: vec![], signers: vec![], selector, charges }
        })
    };
    let signers = |stated: Vec<Address>| {
        changed(|effect| {
            let Data::Call { signers, .. } = &mut effect.data else { panic!("it is a call") };
            *signers = stated;
        })
    };
    assert_eq!(signers(vec![SIGNER, SIGNER]), "none");
    assert_eq!(signers(vec![SIGNER, CONTRACT]), "signer", "not the account that signs");
    let other = Selector::new([1, 2, 3, 5]);
    assert_eq!(with(other, Ok(vec![carried(&item(1, 100)), carried(&item(2, 9))])), "function");
    assert_eq!(with(SELECTOR, Err(Undecodable::Layout)), "function");
    assert_eq!(with(SELECTOR, Ok(vec![carried(&item(1, 100))])), "charges", "one less");
    assert_eq!(with(SELECTOR, Ok(vec![carried(&item(2, 9)), carried(&item(1, 100))])), "charges");
}

#[test]
fn a_charge_that_differs_in_any_field_from_what_was_claimed_is_not_approved() {
    assert_eq!(told(|charge| charge.subscribe = Some(SubscribeId(3))), "charges");
    assert_eq!(told(|charge| charge.plan = Some(PlanId(4))), "charges");
    assert_eq!(told(|charge| charge.user = Some(UserHash(B256::ZERO))), "charges");
    assert_eq!(told(|charge| charge.period = Some(Period::Guarded)), "charges");
    assert_eq!(told(|charge| charge.amount = Some(U256::from(10))), "charges");
    assert_eq!(told(|charge| charge.token = Some(DAI)), "charges");
    assert_eq!(told(|charge| charge.token = Some(USDT)), "none");
    assert_eq!(told(|charge| *charge = Carried::default()), "none", "what is not carried");
}

#[test]
fn the_limits_are_looked_at_again_in_the_final_bytes_of_a_new_batch_alone() {
    let one = |amount| [item(1, amount)];
    let approve =
        |items: &[Item], tokens: Option<&[Address]>| approved(bills(items), items, tokens);
    assert_eq!(approve(&one(100), Some(&[USDT])), "none");
    assert_eq!(approve(&one(101), Some(&[USDT])), "chains.139.policy.max_amount.USDT");
    assert_eq!(approve(&one(101), None), "none", "another attempt keeps its place");
    assert_eq!(approve(&one(1), Some(&[CONTRACT])), "chains.139.policy.tokens");
    assert_eq!(approve(&one(1), Some(&[])), "tokens");
    assert_eq!(approve(&[], Some(&[])), "charges", "nobody");
    let four: Vec<Item> = (1..=4).map(|n| item(n, 1)).collect();
    assert_eq!(approve(&four, Some(&[USDT; 4])), "chains.139.policy.max_batch");
}

#[test]
fn a_cancel_is_a_transaction_to_ourselves_that_does_nothing() {
    let items = [item(1, 1)];
    let nothing = Effect { to: SIGNER, data: Data::None, ..bills(&items) };
    let cancel = |effect| {
        let kind = AttemptKind::Cancel;
        let (contract, function, cost) = (CONTRACT, SELECTOR, U256::from(1_000));
        let intent =
            Intent { kind, contract, function, items: &items, tokens: None, earlier: None, cost };
        rule(policy().approve(Read { effect: Ok(effect), family: Family::Evm }, &intent))
    };
    assert_eq!(cancel(nothing.clone()), "none");
    assert_eq!(cancel(Effect { to: CONTRACT, ..nothing.clone() }), "cancel");
    assert_eq!(cancel(Effect { to: SIGNER, ..bills(&items) }), "cancel");
    assert_eq!(cancel(Effect { value: U256::from(1), ..nothing.clone() }), "value");
    assert_eq!(cancel(Effect { cost: U256::from(1_001), ..nothing.clone() }), "cost");
    assert_eq!(approved(nothing, &items, None), "contract", "it bills nobody");
}

#[test]
fn another_attempt_calls_the_contract_of_its_batch_and_no_other() {
    let (items, old) = ([item(1, 1)], Address::repeat_byte(0x0d));
    let says = |to: Address, tokens: Option<&[Address]>| {
        let (kind, contract, cost) = (AttemptKind::Bill, old, U256::from(1_000));
        let function = SELECTOR;
        let intent =
            Intent { kind, contract, function, items: &items, tokens, earlier: None, cost };
        let effect = Effect { to, ..bills(&items) };
        rule(policy().approve(Read { effect: Ok(effect), family: Family::Evm }, &intent))
    };
    assert_eq!(says(old, None), "none", "the contract has changed since");
    assert_eq!(says(CONTRACT, None), "contract", "the batch is not billed through that one");
    assert_eq!(says(old, Some(&[USDT])), "contract", "nothing new is");
}

#[test]
fn another_attempt_calls_the_function_of_its_batch_and_no_other() {
    let (items, old) = ([item(1, 1)], Selector::new([9, 9, 9, 9]));
    let says = |function, called, tokens: Option<&[Address]>| {
        let charges = Ok(items.iter().map(carried).collect());
        let data = Data::Call { addresses: vec![], signers: vec![], selector: called, charges };
        approved_as(function, Effect { data, ..bills(&items) }, &items, tokens)
    };
    assert_eq!(says(old, old, None), "none", "the profile has changed since");
    assert_eq!(says(old, SELECTOR, None), "function", "the batch is not billed by that one");
    assert_eq!(says(SELECTOR, old, None), "function");
    assert_eq!(says(old, old, Some(&[USDT])), "function", "nothing new is");
}

#[test]
fn what_is_signed_is_the_hash_of_the_bytes_that_were_read() {
    let items = [item(1, 1)];
    let (kind, contract, function) = (AttemptKind::Bill, CONTRACT, SELECTOR);
    let intent = Intent {
        kind,
        contract,
        function,
        items: &items,
        tokens: None,
        earlier: None,
        cost: U256::MAX,
    };
    let digest = |family| {
        let read = Read { effect: Ok(bills(&items)), family };
        policy().approve(read, &intent).unwrap().digest()
    };
    assert_eq!(digest(Family::Evm), keccak256(b"the bytes"));
    assert_eq!(digest(Family::Tvm)[..], Sha256::digest(b"the bytes")[..]);
    let unread = Read { effect: Err(fmt::Error), family: Family::Evm };
    assert_eq!(rule(policy().approve(unread, &intent)), "function");
}

#[test]
fn a_key_of_the_claim_is_what_is_compared() {
    let key = ChargeKey {
        plan: PlanId(3),
        user: UserHash(B256::repeat_byte(1)),
        period: Period::Guarded,
    };
    let item =
        Item { subscribe: SubscribeId(1), key, amount: U256::MAX, terms: ChargeTerms::default() };
    assert_eq!(carried(&item).item(), Ok(item));
    for (change, field) in [
        (Carried { subscribe: None, ..carried(&item) }, "subscribeId"),
        (Carried { plan: None, ..carried(&item) }, "planId"),
        (Carried { user: None, ..carried(&item) }, "userHash"),
        (Carried { period: None, ..carried(&item) }, "period"),
        (Carried { amount: None, ..carried(&item) }, "amount"),
    ] {
        assert_eq!(change.item(), Err(field));
    }
}
