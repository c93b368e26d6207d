//! The EVM adapter against a real chain: what it reads, foretells, drafts and refuses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy::primitives::{Address, B256, Bytes, U256, address};
use alloy::rpc::types::TransactionReceipt;
use alloy::sol_types::SolValue as _;
use merchant_signer::billing::{
    Admitted, AttemptKind, Charge, Entry, FailCode, Family, Item, Judged, Opinion, Period,
    PlatformChainId, Scalar, judge,
};
use merchant_signer::chain::evm::{self, EvmChain, EvmParts, NotConnected};
use merchant_signer::chain::{Chain, ChainError, Estimate, Facts, Places};
use merchant_signer::config::{
    BillingConfig, EvmConfig, FeeConfig, Finality, KeyRef, L1Fee, PolicyConfig, Replacement,
    RpcUrl, Wei,
};
use merchant_signer::contract::Profile;
use merchant_signer::keys::{Key, KeySource};
use merchant_signer::node::Http;
use merchant_signer::node::fleet::{Fleet, FleetRules};
use merchant_signer::policy::{Meant, Policy};
use serde_json::json;

use crate::world::anvil::Anvil;
use crate::world::contracts::{
    AnyToken, Kind, Merchant, PlainCharge, Subscriber, Token, deploy, outcomes, somebody,
};

/// Nothing is there.
const NOWHERE: Address = address!("0x00000000000000000000000000000000000000ff");

fn key() -> Key {
    let source = KeySource::Env { json_or_hex: "5a".repeat(32).into(), platform_chain_id: 139 };
    Key::load(source, "chains.139.key", true).unwrap()
}

fn parts(url: &str, contract: Address, billing: &BillingConfig) -> EvmParts {
    let key = key();
    let config = EvmConfig {
        eip155_id: 31337,
        rpc: vec![RpcUrl::parse(url).unwrap()],
        send_only: vec![],
        rpc_timeout: Duration::from_secs(5),
        contract,
        key: KeyRef::Keystore("not used".to_owned()),
        multicall: NOWHERE,
        poll_interval: Duration::from_mins(1),
        finality: Finality::Depth(3),
        max_in_flight: 4,
        fees: FeeConfig {
            max_fee_per_gas: Wei(200_000_000_000),
            max_priority_fee_per_gas: Wei(10_000_000_000),
            max_tx_cost: Wei(1_000_000_000_000_000_000),
            legacy: false,
            l1_fee: L1Fee::None,
        },
        gas_margin_percent: 40,
        gas_reserve: 420_000,
        gas_limit_cap: 16_777_216,
        rebroadcast_interval: Duration::from_secs(10),
        replacement: Replacement::Off,
        billing: billing.clone(),
    };
    let profile = Profile::parse(billing, Family::Evm).unwrap();
    let policy = Policy {
        chain: PlatformChainId(139),
        family: Family::Evm,
        bound_to: Some(31337),
        contract,
        selector: profile.selector(),
        signer: key.address(),
        paused: false,
        limits: PolicyConfig::default(),
    };
    let rules = FleetRules { chain_id: 31337, timeout: config.rpc_timeout, passing: evm::passing };
    EvmParts {
        facts: Facts {
            id: PlatformChainId(139),
            name: "test".to_owned(),
            family: Family::Evm,
            network: 31337,
            contract,
            signer: key.address(),
            max_in_flight: 4,
        },
        profile,
        key: Arc::new(key),
        policy,
        fleet: Arc::new(Fleet::new(&Http, &config.rpc, &[], rules).unwrap()),
        config,
    }
}

/// The reference contract.
fn rows(mer_key: Address) -> BillingConfig {
    let reasons = [
        ("2", "SUBSCRIPTION_CANCELLED"),
        ("4", "ALREADY_CHARGED"),
        ("10", "HOLDER_BLOCKED"),
        ("12", "ALLOWANCE_INSUFFICIENT"),
        ("13", "BALANCE_INSUFFICIENT"),
        ("NotBiller(address,address)", "NOT_AUTHORIZED"),
    ];
    BillingConfig {
        call: "processSubscribePlan(address merKey, (uint64 subscribeId, uint64 planId, \
               uint32 planVersion, bytes32 userHash, uint32 period, uint128 amount)[] items, \
               uint256 deadline) returns (uint8[] reasons)"
            .to_owned(),
        lookup: Some(
            "subscribeOf(address merKey, uint64 planId, bytes32 userHash) view returns \
             (address userWallet, address tokenAddress, uint128 amount, uint32 planVersion, \
             uint32 period)"
                .to_owned(),
        ),
        charged: Some(
            "event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, \
             uint64 planId, bytes32 userHash, uint32 period, uint128 amount, address userWallet, \
             address tokenAddress)"
                .to_owned(),
        ),
        skipped: Some(
            "event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, \
             uint64 planId, bytes32 userHash, uint32 period, uint8 reason)"
                .to_owned(),
        ),
        constants: BTreeMap::from([("merKey".to_owned(), mer_key.to_checksum(None))]),
        reasons: reasons.map(|(key, code)| (key.to_owned(), code.to_owned())).into(),
        ..arrays()
    }
}

/// The contract that reverts as a whole.
fn arrays() -> BillingConfig {
    BillingConfig {
        call: "charge(bytes32[] userHash, uint256[] amount)".to_owned(),
        lookup: None,
        charged: None,
        skipped: None,
        constants: BTreeMap::new(),
        reasons: BTreeMap::new(),
        period: None,
        deadline: Duration::from_hours(1),
        guard: Duration::from_hours(1),
    }
}

fn entry(id: u64, plan: u64, user: B256, amount: u128) -> Admitted {
    let fields = [
        ("subscribeId", Scalar::Number(id.to_string())),
        ("planId", Scalar::Number(plan.to_string())),
        ("userHash", Scalar::Text(user.to_string())),
        ("planVersion", Scalar::Number("1".to_owned())),
        ("period", Scalar::Number("1".to_owned())),
        ("amount", Scalar::Number(amount.to_string())),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    let profile = Profile::parse(&rows(NOWHERE), Family::Evm).unwrap();
    profile.admit(&Entry::parse(fields.into()).unwrap()).unwrap()
}

fn charge(who: &Subscriber) -> Charge {
    let terms = &who.plan.terms;
    Charge {
        entry: entry(who.subscribe_id, who.plan.id, who.user_hash, terms.amount),
        period: Period::Numbered(U256::ONE),
        amount: U256::from(terms.amount),
        wallet: who.wallet,
        token: terms.token,
    }
}

fn charges(crowd: &[Subscriber]) -> Vec<Charge> {
    crowd.iter().map(charge).collect()
}

fn codes(judged: &Judged) -> Vec<(i64, FailCode)> {
    judged.refused.iter().map(|refused| (refused.subscribe.0, refused.code)).collect()
}

/// A merchant whose biller is our key, with a plan in a token that can block holders.
struct Shop {
    chain: Anvil,
    merchant: Merchant,
    token: Token,
    crowd: Vec<Subscriber>,
}

impl Shop {
    async fn open(size: u64) -> Self {
        let chain = Anvil::start().await;
        let merchant = Merchant::open(&chain, key().address()).await;
        let token = Token::deploy(&chain, Kind::NoReturn, 6).await;
        let plan = merchant.agree(1, merchant.monthly(&token, 1_000_000)).await;
        let crowd = merchant.crowd(&plan, size).await;
        chain.fund(&[key().address()]).await;
        Self { chain, merchant, token, crowd }
    }

    async fn adapter(&self, change: impl FnOnce(&mut EvmConfig)) -> EvmChain {
        let billing = rows(self.merchant.mer_key);
        let mut parts = parts(&self.chain.url, self.merchant.billing, &billing);
        change(&mut parts.config);
        EvmChain::connect(parts).await.unwrap()
    }
}

async fn places(chain: &EvmChain) -> Places {
    chain.beat().await.unwrap().places.unwrap()
}

/// Drafts, seals at the chain's nonce, and sends past the adapter.
async fn bill(
    anvil: &Anvil,
    chain: &EvmChain,
    good: &[Charge],
    estimate: &Estimate,
) -> TransactionReceipt {
    let draft = chain.draft(good, estimate).await.unwrap();
    let items: Vec<Item> = good.iter().map(Charge::item).collect();
    let tokens: Vec<Address> = good.iter().map(|charge| charge.token).collect();
    let (kind, tokens) = (AttemptKind::Bill, Some(tokens.as_slice()));
    let meant = Meant { kind, items: &items, tokens, cost: draft.cost() };
    let signed = draft.seal(places(chain).await.taken, &meant).unwrap();
    let raw = json!([Bytes::from(signed.raw)]);
    assert_eq!(anvil.call::<B256>("eth_sendRawTransaction", raw).await, signed.hash);
    anvil.receipts(&[signed.hash]).await.remove(0)
}

#[tokio::test]
async fn what_the_preflight_foretells_is_what_happens() {
    let shop = Shop::open(8).await;
    let chain = shop.adapter(|_| {}).await;
    shop.token.set_balance(shop.crowd[1].wallet, 5).await;
    shop.token.approve(shop.crowd[2].wallet, shop.merchant.billing, U256::from(7)).await;
    shop.token.block(shop.crowd[3].wallet, true).await;
    shop.merchant.cancel(&shop.crowd[4]).await;

    let preflight = chain.preflight(charges(&shop.crowd)).await.unwrap();
    assert_eq!(preflight.checked[2].funds.unwrap().allowance, U256::from(7));
    let judged = judge(preflight.checked);
    let expected = [
        (shop.crowd[1].subscribe_id, FailCode::BalanceInsufficient),
        (shop.crowd[2].subscribe_id, FailCode::AllowanceInsufficient),
        (shop.crowd[3].subscribe_id, FailCode::HolderBlocked),
        (shop.crowd[4].subscribe_id, FailCode::SubscriptionCancelled),
    ];
    let expected = expected.map(|(id, code)| (i64::try_from(id).unwrap(), code));
    assert_eq!(codes(&judged), expected);

    let receipt = bill(&shop.chain, &chain, &judged.good, &preflight.estimate).await;
    assert_eq!(outcomes(&receipt), [0, 0, 0, 0]);
    assert_eq!(places(&chain).await, Places { taken: 1, settled: 0 });
    shop.chain.mine(2).await;
    assert_eq!(places(&chain).await.settled, 1);

    let again = judge(chain.preflight(charges(&shop.crowd[..1])).await.unwrap().checked);
    assert_eq!(again.refused[0].code, FailCode::AlreadyCharged);
}

#[tokio::test]
async fn the_lookup_knows_who_subscribed() {
    let shop = Shop::open(2).await;
    let chain = shop.adapter(|_| {}).await;
    let mut entries: Vec<Admitted> = shop.crowd.iter().map(|who| charge(who).entry).collect();
    entries.insert(1, entry(9, 1, B256::repeat_byte(9), 1));
    let looked = chain.lookup(&entries).await.unwrap();
    assert_eq!(looked.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
}

#[tokio::test]
async fn both_ways_of_reading_many_say_the_same() {
    let shop = Shop::open(3).await;
    let multicall = deploy(&shop.chain, "Multicall3", vec![]).await;
    let mut asked = charges(&shop.crowd);
    for number in 0..400_u64 {
        let user = B256::from(U256::from(number));
        let mut other = asked[0].clone();
        other.entry = entry(10_000 + number, 1, user, 1);
        other.wallet = somebody(&number.to_string());
        asked.push(other);
    }
    asked[1].token = NOWHERE;
    let through = async |chain: EvmChain| {
        let checked = chain.preflight(asked.clone()).await.unwrap().checked;
        checked.into_iter().map(|checked| checked.funds).collect::<Vec<_>>()
    };
    let deployless = through(shop.adapter(|_| {}).await).await;
    let deployed = through(shop.adapter(|config| config.multicall = multicall).await).await;
    assert_eq!(deployless, deployed);
    assert_eq!(deployed[0].unwrap().balance, U256::from(100_000_000));
    assert_eq!(deployed[1], None, "an address without code is no token");
    assert_eq!(deployed[402].unwrap().balance, U256::ZERO);
}

#[tokio::test]
async fn a_contract_that_reverts_as_a_whole_names_its_culprits() {
    let anvil = Anvil::start().await;
    let token = Token::deploy(&anvil, Kind::NoReturn, 6).await;
    let plain = Token::deploy(&anvil, Kind::Plain, 6).await;
    let words = (plain.address, somebody("payee")).abi_encode();
    let contract = deploy(&anvil, "PlainCharge", words).await;
    let anybody = somebody("anybody");
    anvil.fund(&[anybody, key().address()]).await;
    let mut batch = Vec::new();
    for number in 1..=10_u64 {
        let (wallet, user) = (somebody(&format!("w{number}")), B256::from(U256::from(number)));
        anvil.fund(&[wallet]).await;
        let mint = AnyToken::mintCall { to: wallet, value: U256::from(100) };
        anvil.execute(wallet, plain.address, &mint).await;
        plain.approve(wallet, contract, U256::MAX).await;
        // The fourth is enrolled with a wallet that holds nothing; the reads don't see that one.
        let enrolled = if number == 4 { NOWHERE } else { wallet };
        let set = PlainCharge::setWalletCall { userHash: user, wallet: enrolled };
        anvil.execute(anybody, contract, &set).await;
        let entry = entry(number, 1, user, 10);
        let (period, amount) = (Period::Guarded, U256::from(10));
        batch.push(Charge { entry, period, amount, wallet, token: plain.address });
    }
    plain.approve(batch[6].wallet, contract, U256::from(3)).await;
    batch[8].token = token.address;

    let parts = parts(&anvil.url, contract, &arrays());
    let chain = EvmChain::connect(parts).await.unwrap();
    let preflight = chain.preflight(batch.clone()).await.unwrap();
    let refusals: Vec<bool> = preflight
        .checked
        .iter()
        .map(|checked| matches!(checked.opinion, Opinion::Refuses { .. }))
        .collect();
    let told = [4, 7].map(|number| number - 1);
    assert!(refusals.iter().enumerate().all(|(place, refused)| *refused == told.contains(&place)));
    let judged = judge(preflight.checked);
    let expected = [
        (4, FailCode::CallReverted),
        (7, FailCode::AllowanceInsufficient),
        (9, FailCode::AllowanceInsufficient),
    ];
    assert_eq!(codes(&judged), expected);
    let receipt = bill(&anvil, &chain, &judged.good, &preflight.estimate).await;
    assert!(receipt.status());
    assert_eq!(plain.balance(somebody("payee")).await, U256::from(70));

    // Only those short of funds are to blame: one more round, and its estimate holds.
    let estimate = chain.preflight(batch[4..7].to_vec()).await.unwrap().estimate;
    assert!(estimate.used > 0 && estimate.charges == 2, "{estimate:?}");
}

#[tokio::test]
async fn nobody_is_asked_to_pay_for_a_batch_that_cannot_be_sent() {
    let shop = Shop::open(12).await;
    let all = charges(&shop.crowd);
    // Twelve use about 560,000 gas: under the first cap they run, under the second not even that.
    for cap in [700_000, 400_000] {
        let change = |config: &mut EvmConfig| (config.gas_limit_cap, config.gas_reserve) = (cap, 0);
        let small = shop.adapter(change).await;
        let refused = match small.preflight(all.clone()).await {
            Ok(preflight) => small.draft(&all, &preflight.estimate).await.unwrap_err(),
            Err(refused) => refused,
        };
        let ChainError::BatchTooLarge { max } = refused else { panic!("{refused}") };
        assert!((1..12).contains(&max), "{max} under {cap}");
        let preflight = small.preflight(all[..max].to_vec()).await.unwrap();
        small.draft(&all[..max], &preflight.estimate).await.unwrap();
    }

    let chain = shop.adapter(|_| {}).await;
    let estimate = chain.preflight(all.clone()).await.unwrap().estimate;
    let poor = json!([key().address(), U256::ONE]);
    shop.chain.call::<serde_json::Value>("anvil_setBalance", poor).await;
    chain.beat().await.unwrap();
    assert!(matches!(chain.draft(&all, &estimate).await, Err(ChainError::GasFunds { .. })));
    let dear = shop.adapter(|config| config.fees.max_fee_per_gas = Wei(1)).await;
    let refused = dear.draft(&all, &estimate).await.unwrap_err();
    assert!(matches!(&refused, ChainError::FeeTooHigh(why) if why.contains("max_fee_per_gas")));
}

#[tokio::test]
async fn who_fails_after_the_preflight_does_not_take_the_others_along() {
    let shop = Shop::open(4).await;
    let chain = shop.adapter(|_| {}).await;
    let all = charges(&shop.crowd);
    let estimate = chain.preflight(all.clone()).await.unwrap().estimate;
    shop.token.block(shop.crowd[3].wallet, true).await;
    let receipt = bill(&shop.chain, &chain, &all, &estimate).await;
    assert_eq!(outcomes(&receipt), [0, 0, 0, 10]);
}

#[tokio::test]
async fn legacy_transactions_land_too() {
    let shop = Shop::open(1).await;
    let chain = shop.adapter(|config| config.fees.legacy = true).await;
    let all = charges(&shop.crowd);
    let estimate = chain.preflight(all.clone()).await.unwrap().estimate;
    let receipt = bill(&shop.chain, &chain, &all, &estimate).await;
    assert_eq!(outcomes(&receipt), [0]);
    assert_eq!(receipt.transaction_type(), alloy::consensus::TxType::Legacy);
}

#[tokio::test]
async fn a_key_that_may_not_bill_is_told_so_for_every_entry() {
    let shop = Shop::open(3).await;
    let elsewhere = Merchant::open(&shop.chain, somebody("another biller")).await;
    let parts = parts(&shop.chain.url, elsewhere.billing, &rows(shop.merchant.mer_key));
    let chain = EvmChain::connect(parts).await.unwrap();
    let judged = judge(chain.preflight(charges(&shop.crowd)).await.unwrap().checked);
    assert_eq!(judged.refused.len(), 3);
    assert!(judged.refused.iter().all(|refused| refused.code == FailCode::NotAuthorized));
}

#[tokio::test]
async fn another_chain_is_refused_and_a_dead_node_is_waited_for() {
    let shop = Shop::open(1).await;
    let at = |url, contract| parts(url, contract, &rows(shop.merchant.mer_key));
    let mut wrong = at(&shop.chain.url, shop.merchant.billing);
    wrong.config.eip155_id = 56;
    let rules =
        FleetRules { chain_id: 56, timeout: wrong.config.rpc_timeout, passing: evm::passing };
    wrong.fleet = Arc::new(Fleet::new(&Http, &wrong.config.rpc, &[], rules).unwrap());
    let refused = EvmChain::connect(wrong).await.unwrap_err();
    assert_eq!(refused, NotConnected::WrongChain { configured: 56, answered: 31337 });

    let dead = at("http://127.0.0.1:9", shop.merchant.billing);
    let chain = EvmChain::connect(dead).await.unwrap();
    assert!(chain.pulse().borrow().is_none());
    let error = chain.preflight(charges(&shop.crowd)).await.unwrap_err();
    assert!(matches!(&error, ChainError::Unavailable(why) if why.contains("connection refused")));

    let empty = at(&shop.chain.url, NOWHERE);
    let chain = EvmChain::connect(empty).await.unwrap();
    let error = chain.preflight(charges(&shop.crowd)).await.unwrap_err();
    assert!(matches!(&error, ChainError::CallFails(why) if why.contains("no contract")), "{error}");
}
