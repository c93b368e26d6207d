//! A merchant with everything: a chain, the reference contract, a plan, subscribers, a node that can
//! misbehave, and an installation of the Signer that bills for it.

pub(crate) mod paper;

pub(crate) use paper::{chain, profile, put_key, tron_chain, with_tron_nodes};

use super::anvil::{Anvil, Family, Mining, Options};
use super::contracts::{AnyToken, Billing, Kind, Merchant, Plan, Subscriber, Token, deploy};
use super::patience::{ASKED_AT_MOST, eventually};
use super::proxy::{LOOK, Proxy};
use super::signer::{Charged, Heard, Installation, Signer};
use super::tron::TronWorld;
use alloy::primitives::{Address, U256};
use alloy::rpc::types::Log;
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::{SolCall as _, SolEvent as _};
use paper::{config, reference_profile};
use sandbox_chains::tron::address::base58;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The key of the account that bills. Known to these tests alone, and searched for in all output.
pub(crate) const KEY: &str = "7c4f5bd6a1e2f9038b6d5a4c3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f";

/// The platform's id of the chain.
pub(crate) const CHAIN: u32 = 139;

/// What a subscriber pays for a month, base units. More than fits in an int64.
pub(crate) const PRICE: u128 = 10_000_000_000_000_000_000;

pub(crate) struct Town {
    /// The chain; on TRON something that speaks anvil's dialect.
    pub(crate) anvil: Anvil,
    tron: Option<TronWorld>,
    pub(crate) merchant: Merchant,
    pub(crate) token: Token,
    pub(crate) plan: Plan,
    pub(crate) people: Vec<Subscriber>,
    pub(crate) proxy: Proxy,
    pub(crate) installation: Installation,
    /// The contract that the Signer bills through.
    pub(crate) contract: Address,
    multicall: Address,
    /// Where a TRON node is reached beside the proxy's own address.
    doors: Option<Doors>,
}

/// The doors of a TRON node, behind the proxy, and its chain.
#[derive(Clone, Debug)]
pub(crate) struct Doors {
    pub(crate) solidity: String,
    pub(crate) jsonrpc: String,
    pub(crate) chain_id: u64,
}

/// How a town differs from the usual one.
#[derive(Clone, Debug)]
pub(crate) struct Founding {
    pub(crate) family: Family,
    pub(crate) mining: Mining,
    pub(crate) people: u64,
    pub(crate) lookup: bool,
    pub(crate) multicall: bool,
    pub(crate) token: Kind,
    /// More keys of `[chains.139]`, before any section.
    pub(crate) chain_keys: String,
    /// On TRON: how far the head is behind this machine's clock when the town is founded. The Signer
    /// signs while the two are less than a minute apart.
    pub(crate) behind: Duration,
}

impl Default for Founding {
    fn default() -> Self {
        Self::on(Family::Evm)
    }
}

impl Founding {
    /// The usual town on a chain of this family.
    pub(crate) fn on(family: Family) -> Self {
        Self {
            family,
            mining: Mining::EachTransaction,
            people: 3,
            lookup: false,
            multicall: true,
            token: Kind::NoReturn,
            chain_keys: String::new(),
            behind: Duration::from_secs(20),
        }
    }
}

pub(crate) fn signer_address() -> Address {
    KEY.parse::<PrivateKeySigner>().unwrap().address()
}

impl Town {
    pub(crate) async fn found() -> Self {
        Self::with(Founding::default()).await
    }

    /// The usual town on a chain of this family.
    pub(crate) async fn on(family: Family) -> Self {
        Self::with(Founding::on(family)).await
    }

    pub(crate) async fn with(founding: Founding) -> Self {
        match founding.family {
            Family::Evm => Self::on_evm(founding).await,
            Family::Tron => Self::on_tron(founding).await,
        }
    }

    async fn on_evm(founding: Founding) -> Self {
        let extra = vec!["--order".to_owned(), "fifo".to_owned()];
        let anvil = Anvil::with(Options { mining: founding.mining, extra }).await;
        let slow = !matches!(founding.mining, Mining::EachTransaction);
        if slow {
            anvil.set_automine(true).await;
        }
        let settlement = Settlement::on(&anvil, &founding).await;
        if slow {
            anvil.set_automine(false).await;
            if let Mining::EverySeconds(seconds) = founding.mining {
                anvil.call::<Value>("evm_setIntervalMining", json!([seconds])).await;
            }
        }
        let proxy = Proxy::before(&anvil.url).await;
        Self::installed(&founding, settlement, anvil, None, proxy, None)
    }

    async fn on_tron(founding: Founding) -> Self {
        let (world, anvil) = TronWorld::start().await;
        let settlement = Settlement::on(&anvil, &founding).await;
        anvil.set_automine(!matches!(founding.mining, Mining::OnRequest)).await;
        world.open(founding.mining, u64::try_from(founding.behind.as_millis()).unwrap());
        let proxy = Proxy::before(&world.served.full).await;
        let doors = Doors {
            solidity: proxy.and_before(&world.served.solidity).await,
            jsonrpc: proxy.and_before(&world.served.jsonrpc).await,
            chain_id: anvil.chain_id().await,
        };
        Self::installed(&founding, settlement, anvil, Some(world), proxy, Some(doors))
    }

    fn installed(
        founding: &Founding,
        settlement: Settlement,
        anvil: Anvil,
        tron: Option<TronWorld>,
        proxy: Proxy,
        doors: Option<Doors>,
    ) -> Self {
        let Settlement { merchant, token, plan, people, multicall } = settlement;
        let contract = merchant.billing;
        let config = config(&proxy.url, doors.as_ref(), [contract, multicall], founding);
        let profile = reference_profile(founding, &merchant);
        let installation = Installation::new(&format!("{config}{profile}"));
        put_key(&installation);
        Self {
            anvil,
            tron,
            merchant,
            token,
            plan,
            people,
            proxy,
            installation,
            contract,
            multicall,
            doors,
        }
    }

    /// A town whose Signer knows so many nodes of the one chain, the first the town's own; and the nodes.
    pub(crate) async fn with_nodes(nodes: usize, founding: Founding) -> (Self, Vec<Proxy>) {
        let mut town = Self::with(founding.clone()).await;
        if founding.family == Family::Tron {
            let proxies = town.know_nodes(nodes, &founding).await;
            return (town, proxies);
        }
        let mut proxies = vec![town.proxy.clone()];
        while proxies.len() < nodes {
            proxies.push(Proxy::before(&town.anvil.url).await);
        }
        let urls: Vec<&str> = proxies.iter().map(|proxy| proxy.url.as_str()).collect();
        town.installation = town.installation.env("SIGNER__CHAINS__139__RPC", &urls.join(" "));
        (town, proxies)
    }

    /// The same people, who let another contract charge them; the Signer bills through that one.
    /// `profile` is what `[chains.139.billing]` holds, sections below it included.
    pub(crate) async fn billed_through(mut self, contract: Address, profile: &str) -> Self {
        let approve = AnyToken::approveCall { spender: contract, value: U256::MAX }.abi_encode();
        let approval = |who: &Subscriber| (who.wallet, self.token.address, approve.clone().into());
        self.anvil.execute_all(self.people.iter().map(approval).collect()).await;
        let founding = Founding::on(self.family());
        let places = [contract, self.multicall];
        let config = config(&self.proxy.url, self.doors.as_ref(), places, &founding);
        let profile = format!("[chains.{CHAIN}.billing]\n{profile}");
        self.contract = contract;
        self.installation = Installation::new(&format!("{config}{profile}"));
        put_key(&self.installation);
        self
    }

    /// The TRON chain.
    pub(crate) fn tron(&self) -> &TronWorld {
        self.tron.as_ref().expect("this town is on TRON")
    }

    pub(crate) fn family(&self) -> Family {
        self.anvil.family()
    }

    /// An address in the spelling of the family.
    pub(crate) fn spell(&self, address: Address) -> String {
        spell(self.family(), address)
    }

    /// Brings what was sent nearer to being irrevocable.
    async fn advance(&self) {
        if self.tron.as_ref().is_none_or(TronWorld::wants_a_block) {
            self.anvil.mine(1).await;
        }
    }

    pub(crate) async fn signer(&self) -> Signer {
        self.installation.start().await.after_its_first_look().await
    }

    /// The entries that the platform's list would hold for these people's first period, by place.
    pub(crate) fn entries(&self, places: impl IntoIterator<Item = usize>) -> Vec<Value> {
        places.into_iter().map(|place| entry(&self.people[place], 1)).collect()
    }

    /// How often somebody paid, by what arrived on chain.
    pub(crate) async fn payments(&self, who: &Subscriber) -> u128 {
        let full = U256::from(PRICE) * U256::from(100);
        let spent = full - self.token.balance(who.wallet).await;
        assert_eq!(spent % U256::from(PRICE), U256::ZERO);
        (spent / U256::from(PRICE)).to()
    }

    /// Asserts how often each of these people paid, that the merchant got as much, and that a restored backup
    /// of the journal says the same.
    pub(crate) async fn assert_paid(&self, times: &[u128]) {
        let mut paid = vec![];
        for who in self.people.iter().take(times.len()) {
            paid.push(self.payments(who).await);
        }
        assert_eq!(paid, times, "payments by subscriber");
        let income = self.token.balance(self.merchant.payee).await;
        assert_eq!(income, U256::from(paid.iter().sum::<u128>() * PRICE), "what the merchant got");
        self.assert_books(&paid);
    }

    fn assert_books(&self, paid: &[u128]) {
        let Some(books) = self.installation.books() else { return };
        for (who, paid) in self.people.iter().zip(paid) {
            let Charged { surely, perhaps } =
                books.get(&who.subscribe_id).copied().unwrap_or_default();
            let told = format!(
                "{}: {surely} charged and {perhaps} open in the journal, {paid} paid",
                who.subscribe_id
            );
            assert!(surely <= *paid && *paid <= surely + perhaps, "{told}");
        }
    }

    /// Mines until the chain has decided every batch.
    pub(crate) async fn quiet(&self, signer: &Signer) {
        eventually("every batch is decided", async || {
            self.advance().await;
            signer.scheduler.get("/health/ready").await.body["chains"][0]["undecided"] == 0
        })
        .await;
    }

    /// Who was charged for which period, as the contract's events tell it, by id.
    pub(crate) async fn charges(&self) -> Vec<(u64, u32)> {
        let asked = json!([{
            "address": self.merchant.billing, "fromBlock": "0x0",
            "topics": [Billing::SubscriptionBilling::SIGNATURE_HASH],
        }]);
        let logs: Vec<Log> = self.anvil.call("eth_getLogs", asked).await;
        let told = logs.iter().map(|log| Billing::SubscriptionBilling::decode_log(&log.inner));
        let mut told: Vec<_> =
            told.map(|log| log.unwrap()).map(|e| (e.subscribeId, e.period)).collect();
        told.sort_unstable();
        told
    }

    /// How many transactions the billing account has sent: those in blocks, and those with a place
    /// in the pool.
    pub(crate) async fn sent(&self) -> [U256; 2] {
        let asked = ["latest", "pending"].map(|block| json!([signer_address(), block]));
        let sent = self.anvil.many("eth_getTransactionCount", asked.to_vec()).await;
        sent.try_into().unwrap()
    }

    /// Waits until the Signer has looked at the chain as it is now.
    pub(crate) async fn noticed(&self) {
        let now = Instant::now();
        // Looks follow one another, each asks once or twice: the second knows the first.
        let looks = async || self.proxy.asked_since(LOOK, now) >= 4;
        eventually("the Signer looks at the chain", looks).await;
    }

    /// Mines until a billing has ended, and tells how.
    pub(crate) async fn settled(&self, signer: &Signer, id: &str) -> Value {
        for _ in 0..ASKED_AT_MOST {
            let heard = signer.scheduler.billings(id).await;
            let billing = &heard.body["data"][0];
            if heard.code() == 1 && billing["state"] != "open" {
                return billing.clone();
            }
            self.advance().await;
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the billing {id} never ended:\n{}", signer.log());
    }
}

/// What is on the chain when the Signer comes.
struct Settlement {
    merchant: Merchant,
    token: Token,
    plan: Plan,
    people: Vec<Subscriber>,
    multicall: Address,
}

impl Settlement {
    async fn on(anvil: &Anvil, founding: &Founding) -> Self {
        let rpc = anvil.rpc();
        let merchant = Merchant::open(&rpc, signer_address()).await;
        let token = Token::deploy(&rpc, founding.token, 18).await;
        let plan = merchant.agree(7, merchant.monthly(&token, PRICE)).await;
        let people = merchant.crowd(&plan, founding.people).await;
        let multicall = if founding.multicall {
            deploy(&rpc, "Multicall3", vec![]).await
        } else {
            Address::repeat_byte(0xEE)
        };
        rpc.fund(&[signer_address()]).await;
        let rich = json!([signer_address(), U256::from(1_000_000_000_000_000_000_000_u128)]);
        rpc.call::<Value>("anvil_setBalance", rich).await;
        Self { merchant, token, plan, people, multicall }
    }
}

/// An address in the spelling of a family.
pub(crate) fn spell(family: Family, address: Address) -> String {
    match family {
        Family::Evm => address.to_string(),
        Family::Tron => base58(&address),
    }
}

/// An entry of the chargeable list.
pub(crate) fn entry(who: &Subscriber, period: u32) -> Value {
    let amount: Value = serde_json::from_str(&who.plan.terms.amount.to_string()).unwrap();
    json!({
        "subscribeId": who.subscribe_id,
        "chainId": CHAIN,
        "planId": who.plan.id,
        "planVersion": who.plan.version,
        "userHash": who.user_hash,
        "userWallet": spell(who.plan.family, who.wallet),
        "tokenAddress": spell(who.plan.family, who.plan.terms.token),
        "period": period,
        "amount": amount,
    })
}

/// The ids and codes of a refusal, as [`Heard::failures`] gives them.
pub(crate) fn refusals(rows: &[(&Subscriber, &str)]) -> Vec<(i64, String)> {
    let row = |(who, code): &(&Subscriber, &str)| {
        (i64::try_from(who.subscribe_id).unwrap(), (*code).to_owned())
    };
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.sort();
    rows
}

/// The failure object of one subscription.
pub(crate) fn failure<'a>(heard: &'a Heard, who: &Subscriber) -> &'a Value {
    let list = if heard.code() == 2 { &heard.body["data"] } else { &heard.body["data"]["failed"] };
    let found =
        list.as_array().into_iter().flatten().find(|f| f["subscribeId"] == who.subscribe_id);
    found.unwrap_or_else(|| panic!("{} is not refused: {heard:?}", who.subscribe_id))
}
