use super::*;
use alloy::eips::eip2930::{AccessList, AccessListItem};
use billing::{
    AttemptKind, ChargeKey, ChargeTerms, Family, Item, Period, PlanId, PlatformChainId,
    SubscribeId, UserHash,
};
use config::{BillingConfig, PolicyConfig};
use contract::Profile;
use futures_util::FutureExt as _;
use keys::{Key, KeySource, TestKeys};
use policy::{Policy, Unsigned as _};
use std::time::Duration;

const CONTRACT: Address = Address::repeat_byte(7);

/// `collect(uint64)` of subscription 5.
const CALL: &str = "collect(uint64 subscribeId)";

fn key(byte: &str) -> Arc<Key> {
    let json_or_hex = byte.repeat(32).into();
    let source = KeySource::Env { json_or_hex, platform_chain_id: 1 };
    Arc::new(source.load("chains.1.key", TestKeys::Allowed).unwrap().into())
}

fn profile() -> Profile {
    let config = BillingConfig {
        call: CALL.to_owned(),
        lookup: None,
        charged: None,
        skipped: None,
        constants: [].into(),
        reasons: [].into(),
        period: None,
        deadline: Duration::from_mins(1),
        guard: Duration::from_mins(1),
    };
    Profile::parse(&config, Family::Evm).unwrap()
}

fn signing(byte: &str) -> Arc<SigningContext> {
    let (key, profile) = (key(byte), profile());
    let policy = Policy {
        chain: PlatformChainId(139),
        family: Family::Evm,
        bound_to: Some(56),
        contract: CONTRACT,
        selector: profile.selector(),
        signer: key.address(),
        paused: false,
        limits: PolicyConfig::default(),
    };
    Arc::new(SigningContext { key, policy: Arc::new(policy) })
}

fn calldata(subscribe: u8) -> Bytes {
    [profile().selector().as_slice(), &[0; 31], &[subscribe]].concat().into()
}

fn item(subscribe: u8) -> Item {
    let key = ChargeKey { plan: PlanId(1), user: UserHash(B256::ZERO), period: Period::Guarded };
    Item {
        subscribe: SubscribeId(subscribe.into()),
        key,
        amount: U256::from(9),
        terms: ChargeTerms::default(),
    }
}

fn draft(bid: Bid) -> EvmDraft {
    EvmDraft {
        reserved: None,
        chain_id: 56,
        to: CONTRACT,
        calldata: calldata(5),
        gas_limit: 100_000,
        bid,
        surcharge: U256::ZERO,
        profile: Arc::new(profile()),
        signing: signing("09"),
    }
}

const BID: Bid = Bid::Dynamic { max_fee: 30, tip: 2 };

fn seal(draft: &EvmDraft, position: u64) -> Result<Signed, SealError> {
    let (items, tokens) = ([item(5)], [Address::ZERO]);
    let (kind, contract, cost) = (AttemptKind::Bill, CONTRACT, draft.cost());
    let (function, tokens) = (profile().selector(), Some(&tokens[..]));
    let intent = Intent { kind, contract, function, items: &items, tokens, earlier: None, cost };
    draft.signed(position, &intent).now_or_never().unwrap()
}

#[test]
fn a_sealed_transaction_is_what_was_drafted() {
    for bid in [BID, Bid::Legacy { price: 30 }] {
        let draft = draft(bid);
        let signed = seal(&draft, 41).unwrap();
        assert_eq!(signed.gas_required, 100_000);
        let tx = TxEnvelope::decode_2718_exact(&signed.raw).unwrap();
        assert_eq!(*tx.tx_hash(), signed.hash);
        assert_eq!((tx.nonce(), tx.chain_id()), (41, Some(56)));
        assert_eq!(tx.is_legacy(), matches!(bid, Bid::Legacy { .. }));
        assert_eq!(seal(&draft, 41).unwrap(), signed, "the same bytes for the same place");
        assert_eq!(draft.cost(), U256::from(3_000_000));
        let dear = EvmDraft { surcharge: U256::from(7), ..draft };
        assert_eq!(dear.cost(), U256::from(3_000_007), "and what another chain charges on top");
    }
}

#[test]
fn bytes_that_mean_something_else_are_not_let_out() {
    let built = draft(BID);
    let raw = seal(&built, 41).unwrap().raw;
    let tx = TxEnvelope::decode_2718_exact(&raw).unwrap();
    let signed = (tx.signature_hash(), *tx.signature());
    let wrong = |change: fn(&mut EvmDraft), position| {
        let mut other = draft(BID);
        change(&mut other);
        other.check(&raw, position, signed).unwrap_err().to_string()
    };
    assert_eq!(built.check(&raw, 41, signed), Ok(()));
    assert!(wrong(|_| {}, 42).contains("nonce"));
    assert!(wrong(|draft| draft.chain_id = 1, 41).contains("chain id"));
    assert!(wrong(|draft| draft.to = Address::ZERO, 41).contains("receiver"));
    assert!(wrong(|draft| draft.calldata = Bytes::new(), 41).contains("input"));
    assert!(wrong(|draft| draft.gas_limit = 1, 41).contains("gas limit"));
    assert!(wrong(|draft| draft.bid = Bid::Legacy { price: 31 }, 41).contains("price"));
    let tipped = |draft: &mut EvmDraft| draft.bid = Bid::Dynamic { max_fee: 30, tip: 3 };
    assert!(wrong(tipped, 41).contains("tip"));
    let stranger = EvmDraft { signing: signing("08"), ..draft(BID) };
    let other = TxEnvelope::decode_2718_exact(&seal(&stranger, 41).unwrap().raw).unwrap();
    let strange = built.check(&raw, 41, (signed.0, *other.signature())).unwrap_err();
    assert!(strange.to_string().contains("signature"));
    assert!(built.check(&raw, 41, (B256::ZERO, signed.1)).is_err());
    assert!(built.check(&raw[1..], 41, signed).is_err());
}

#[test]
fn a_draft_that_does_something_else_is_not_signed() {
    let refused = |change: fn(&mut EvmDraft)| {
        let mut other = draft(BID);
        change(&mut other);
        match seal(&other, 41).unwrap_err() {
            SealError::Refused(refusal) => refusal.rule,
            SealError::Failed(why) => panic!("{why}"),
        }
    };
    assert_eq!(refused(|draft| draft.chain_id = 1), "chain");
    assert_eq!(refused(|draft| draft.to = Address::ZERO), "contract");
    assert_eq!(refused(|draft| draft.calldata = Bytes::new()), "function");
    assert_eq!(refused(|draft| draft.calldata = vec![1, 2, 3].into()), "function");
    assert_eq!(refused(|draft| draft.calldata = calldata(6)), "charges");
}

fn intent<'a>(kind: AttemptKind, items: &'a [Item], tokens: &'a [Address]) -> Intent<'a> {
    let (contract, function, cost) = (CONTRACT, profile().selector(), U256::from(1_000));
    Intent { kind, contract, function, items, tokens: Some(tokens), earlier: None, cost }
}

fn tx() -> TxEip1559 {
    TxEip1559 {
        chain_id: 56,
        gas_limit: 100,
        max_fee_per_gas: 10,
        to: TxKind::Call(CONTRACT),
        input: calldata(5),
        ..TxEip1559::default()
    }
}

fn rule(tx: TxEip1559, kind: AttemptKind) -> Option<String> {
    let (items, tokens) = ([item(5)], [Address::ZERO]);
    match draft(BID).sign(tx, &intent(kind, &items, &tokens)).now_or_never().unwrap() {
        Ok(_) => None,
        Err(SealError::Refused(refusal)) => Some(refusal.rule),
        Err(SealError::Failed(why)) => panic!("{why}"),
    }
}

#[test]
fn the_final_bytes_are_read_again_and_one_that_moves_coins_or_calls_another_is_not_signed() {
    let bill = |tx| rule(tx, AttemptKind::Bill);
    let access_list = AccessList(vec![AccessListItem::default()]);
    assert_eq!(bill(tx()), None);
    assert_eq!(bill(TxEip1559 { value: U256::from(1), ..tx() }).unwrap(), "value");
    assert_eq!(bill(TxEip1559 { to: TxKind::Create, ..tx() }).unwrap(), "function");
    assert_eq!(bill(TxEip1559 { access_list, ..tx() }).unwrap(), "function");
    assert_eq!(bill(TxEip1559 { gas_limit: 101, ..tx() }).unwrap(), "cost");
    assert_eq!(bill(TxEip1559 { max_fee_per_gas: u128::MAX, ..tx() }).unwrap(), "cost");
}

#[test]
fn a_cancel_does_nothing_but_use_up_its_place() {
    let cancel = |tx| rule(tx, AttemptKind::Cancel);
    let me = TxKind::Call(key("09").address());
    let nothing = TxEip1559 { to: me, input: Bytes::new(), ..tx() };
    assert_eq!(cancel(nothing.clone()), None);
    assert_eq!(cancel(TxEip1559 { value: U256::from(1), ..nothing.clone() }).unwrap(), "value");
    assert_eq!(cancel(TxEip1559 { input: calldata(5), ..nothing.clone() }).unwrap(), "cancel");
    assert_eq!(
        cancel(TxEip1559 { to: TxKind::Call(CONTRACT), ..nothing.clone() }).unwrap(),
        "cancel"
    );
    assert_eq!(cancel(tx()).unwrap(), "cancel", "a billing is none");
    assert_eq!(rule(nothing, AttemptKind::Bill).unwrap(), "contract", "nor the other way round");
}

#[test]
fn bytes_in_another_form_than_their_own_are_not_read() {
    let profile = profile();
    let bytes = tx().encoded_for_signing();
    let read = |bytes: Vec<u8>| EvmPreimage { bytes, profile: &profile }.effect();
    assert!(read(bytes.clone()).is_ok());
    assert!(read([&bytes[..], &[0]].concat()).is_err(), "more behind it");
    assert!(read(bytes[1..].to_vec()).is_err(), "another type");
    assert!(read(vec![]).is_err() && read(vec![2]).is_err() && read(vec![1; 40]).is_err());
    for at in 0..bytes.len() {
        assert!(read(bytes[..at].to_vec()).is_err(), "cut at {at}");
    }
}
