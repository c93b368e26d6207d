//! The contracts of `tests/contracts` on a chain: tokens, the reference contract with a merchant, its
//! plans and subscribers, and the two awkward contracts.

use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    rpc::types::{TransactionReceipt, TransactionRequest},
    signers::{SignerSync as _, local::PrivateKeySigner},
    sol_types::{SolCall as _, SolEvent as _, SolValue as _},
};
use serde_json::Value;

use super::anvil::{Family, Rpc};

mod abi;

pub(crate) use abi::{AnyToken, Billing, CollectOne, Multicall3, PlainCharge};

/// Deploys a committed artefact from the chain's first account. `arguments` are the constructor's,
/// ABI-encoded.
pub(crate) async fn deploy(rpc: &Rpc, contract: &str, arguments: Vec<u8>) -> Address {
    let path = format!("{}/tests/contracts/artifacts/{contract}.json", env!("CARGO_MANIFEST_DIR"));
    let artefact: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("the artefact is committed")).unwrap();
    let code: Bytes = serde_json::from_value(artefact["bytecode"].clone()).unwrap();
    let accounts: Vec<Address> = rpc.call("eth_accounts", Value::Array(vec![])).await;
    let creation = TransactionRequest::default()
        .from(accounts[0])
        .input(Bytes::from([code.to_vec(), arguments].concat()).into());
    let receipt = rpc
        .send(TransactionRequest { to: Some(alloy::primitives::TxKind::Create), ..creation })
        .await;
    assert!(receipt.status(), "{contract} was not deployed");
    receipt.contract_address.unwrap()
}

/// The last twenty bytes of the name's hash: a wallet that nobody has the key of.
pub(crate) fn somebody(name: &str) -> Address {
    Address::from_word(keccak256(name))
}

/// How a token behaves. `tests/contracts/Tokens.sol` has the details.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Plain,
    NoReturn,
    False,
    Fee,
    Bomb,
    Silent,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    rpc: Rpc,
    pub(crate) address: Address,
}

impl Token {
    pub(crate) async fn deploy(rpc: &Rpc, kind: Kind, decimals: u8) -> Self {
        let arguments = U256::from(decimals).abi_encode();
        let address = deploy(rpc, &format!("{kind:?}Token"), arguments).await;
        Self { rpc: rpc.clone(), address }
    }

    pub(crate) async fn balance(&self, who: Address) -> U256 {
        self.rpc.view(self.address, &AnyToken::balanceOfCall { who }).await
    }

    /// Gives somebody exactly this much.
    pub(crate) async fn set_balance(&self, who: Address, value: u128) {
        self.tell(&AnyToken::setBalanceCall { who, value: U256::from(value) }).await;
    }

    pub(crate) async fn approve(&self, owner: Address, spender: Address, value: U256) {
        self.rpc.execute(owner, self.address, &AnyToken::approveCall { spender, value }).await;
    }

    /// Only for `Kind::NoReturn`.
    pub(crate) async fn set_paused(&self, paused: bool) {
        self.tell(&AnyToken::setPausedCall { paused }).await;
    }

    /// Only for `Kind::NoReturn`.
    pub(crate) async fn block(&self, who: Address) {
        self.tell(&AnyToken::setBlackListedCall { who, blocked: true }).await;
    }

    /// Only for `Kind::NoReturn`.
    pub(crate) async fn unblock(&self, who: Address) {
        self.tell(&AnyToken::setBlackListedCall { who, blocked: false }).await;
    }

    /// Any of the setters that only one kind of token has. Anybody may call them.
    pub(crate) async fn tell<C: alloy::sol_types::SolCall>(&self, call: &C) {
        let anybody = somebody("anybody");
        self.rpc.fund(&[anybody]).await;
        self.rpc.execute(anybody, self.address, call).await;
    }
}

/// One approved plan version.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) id: u64,
    pub(crate) version: u32,
    pub(crate) terms: Billing::Terms,
    pub(crate) family: Family,
}

#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    pub(crate) subscribe_id: u64,
    pub(crate) user_hash: B256,
    pub(crate) wallet: Address,
    pub(crate) plan: Plan,
}

impl Subscriber {
    /// What the scheduler would ask to be charged.
    pub(crate) fn item(&self, period: u32) -> Billing::Item {
        Billing::Item {
            subscribeId: self.subscribe_id,
            planId: self.plan.id,
            planVersion: self.plan.version,
            userHash: self.user_hash,
            period,
            amount: self.plan.terms.amount,
        }
    }
}

/// A merchant on a reference contract of its own.
#[derive(Clone, Debug)]
pub(crate) struct Merchant {
    pub(crate) rpc: Rpc,
    pub(crate) billing: Address,
    pub(crate) mer_key: Address,
    pub(crate) owner: Address,
    pub(crate) admins: [Address; 2],
    pub(crate) biller: Address,
    pub(crate) payee: Address,
    pub(crate) issuer: PrivateKeySigner,
}

impl Merchant {
    /// Deploys the reference contract and registers a merchant that this address bills for.
    pub(crate) async fn open(rpc: &Rpc, biller: Address) -> Self {
        let merchant = Self {
            rpc: rpc.clone(),
            billing: deploy(rpc, "Billing", vec![]).await,
            mer_key: somebody("merchant"),
            owner: somebody("owner"),
            admins: [somebody("first admin"), somebody("second admin")],
            biller,
            payee: somebody("payee"),
            issuer: PrivateKeySigner::from_bytes(&keccak256("issuer")).unwrap(),
        };
        let Self { mer_key, owner, admins, .. } = merchant;
        rpc.fund(&[mer_key, owner, admins[0], admins[1]]).await;
        merchant.execute(mer_key, &Billing::registerMerchantCall { owner }).await;
        for who in admins {
            let call = Billing::setAdminCall { merKey: mer_key, who, allowed: true };
            merchant.execute(owner, &call).await;
        }
        let call = Billing::setBillerCall { merKey: mer_key, who: biller, allowed: true };
        merchant.execute(owner, &call).await;
        let who = merchant.issuer.address();
        let call = Billing::setIssuerCall { merKey: mer_key, who, allowed: true };
        merchant.execute(owner, &call).await;
        merchant
    }

    /// The terms of a monthly plan without end, paid to the merchant's payee.
    pub(crate) fn monthly(&self, token: &Token, amount: u128) -> Billing::Terms {
        Billing::Terms {
            token: token.address,
            amount,
            payee: self.payee,
            interval: 30 * 24 * 60 * 60,
            periods: 0,
            delay: 0,
        }
    }

    /// One admin proposes, the other approves.
    pub(crate) async fn agree(&self, id: u64, terms: Billing::Terms) -> Plan {
        let version = self.propose(id, terms.clone()).await;
        let call = Billing::approvePlanCall { merKey: self.mer_key, planId: id, version };
        self.execute(self.admins[1], &call).await;
        Plan { id, version, terms, family: self.rpc.family() }
    }

    /// The version that the first admin's proposal got.
    pub(crate) async fn propose(&self, id: u64, terms: Billing::Terms) -> u32 {
        let call = Billing::proposePlanCall { merKey: self.mer_key, planId: id, terms };
        let version = self.rpc.view_as(self.admins[0], self.billing, &call).await;
        self.execute(self.admins[0], &call).await;
        version
    }

    /// Somebody new: numbered, so that ids, hashes and wallets differ.
    pub(crate) fn subscriber(plan: &Plan, number: u64) -> Subscriber {
        let name = format!("user {number} of plan {}", plan.id);
        Subscriber {
            subscribe_id: plan.id * 1_000_000 + number,
            user_hash: keccak256(&name),
            wallet: somebody(&name),
            plan: plan.clone(),
        }
    }

    /// Subscribes that many wallets, numbered from 1, each able to pay for a hundred periods.
    pub(crate) async fn crowd(&self, plan: &Plan, size: u64) -> Vec<Subscriber> {
        let crowd: Vec<_> = (1..=size).map(|number| Self::subscriber(plan, number)).collect();
        self.enrol(&crowd).await;
        crowd
    }

    /// Gives wallets tokens, lets them approve the contract without limit, and subscribes them.
    pub(crate) async fn enrol(&self, crowd: &[Subscriber]) {
        self.enrich(crowd).await;
        let chain = self.rpc.chain_id().await;
        let subscriptions = crowd
            .iter()
            .map(|who| {
                (who.wallet, self.billing, self.subscription(who, chain).abi_encode().into())
            })
            .collect();
        self.rpc.execute_all(subscriptions).await;
    }

    /// Coin, tokens for a hundred periods and an approval for each, without subscribing anybody.
    pub(crate) async fn enrich(&self, crowd: &[Subscriber]) {
        let wallets: Vec<_> = crowd.iter().map(|who| who.wallet).collect();
        self.rpc.fund(&wallets).await;
        let mut mints = vec![];
        let mut approvals = vec![];
        for who in crowd {
            let Billing::Terms { token, amount, .. } = who.plan.terms;
            let value = U256::from(amount) * U256::from(100);
            let mint = AnyToken::mintCall { to: who.wallet, value }.abi_encode();
            mints.push((who.wallet, token, mint.into()));
            let approve = AnyToken::approveCall { spender: self.billing, value: U256::MAX };
            approvals.push((who.wallet, token, approve.abi_encode().into()));
        }
        self.rpc.execute_all(mints).await;
        self.rpc.execute_all(approvals).await;
    }

    /// What the merchant offers to a subscriber; without end, since most tests do not care.
    pub(crate) fn offer(&self, who: &Subscriber) -> Billing::Offer {
        Billing::Offer {
            merKey: self.mer_key,
            planId: who.plan.id,
            planVersion: who.plan.version,
            userHash: who.user_hash,
            subscribeId: who.subscribe_id,
            wallet: who.wallet,
            expiry: U256::MAX,
        }
    }

    /// The offer, signed by the issuer. The digest is computed here and not asked of the contract.
    pub(crate) fn signed(&self, offer: Billing::Offer, chain_id: u64) -> Billing::subscribeCall {
        let domain = alloy::sol_types::eip712_domain! {
            name: "SubscriptionBilling",
            version: "1",
            chain_id: chain_id,
            verifying_contract: self.billing,
        };
        let digest = alloy::sol_types::SolStruct::eip712_signing_hash(&offer, &domain);
        let signature = self.issuer.sign_hash_sync(&digest).unwrap().as_bytes();
        Billing::subscribeCall { offer, signature: Bytes::from(signature) }
    }

    fn subscription(&self, who: &Subscriber, chain_id: u64) -> Billing::subscribeCall {
        self.signed(self.offer(who), chain_id)
    }

    /// The wallet leaves.
    pub(crate) async fn cancel(&self, who: &Subscriber) {
        let call = Billing::cancelCall {
            merKey: self.mer_key,
            planId: who.plan.id,
            userHash: who.user_hash,
        };
        self.execute(who.wallet, &call).await;
    }

    /// The call that charges these items within the next hour.
    pub(crate) async fn order(&self, items: &[Billing::Item]) -> Billing::processSubscribePlanCall {
        Billing::processSubscribePlanCall {
            merKey: self.mer_key,
            items: items.to_vec(),
            deadline: U256::from(self.rpc.now().await + 3600),
        }
    }

    /// Bills, and checks that the simulation before it told the truth.
    pub(crate) async fn bill(&self, items: &[Billing::Item]) -> Vec<u8> {
        let call = self.order(items).await;
        let foretold = self.rpc.view_as(self.biller, self.billing, &call).await;
        let reasons = outcomes(&self.execute(self.biller, &call).await);
        assert_eq!(foretold, reasons, "the simulation and the events differ");
        reasons
    }

    /// Sends a call to the contract, which must succeed.
    pub(crate) async fn execute<C: alloy::sol_types::SolCall>(
        &self,
        from: Address,
        call: &C,
    ) -> TransactionReceipt {
        self.rpc.execute(from, self.billing, call).await
    }

    pub(crate) async fn subscribe_of(&self, who: &Subscriber) -> Billing::subscribeOfReturn {
        let call = Billing::subscribeOfCall {
            merKey: self.mer_key,
            planId: who.plan.id,
            userHash: who.user_hash,
        };
        self.rpc.view(self.billing, &call).await
    }

    pub(crate) async fn was_charged(&self, who: &Subscriber, period: u32) -> bool {
        let call = Billing::wasChargedCall {
            merKey: self.mer_key,
            planId: who.plan.id,
            userHash: who.user_hash,
            period,
        };
        self.rpc.view(self.billing, &call).await
    }
}

/// One reason per item, 0 for charged, as the events tell it.
pub(crate) fn outcomes(receipt: &TransactionReceipt) -> Vec<u8> {
    let logs = receipt.logs().iter().map(|log| &log.inner);
    logs.filter_map(|log| {
        let charged = Billing::SubscriptionBilling::decode_log(log).map(|_| 0);
        let failed = Billing::SubscriptionBillingFailed::decode_log(log).map(|log| log.reason);
        charged.or(failed).ok()
    })
    .collect()
}
