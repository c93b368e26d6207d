//! A node that plays recordings, and an adapter that is connected to it.

use super::recorded::billing;
use super::*;
use crate::Signatory;
use alloy::primitives::U256;
use billing::{Charge, Entry, Family, Period, PlatformChainId, Scalar, Values};
use config::{ChainConfig, ChainKeys, FamilyConfig, KeyRef, NewWork, PolicyConfig};
use contract::Profile;
use host::clock::Clock;
use serde_json::json;
use std::sync::Arc;

/// The head in the recording of node and blocks (01), Unix ms.
pub(super) const HEAD_MS: u64 = 1_795_253_454_000;
pub(super) const SOLID_ID: &str =
    "000000000000003d53c7513db7aa4f7d41835e9832b882fd9b521d4405c36364";
pub(super) const GENESIS_ID: &str =
    "0000000000000000d7cf487df380a00bf740b3c1e5c11e0cac48146729d6a48c";

pub(super) fn now() -> i64 {
    i64::try_from(HEAD_MS).unwrap() + 2_000
}

pub(super) fn recorded_answer(file: &str, path: &str, asked: &Value) -> String {
    let found = exchanges().iter().find(|exchange| {
        exchange.place.starts_with(file) && exchange.path == path && exchange.asked == *asked
    });
    found.unwrap_or_else(|| panic!("{file} {path} {asked}")).sent.clone()
}

/// A node at the head of 01, with the signer's account of 03.
pub(super) fn node() -> Arc<Double> {
    let double = Arc::new(Double::default());
    let newest = json!({ "detail": false });
    let genesis = json!({ "detail": false, "id_or_num": "0" });
    let first = recorded_answer("01", "/wallet/getblock", &genesis);
    for service in ["wallet", "walletsolidity"] {
        let path = format!("/{service}/getblock");
        double.says(&path, 200, &recorded_answer("01", &path, &newest));
        double.says(&format!("{path} {genesis}"), 200, &first);
    }
    let stake = "4164275ba38bf14de95af49894e06276ec189753b1";
    let signer = tron_primitives::address::to_hex(key(&"07".repeat(32)).address());
    let rename = |answer: String| answer.replace(stake, &signer);
    for question in ["getaccount", "getaccountresource"] {
        let path = format!("/wallet/{question}");
        let answer = recorded_answer("03", &path, &json!({ "address": stake }));
        double.says(&path, 200, &rename(answer));
    }
    for question in ["getchainparameters", "getnextmaintenancetime"] {
        let path = format!("/wallet/{question}");
        let answer = exchanges().iter().find(|exchange| exchange.path == path).unwrap();
        double.says(&path, 200, &answer.sent);
    }
    let contract = exchanges().iter().find(|exchange| {
        exchange.path == "/wallet/getcontractinfo" && exchange.sent.contains("runtimecode")
    });
    double.says("/wallet/getcontractinfo", 200, &contract.unwrap().sent);
    double
}

pub(super) fn config(full: &str, solidity: &str) -> TvmConfig {
    TvmConfig { witnesses: Some(forged::maker()), ..recorded::config(full, solidity) }
}

pub(super) fn profile() -> Profile {
    Profile::parse(&billing(), Family::Tvm).unwrap()
}

pub(super) fn parts(url: &str) -> (SigningAccount, TronParts) {
    let config = config(url, url);
    let account = account(key(&"07".repeat(32)), profile(), &config);
    (account, TronParts::new(client(url).0, config.into()))
}

pub(super) fn account(key: Arc<Key>, profile: Profile, config: &TvmConfig) -> SigningAccount {
    account_of(&Signatory::Key(key), profile, &FamilyConfig::Tvm(Arc::new(config.clone())))
}

pub(super) fn account_of(
    signatory: &Signatory,
    profile: Profile,
    family: &FamilyConfig,
) -> SigningAccount {
    let chain = ChainConfig {
        platform_id: PlatformChainId(195),
        name: "tron".to_owned(),
        test: true,
        default: false,
        new_work: NewWork::Taken,
        gas_warn_billings: 0,
        explorer: None,
        keys: ChainKeys::one(KeyRef::Keystore("not used".to_owned())),
        policy: PolicyConfig::default(),
        family: family.clone(),
    };
    SigningAccount::new(&chain, profile, signatory, Clock::telling(now))
}

pub(super) fn charge(n: u8) -> Charge {
    let fields = [
        ("subscribeId", Scalar::Number(n.to_string().into())),
        ("planId", Scalar::Number("7".into())),
        ("userHash", Scalar::Text(hex::encode([n; 32]).into())),
        ("amount", Scalar::Number("100".into())),
    ];
    let fields = fields.into_iter().map(|(name, value)| (name.into(), value));
    Charge {
        entry: Entry::parse(fields.collect()).unwrap().admitted(Values::new()),
        period: Period::Guarded,
        amount: U256::from(100),
        wallet: Address::repeat_byte(n),
        token: Address::repeat_byte(9),
    }
}

pub(super) async fn connected(url: &str) -> TronChain {
    let (account, parts) = parts(url);
    TronChain::connect(account, parts).await.unwrap()
}
