//! The EVM adapter against a real chain: what it reads, foretells, drafts and refuses.

mod preflights;
mod sending;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy::primitives::{Address, B256, Bytes, U256, address};
use alloy::rpc::types::TransactionReceipt;
use alloy::sol_types::SolValue as _;
use billing::{
    Admitted, AttemptKind, Charge, Entry, FailCode, Family, InBlocks, Item, Judged, NonceView,
    Opinion, Period, PlatformChainId, Scalar, Signed, judge,
};
use chain::evm::{EvmChain, EvmParts};
use chain::{
    Chain, ChainError, Estimate, HeadExtent, NotConnected, Signatory, SigningAccount, Unready,
};
use config::{
    BillingConfig, ChainConfig, ChainKeys, Config, EvmConfig, FamilyConfig, FeeConfig, Finality,
    JournalConfig, KeyRef, L1Fee, NewWork, PolicyConfig, Replacement, RpcUrl, Wei,
};
use contract::Profile;
use host::clock::Clock;
use journal::{Journal, LaneId, Origin, Proposal};
use keys::{Key, KeySource, TestKeys};
use node::{Http, RealChain};
use policy::Intent;
use serde_json::json;

use crate::world::anvil::Anvil;
use crate::world::contracts::{
    AnyToken, Kind, Merchant, PlainCharge, Subscriber, Token, deploy, outcomes, somebody,
};
use crate::world::town::{chain, profile};

/// Nothing is there.
const NOWHERE: Address = address!("0x00000000000000000000000000000000000000ff");

fn key() -> Key {
    let source = KeySource::Env { json_or_hex: "5a".repeat(32).into(), platform_chain_id: 139 };
    source.load("chains.139.key", TestKeys::Allowed).unwrap().into()
}

fn config(url: &str, contract: Address, billing: &BillingConfig) -> EvmConfig {
    EvmConfig {
        eip155_id: 31337,
        rpc: vec![RpcUrl::parse(url).unwrap()],
        send_only: vec![],
        witness_rpc: vec![],
        proven_by: None,
        rewritten_until: None,
        rpc_timeout: Duration::from_secs(5),
        contract,
        multicall: NOWHERE,
        poll_interval: Duration::from_mins(1),
        idle_poll_interval: Duration::from_mins(1),
        max_requests_per_day: None,
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
        clock_tolerance: Duration::from_hours(24 * 36_500),
        rebroadcast_interval: Duration::from_secs(10),
        replacement: Replacement::Off,
        billing: billing.clone(),
    }
}

async fn connected(config: EvmConfig) -> Result<Box<dyn Chain>, NotConnected> {
    let chain = ChainConfig {
        platform_id: PlatformChainId(139),
        name: "test".to_owned(),
        test: true,
        default: false,
        new_work: NewWork::Taken,
        gas_warn_billings: 0,
        explorer: None,
        keys: ChainKeys::one(KeyRef::Keystore("not used".to_owned())),
        policy: PolicyConfig::default(),
        family: FamilyConfig::Evm(Arc::new(config.clone())),
    };
    let profile = Profile::parse(&config.billing, Family::Evm).unwrap();
    let signatory = Signatory::Key(Arc::new(key()));
    let account = SigningAccount::new(&chain, profile, &signatory, Clock::MACHINE);
    let parts = EvmParts::dial(&Http::default(), config.into(), Clock::MACHINE).unwrap();
    let chain = EvmChain::connect(account, parts).await?;
    Ok(Box::new(chain))
}

/// The reference contract.
fn rows(mer_key: Address) -> BillingConfig {
    let text = chain("http://127.0.0.1:1", NOWHERE, NOWHERE, "");
    let profile = profile(&mer_key.to_checksum(None));
    let text = format!("allow_unauthenticated = true\n{text}{profile}");
    let config = Config::from_toml(&text, &[]).unwrap();
    let FamilyConfig::Evm(evm) = &config.chains[0].family else { panic!("it is EVM") };
    evm.billing.clone()
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
        ("subscribeId", Scalar::Number(id.to_string().into())),
        ("planId", Scalar::Number(plan.to_string().into())),
        ("userHash", Scalar::Text(user.to_string().into())),
        ("planVersion", Scalar::Number("1".into())),
        ("period", Scalar::Number("1".into())),
        ("amount", Scalar::Number(amount.to_string().into())),
    ];
    let fields = fields.map(|(name, value)| (name.into(), value));
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

    async fn adapter(&self, change: impl FnOnce(&mut EvmConfig)) -> Box<dyn Chain> {
        let billing = rows(self.merchant.mer_key);
        let mut config = config(&self.chain.url, self.merchant.billing, &billing);
        change(&mut config);
        connected(config).await.unwrap()
    }
}

async fn nonces(chain: &dyn Chain) -> NonceView {
    chain.poll_head(HeadExtent::Whole).await.unwrap().nonces.unwrap()
}

/// Drafts, and signs and commits at the chain's nonce, in a journal of its own.
async fn committed(chain: &dyn Chain, good: &[Charge], estimate: &Estimate) -> Signed {
    let draft = chain.draft(good, estimate).await.unwrap();
    let items: Vec<Item> = good.iter().map(Charge::item).collect();
    let tokens: Vec<Address> = good.iter().map(|charge| charge.token).collect();
    let (kind, tokens) = (AttemptKind::Bill, Some(tokens.as_slice()));
    let (contract, function) = (chain.facts().contract, chain.profile().selector());
    let intent = Intent {
        kind,
        contract,
        function,
        items: &items,
        tokens,
        earlier: None,
        cost: draft.cost(),
    };
    let position = nonces(chain).await.mined;
    let sealed = draft.seal(position, &intent).await.unwrap();
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("journal.sqlite");
    Journal::initialise(&path).unwrap();
    let config = JournalConfig {
        path,
        mark_path: None,
        backups: None,
        min_free_bytes: 1,
        queue_length: 8,
        keep_refusals: None,
    };
    let journal = Journal::open(&config).unwrap();
    let facts = chain.facts();
    journal.bind(chain.binding(), 0).await.unwrap();
    let lane = LaneId { chain: facts.id, signer: facts.signer };
    journal.lane(lane).open(position, 0).await.unwrap();
    let proposal = Proposal {
        origin: Origin { lane, contract },
        profile: Arc::clone(chain.profile().written()),
        request: None,
        earlier: vec![],
        caller: None,
        in_blocks: InBlocks::Below(position),
        window: 1,
        counts: vec![],
        chain_time: 0,
        at_ms: 0,
        sealed,
    };
    let slot = journal.accept(proposal).await.unwrap();
    slot.attempts.newest().get().signed.clone()
}

/// The same, and sends it past the adapter.
async fn bill(
    anvil: &Anvil,
    chain: &dyn Chain,
    good: &[Charge],
    estimate: &Estimate,
) -> TransactionReceipt {
    let signed = committed(chain, good, estimate).await;
    let raw = json!([Bytes::from(signed.raw)]);
    assert_eq!(anvil.call::<B256>("eth_sendRawTransaction", raw).await, signed.hash);
    anvil.receipts(&[signed.hash]).await.remove(0)
}
