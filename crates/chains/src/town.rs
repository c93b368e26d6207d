//! A merchant on a chain: contracts, admins, an approved plan, and subscribers, set up by signed transactions.

mod evm;
mod ground;
mod tron;

pub use ground::{Call, Ground, wallet};

use crate::contracts::{self, Billing, Token};
use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::{SolCall, SolStruct as _, eip712_domain};

/// The id of the plan that people are on.
pub const PLAN: u64 = 7;

/// The id of the plan whose first month is due a month after subscribing.
pub const TRIAL: u64 = 8;

/// A month of the plans (s).
const MONTH: u32 = 30 * 86_400;

/// The town that is to be set up.
#[derive(Clone, Copy, Debug)]
pub struct Founding {
    /// Account that may bill.
    pub biller: Address,
    /// Decimals of the token.
    pub decimals: u8,
    /// Price of a month on the plan (base units).
    pub price: u128,
    /// Number of subscribers. Each allows everything and holds tokens for a hundred months.
    pub people: u64,
    /// The number of the one who is on the plan with a free month, from 1; 0 if nobody is.
    pub trial: u64,
}

/// Somebody with a wallet who is to be charged.
#[derive(Clone, Debug)]
pub struct Person {
    /// The plan.
    pub plan: u64,
    /// The subscription.
    pub subscribe_id: u64,
    /// The platform's name for the user.
    pub user_hash: B256,
    /// The wallet that pays.
    pub wallet: PrivateKeySigner,
}

/// A merchant and its subscribers.
#[derive(Clone, Debug)]
pub struct Town {
    /// The reference contract.
    pub billing: Address,
    /// Multicall3.
    pub multicall: Address,
    /// The token of the plan.
    pub token: Address,
    /// The merchant's id on the contract.
    pub mer_key: Address,
    /// Address that receives the money.
    pub payee: Address,
    /// Price of a month (base units).
    pub price: u128,
    /// The approved version of each plan.
    pub version: u32,
    /// Those who subscribed.
    pub people: Vec<Person>,
}

impl Town {
    /// Deploys, registers, agrees on the plan, and subscribes everybody.
    pub fn found(ground: &dyn Ground, wanted: Founding) -> Self {
        Self::found_numbered(ground, wanted, PLAN * 1_000_000)
    }

    /// The same with subscriptions that are numbered from the one after `before`: two towns may want different numbers.
    pub fn found_numbered(ground: &dyn Ground, wanted: Founding, before: u64) -> Self {
        let [merchant, owner, issuer] = ["merchant", "owner", "issuer"].map(wallet);
        let admins = ["first admin", "second admin"].map(wallet);
        let people: Vec<_> = (1..=wanted.people)
            .map(|number| {
                let plan = if number == wanted.trial { TRIAL } else { PLAN };
                Person { subscribe_id: before + number, ..Person::new(number, plan) }
            })
            .collect();
        let staff = [&merchant, &owner, &admins[0], &admins[1]];
        let wallets = people.iter().map(|person| &person.wallet);
        let mut rich: Vec<_> =
            staff.into_iter().chain(wallets).map(PrivateKeySigner::address).collect();
        rich.push(wanted.biller);
        ground.endow(&rich);
        let town = Self {
            billing: ground.deploy(&owner, contracts::billing()),
            multicall: ground.deploy(&owner, contracts::multicall()),
            token: ground.deploy(&owner, contracts::token(wanted.decimals)),
            mer_key: merchant.address(),
            payee: wallet("payee").address(),
            price: wanted.price,
            version: 1,
            people,
        };
        town.register(
            ground,
            [&merchant, &owner],
            [&admins[0], &admins[1]],
            [wanted.biller, issuer.address()],
        );
        town.enrol(ground, &issuer);
        town
    }

    fn register(
        &self,
        ground: &dyn Ground,
        [merchant, owner]: [&PrivateKeySigner; 2],
        admins: [&PrivateKeySigner; 2],
        [biller, issuer]: [Address; 2],
    ) {
        let (mer_key, allowed) = (self.mer_key, true);
        let register = Billing::registerMerchantCall { owner: owner.address() };
        ground.execute(vec![self.tell(merchant, &register)]);
        let admin = |who: &PrivateKeySigner| {
            let who = who.address();
            self.tell(owner, &Billing::setAdminCall { merKey: mer_key, who, allowed })
        };
        let biller = Billing::setBillerCall { merKey: mer_key, who: biller, allowed };
        let issuer = Billing::setIssuerCall { merKey: mer_key, who: issuer, allowed };
        let staff = [admin(admins[0]), admin(admins[1])];
        let roles = [self.tell(owner, &biller), self.tell(owner, &issuer)];
        ground.execute(staff.into_iter().chain(roles).collect());
        for (plan, delay) in [(PLAN, 0), (TRIAL, MONTH)] {
            self.agree(ground, admins, plan, delay);
        }
    }

    /// One admin proposes, the other approves.
    fn agree(
        &self,
        ground: &dyn Ground,
        [first, second]: [&PrivateKeySigner; 2],
        plan: u64,
        delay: u32,
    ) {
        let (token, amount, payee) = (self.token, self.price, self.payee);
        let terms = Billing::Terms { token, amount, payee, interval: MONTH, periods: 0, delay };
        let (mer_key, version) = (self.mer_key, self.version);
        let propose = Billing::proposePlanCall { merKey: mer_key, planId: plan, terms };
        ground.execute(vec![self.tell(first, &propose)]);
        let approve = Billing::approvePlanCall { merKey: mer_key, planId: plan, version };
        ground.execute(vec![self.tell(second, &approve)]);
    }

    fn enrol(&self, ground: &dyn Ground, issuer: &PrivateKeySigner) {
        let mut calls = vec![];
        for person in &self.people {
            let (to, value) = (person.wallet.address(), U256::from(self.price) * U256::from(100));
            let mint = Token::mintCall { to, value };
            calls.push(Call::new(&person.wallet, self.token, &mint));
            calls.push(self.allowance(person, U256::MAX));
            calls.push(self.tell(&person.wallet, &self.offered(ground, issuer, person)));
        }
        ground.execute(calls);
    }

    /// The subscription that the merchant's issuer signed for a wallet (EIP-712).
    fn offered(
        &self,
        ground: &dyn Ground,
        issuer: &PrivateKeySigner,
        person: &Person,
    ) -> Billing::subscribeCall {
        let offer = Billing::Offer {
            merKey: self.mer_key,
            planId: person.plan,
            planVersion: self.version,
            userHash: person.user_hash,
            subscribeId: person.subscribe_id,
            wallet: person.wallet.address(),
            expiry: U256::MAX,
        };
        let domain = eip712_domain! {
            name: "SubscriptionBilling",
            version: "1",
            chain_id: ground.chain_id(),
            verifying_contract: self.billing,
        };
        let digest = offer.eip712_signing_hash(&domain);
        let signature = issuer.sign_hash_sync(&digest).expect("a key signs any digest");
        Billing::subscribeCall { offer, signature: signature.as_bytes().into() }
    }

    /// A call to the reference contract.
    fn tell(&self, from: &PrivateKeySigner, call: &impl SolCall) -> Call {
        Call::new(from, self.billing, call)
    }

    /// The wallet allows the contract to take this much.
    pub fn allowance(&self, person: &Person, value: U256) -> Call {
        let approve = Token::approveCall { spender: self.billing, value };
        Call::new(&person.wallet, self.token, &approve)
    }

    /// Makes the wallet hold exactly this much.
    pub fn holding(&self, person: &Person, value: U256) -> Call {
        let who = person.wallet.address();
        Call::new(&wallet("owner"), self.token, &Token::setBalanceCall { who, value })
    }

    /// The token's owner blocks the wallet.
    pub fn block(&self, person: &Person) -> Call {
        let who = person.wallet.address();
        let block = Token::setBlackListedCall { who, blocked: true };
        Call::new(&wallet("owner"), self.token, &block)
    }

    /// The subscriber leaves.
    pub fn cancel(&self, person: &Person) -> Call {
        let (mer_key, user) = (self.mer_key, person.user_hash);
        let cancel = Billing::cancelCall { merKey: mer_key, planId: person.plan, userHash: user };
        self.tell(&person.wallet, &cancel)
    }

    /// Returns the tokens that somebody holds (base units).
    pub fn balance(&self, ground: &dyn Ground, who: Address) -> U256 {
        let answer = ground.view(self.token, Token::balanceOfCall(who).abi_encode().into());
        U256::try_from_be_slice(&answer).unwrap_or_default()
    }

    /// Returns true if the contract remembers the charge of a period.
    pub fn was_charged(&self, ground: &dyn Ground, person: &Person, period: u32) -> bool {
        let (mer_key, user) = (self.mer_key, person.user_hash);
        let asked = Billing::wasChargedCall {
            merKey: mer_key,
            planId: person.plan,
            userHash: user,
            period,
        };
        let answer = ground.view(self.billing, asked.abi_encode().into());
        U256::try_from_be_slice(&answer) == Some(U256::ONE)
    }
}

impl Person {
    /// The subscriber with a number, who has ids and a wallet of their own.
    fn new(number: u64, plan: u64) -> Self {
        let name = format!("subscriber {number}");
        Self {
            plan,
            subscribe_id: PLAN * 1_000_000 + number,
            user_hash: keccak256(&name),
            wallet: wallet(&name),
        }
    }
}
