//! Charges, proposals, requests and ends to test with: small numbers stand for everything.

use alloy::primitives::{Address, B256, U256};
use billing::{
    AskedBy, Attempt, BatchState, BlockRef, CallerKey, CallerLabel, ChargeKey, ChargeTerms,
    Denomination, FailCode, Family, ForeignEffect, ForeignTx, InBlocks, Item, ItemOutcome, Landed,
    NamedRequest, Period, PeriodNaming, PlanId, PlatformChainId, RequestId, Signed, Slot, Subject,
    SubscribeId, UserHash, Verdict,
};
use journal::{Binding, Durable, LaneId, Network, Origin, Proposal, Sealed, Settlement};
use policy::{Count, Unit};

/// The chain of all samples.
pub const CHAIN: PlatformChainId = PlatformChainId(139);
/// Its contract.
pub const CONTRACT: Address = Address::repeat_byte(0xC0);
/// The account that signs.
pub const SIGNER: Address = Address::repeat_byte(0x51);
/// The first position of the lane: the account had sent seven transactions before.
pub const FIRST: u64 = 7;
/// The time of all samples, Unix ms.
pub const NOW_MS: i64 = 1_767_225_600_000;
/// The network that the chain stands for.
pub const NETWORK: Network = Network { family: Family::Evm, id: 31_337 };
/// The profile of the contract, as far as the journal cares: a text.
pub const PROFILE: &str = "a profile";
/// Every table of a journal.
pub const TABLES: [&str; 19] = [
    "boot",
    "restored",
    "chain",
    "contract",
    "pause",
    "lane",
    "profile",
    "doubt",
    "batch",
    "batch_hour",
    "scope",
    "tx",
    "later_attempt",
    "claim",
    "payer",
    "spend",
    "history",
    "request",
    "request_batch",
];

/// A subscription and its user: both have the number `who`.
pub fn item(who: u8, period: u64) -> Item {
    let key = ChargeKey { plan: PlanId(3), user: user(who), period: numbered(period) };
    Item {
        subscribe: SubscribeId(who.into()),
        key,
        amount: U256::from(500),
        terms: ChargeTerms::default(),
    }
}

/// The same, paid from a wallet that is known.
pub fn paid_by(wallet: u8, item: Item) -> Item {
    let wallet = Some(Address::repeat_byte(wallet));
    Item { terms: ChargeTerms { wallet, ..item.terms }, ..item }
}

/// The same of a contract that knows no periods.
pub fn guarded(who: u8) -> Item {
    let mut item = item(who, 0);
    item.key.period = Period::Guarded;
    item
}

/// The user of this number.
pub fn user(who: u8) -> UserHash {
    UserHash(B256::repeat_byte(who))
}

/// A period of this number.
pub fn numbered(period: u64) -> Period {
    Period::Numbered(U256::from(period))
}

/// The subscription that an item charges.
pub fn subject(item: Item) -> Subject {
    let ChargeKey { plan, user, period } = item.key;
    Subject { subscribe: item.subscribe, plan, user, period: Some(period) }
}

/// Signed for the first position of the lane.
pub fn proposal(items: &[Item]) -> Proposal {
    Proposal {
        origin: origin(),
        profile: PROFILE.into(),
        request: None,
        earlier: vec![],
        caller: None,
        in_blocks: InBlocks::Below(FIRST),
        window: 1000,
        counts: vec![],
        chain_time: 0,
        at_ms: NOW_MS,
        sealed: Sealed::new(FIRST, items, signed(FIRST)),
    }
}

/// Somebody whose label is not the API key.
pub fn asked_by() -> AskedBy {
    let (key, label) = ("merchant-key".to_owned(), "scheduler".to_owned());
    AskedBy { key: CallerKey(key), label: CallerLabel(label) }
}

/// A request under the name `id`; another thing for every `digest`.
pub fn request(id: &str, digest: u8) -> NamedRequest {
    let id = RequestId::parse(id).unwrap();
    NamedRequest { id, caller: Some(asked_by().key), digest: B256::repeat_byte(digest) }
}

/// The most that a transaction may cost, and that those of a day may.
pub fn fee(cost: u64, most: Option<u64>) -> Count {
    count(Unit::Fee, vec![], cost, most)
}

/// A count of a batch in one unit, and the most of a day.
pub fn count(unit: Unit, items: Vec<usize>, amount: u64, most: Option<u64>) -> Count {
    let (amount, most, rule) = (U256::from(amount), most.map(U256::from), unit.word());
    let units = Denomination::Token { name: unit.word(), decimals: None };
    Count { unit, items, amount, most, rule, units }
}

/// Stands for a signature: another one for every position.
pub fn signed(position: u64) -> Signed {
    let hash = B256::from(U256::from(position));
    Signed { hash, raw: format!("transaction {position}").into_bytes(), gas_required: 21_000 }
}

/// The block of all ends.
pub const BLOCK: BlockRef =
    BlockRef { number: 88, time: 1_000, hash: Some(B256::repeat_byte(0x88)) };

/// The end of `slot` by its first transaction.
pub fn end(
    slot: &Slot<Durable<Attempt>>,
    state: BatchState,
    outcomes: Vec<ItemOutcome>,
) -> Settlement {
    let landed =
        Landed { hash: slot.attempts.first().get().signed.hash, block: BLOCK, record: None };
    let verdict = match state {
        BatchState::Charged => Verdict::Charged(landed, outcomes),
        BatchState::Reverted => Verdict::Reverted(landed),
        BatchState::Cancelled => Verdict::Cancelled(landed),
        BatchState::Expired => Verdict::Expired(BLOCK),
        BatchState::Usurped => Verdict::Usurped(foreign(slot.position, ForeignEffect::Other)),
        BatchState::Open => panic!("no end"),
    };
    Settlement { batch: slot.batch, verdict, guard_s: 600 }
}

/// A transaction at `position` that nobody here signed.
pub fn foreign(position: u64, effect: ForeignEffect) -> ForeignTx {
    let landed = Landed { hash: B256::repeat_byte(0xEE), block: BLOCK, record: None };
    ForeignTx { position, landed, effect }
}

/// As the chain is known.
pub fn binding() -> Binding {
    let naming = PeriodNaming::Field("period".to_owned());
    Binding { chain: CHAIN, network: NETWORK, contract: CONTRACT, naming }
}

/// The lane of all samples.
pub fn lane() -> LaneId {
    LaneId { chain: CHAIN, signer: SIGNER }
}

/// The origin of all samples.
pub fn origin() -> Origin {
    Origin { lane: lane(), contract: CONTRACT }
}

/// The outcome of a charge whose allowance did not suffice.
pub fn short_of_allowance() -> ItemOutcome {
    ItemOutcome::Failed { code: FailCode::AllowanceInsufficient, detail: Some("1".to_owned()) }
}
