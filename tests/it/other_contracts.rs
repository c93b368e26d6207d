//! The awkward contracts, the aggregators, the committed artefacts, and the chain's own levers.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use alloy::{
    consensus::{SignableTransaction as _, TxEip1559},
    eips::Encodable2718 as _,
    primitives::{Address, B256, Bytes, U256, keccak256},
    rpc::types::TransactionRequest,
    signers::{SignerSync as _, local::PrivateKeySigner},
    sol_types::{SolCall as _, SolError as _, SolEvent as _, SolValue},
};
use serde_json::json;

use crate::world::{
    anvil::{Anvil, Mining, Options, Rpc},
    contracts::{
        AnyToken, CollectOne, Kind, Merchant, Multicall3, PlainCharge, Token, deploy, somebody,
    },
};

#[tokio::test]
async fn plain_charge_fails_as_a_whole_and_forgets_what_it_charged() {
    let chain = Anvil::start().await;
    let token = Token::deploy(&chain, Kind::Plain, 6).await;
    let payee = somebody("payee");
    let contract = deploy(&chain, "PlainCharge", (token.address, payee).abi_encode()).await;
    let anybody = chain.accounts[1];
    let users: Vec<B256> = ["rich", "poor"].map(keccak256).to_vec();
    for user in &users {
        let wallet = Address::from_word(*user);
        chain.fund(&[wallet]).await;
        token.approve(wallet, contract, U256::MAX).await;
        let call = PlainCharge::setWalletCall { userHash: *user, wallet };
        chain.execute(anybody, contract, &call).await;
    }
    token.set_balance(Address::from_word(users[0]), 100).await;

    let amounts = vec![U256::from(10); 2];
    let both = PlainCharge::chargeCall { userHash: users.clone(), amount: amounts.clone() };
    let error = PlainCharge::CannotPay { index: U256::from(1) };
    assert_eq!(chain.refusal(anybody, contract, &both).await, error.abi_encode());

    let one =
        PlainCharge::chargeCall { userHash: users[..1].to_vec(), amount: amounts[..1].to_vec() };
    chain.execute(anybody, contract, &one).await;
    let receipt = chain.execute(anybody, contract, &one).await;
    let told =
        receipt.logs().iter().find_map(|log| PlainCharge::Charged::decode_log(&log.inner).ok());
    assert_eq!(told.unwrap().amount, U256::from(10));
    assert_eq!(token.balance(payee).await, U256::from(20));
}

#[tokio::test]
async fn collect_one_charges_the_period_that_the_clock_says() {
    let chain = Anvil::start().await;
    let token = Token::deploy(&chain, Kind::Plain, 6).await;
    let contract = deploy(&chain, "CollectOne", vec![]).await;
    let (wallet, payee, user) = (somebody("member"), somebody("payee"), keccak256("member"));
    let anybody = chain.accounts[1];
    chain.fund(&[wallet]).await;
    token.set_balance(wallet, 25).await;
    token.approve(wallet, contract, U256::MAX).await;
    let plan = CollectOne::Plan { token: token.address, payee, amount: 10, interval: 60 };
    chain.execute(anybody, contract, &CollectOne::setPlanCall { planId: 7, plan }).await;
    chain.execute(wallet, contract, &CollectOne::joinCall { planId: 7, userHash: user }).await;

    let collect = CollectOne::collectCall { planId: 7, userHash: user };
    let receipt = chain.execute(anybody, contract, &collect).await;
    let told =
        receipt.logs().iter().find_map(|log| CollectOne::Collected::decode_log(&log.inner).ok());
    assert_eq!(told.unwrap().period, 1);
    let refused =
        async |error: Vec<u8>| assert_eq!(chain.refusal(anybody, contract, &collect).await, error);
    refused(CollectOne::NotDue {}.abi_encode()).await;
    chain.pass(60).await;
    let terms = chain.view(contract, &CollectOne::termsCall { planId: 7, userHash: user }).await;
    assert_eq!((terms.userWallet, terms.tokenAddress), (wallet, token.address));
    assert_eq!((terms.amount, terms.period), (10, 2));
    chain.execute(anybody, contract, &collect).await;
    chain.pass(60).await;
    refused(CollectOne::CannotPay {}.abi_encode()).await;
    chain.execute(wallet, contract, &CollectOne::quitCall { planId: 7, userHash: user }).await;
    refused(CollectOne::Cancelled {}.abi_encode()).await;
    let stranger = CollectOne::collectCall { planId: 8, userHash: user };
    let said = chain.refusal(anybody, contract, &stranger).await;
    assert_eq!(said, CollectOne::NotFound {}.abi_encode());
}

/// `eth_call` without `to`: the constructor's answer.
async fn deployless(chain: &Anvil, calls: &[Multicall3::Call3]) -> Vec<Multicall3::Result> {
    let code = include_str!("../../crates/chain/src/evm/Aggregate.hex");
    let code: Bytes = code.trim().parse().unwrap();
    let data = [code.to_vec(), calls.to_vec().abi_encode()].concat();
    let asked = TransactionRequest::default().input(Bytes::from(data).into());
    let answer: Bytes = chain.call("eth_call", json!([asked, "latest"])).await;
    Vec::<Multicall3::Result>::abi_decode(&answer).unwrap()
}

fn balance_of(token: &Token, who: Address) -> Multicall3::Call3 {
    let question = AnyToken::balanceOfCall { who }.abi_encode();
    Multicall3::Call3 { target: token.address, allowFailure: true, callData: question.into() }
}

#[tokio::test]
async fn the_deployless_aggregate_answers_as_the_deployed_one() {
    let chain = Anvil::start().await;
    let token = Token::deploy(&chain, Kind::Plain, 18).await;
    let bomb = Token::deploy(&chain, Kind::Bomb, 18).await;
    let multicall = deploy(&chain, "Multicall3", vec![]).await;
    let wallets = ["a", "b", "c"].map(somebody);
    for (wallet, value) in wallets.iter().zip(5..) {
        token.set_balance(*wallet, value).await;
    }
    let mut calls: Vec<_> = wallets.iter().map(|who| balance_of(&token, *who)).collect();
    calls.push(Multicall3::Call3 { callData: vec![1, 2, 3, 4].into(), ..calls[0].clone() });
    calls.push(balance_of(&token, multicall));

    let deployed =
        chain.view(multicall, &Multicall3::aggregate3Call { calls: calls.clone() }).await;
    let without = deployless(&chain, &calls).await;
    let plain = |results: &[Multicall3::Result]| -> Vec<_> {
        results.iter().map(|result| (result.success, result.returnData.clone())).collect()
    };
    assert_eq!(plain(&deployed), plain(&without));
    assert_eq!(U256::from_be_slice(&without[2].returnData), U256::from(7));
    assert!(!without[3].success);

    // A bomb is a failed call among good ones.
    bomb.tell(&AnyToken::setModeCall { mode: 4 }).await;
    let call = Bytes::from(alloy::primitives::hex!("5c975abb"));
    calls[1] = Multicall3::Call3 { target: bomb.address, allowFailure: true, callData: call };
    let bombed = deployless(&chain, &calls).await;
    assert_eq!(
        bombed.iter().map(|r| r.success).collect::<Vec<_>>(),
        [true, false, true, false, true]
    );
}

#[tokio::test]
async fn the_deployless_aggregate_takes_150_reads() {
    let chain = Anvil::start().await;
    let token = Token::deploy(&chain, Kind::Plain, 18).await;
    let calls: Vec<_> = (0..150).map(|_| balance_of(&token, somebody("a"))).collect();
    assert_eq!(deployless(&chain, &calls).await.len(), 150);
}

#[test]
fn the_committed_artefacts_are_what_their_sources_compile_to() {
    let build = Command::new("node")
        .args(["tests/contracts/build.mjs", "--check"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("run ./test once: it installs the compiler");
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
}

#[tokio::test]
async fn a_hundred_subscribers_are_there_in_seconds() {
    let chain = Anvil::start().await;
    let merchant = Merchant::open(&chain, chain.accounts[5]).await;
    let token = Token::deploy(&chain, Kind::NoReturn, 6).await;
    let plan = merchant.agree(1, merchant.monthly(&token, 1_000_000)).await;
    let started = Instant::now();
    let crowd = merchant.crowd(&plan, 100).await;
    assert_eq!(crowd.len(), 100);
    // It takes 0.4 s; the rest is for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_chain_with_a_block_time_mines_by_itself() {
    let mining = Mining::EverySeconds(1);
    let extra = vec!["--chain-id".to_owned(), "4242".to_owned()];
    let chain = Anvil::with(Options { mining, extra }).await;
    let second_client = Rpc::new(&chain.url);
    assert_eq!(second_client.chain_id().await, 4242);
    let pay = TransactionRequest::default().from(chain.accounts[1]).to(somebody("receiver"));
    assert!(second_client.send(pay).await.status());
}

#[tokio::test]
async fn the_chain_can_freeze_forget_and_reorganise() {
    let chain = Anvil::with(Options { mining: Mining::OnRequest, ..Options::default() }).await;
    let [from, to] = [chain.accounts[1], somebody("receiver")];
    let pay =
        TransactionRequest::default().from(from).to(to).value(U256::from(1)).gas_limit(21_000);
    let hash: B256 = chain.call("eth_sendTransaction", json!([pay])).await;
    chain.drop_transaction(hash).await;
    chain.mine(1).await;
    assert_eq!(chain.call::<U256>("eth_getBalance", json!([to, "latest"])).await, U256::ZERO);

    let hash: B256 = chain.call("eth_sendTransaction", json!([pay])).await;
    chain.mine(1).await;
    assert!(chain.receipts(&[hash]).await[0].status());
    let head = chain.block_number().await;
    chain.reorg(1).await;
    assert_eq!(chain.block_number().await, head);
    assert_eq!(chain.call::<U256>("eth_getBalance", json!([to, "latest"])).await, U256::ZERO);

    chain.set_automine(true).await;
    assert!(chain.send(pay).await.status());
    chain.mine(3).await;
    let final_block: serde_json::Value =
        chain.call("eth_getBlockByNumber", json!(["finalized", false])).await;
    let number: U256 = serde_json::from_value(final_block["number"].clone()).unwrap();
    assert_eq!(number.to::<u64>() + 2, chain.block_number().await);
}

#[tokio::test]
async fn bytes_signed_elsewhere_are_taken_although_the_node_impersonates() {
    let chain = Anvil::start().await;
    let signer = PrivateKeySigner::from_bytes(&keccak256("biller")).unwrap();
    chain.fund(&[signer.address()]).await;
    let transaction = TxEip1559 {
        chain_id: chain.chain_id().await,
        gas_limit: 21_000,
        max_fee_per_gas: 10_000_000_000,
        to: somebody("receiver").into(),
        value: U256::from(1),
        ..TxEip1559::default()
    };
    let signature = signer.sign_hash_sync(&transaction.signature_hash()).unwrap();
    let signed = transaction.into_signed(signature);
    let raw = Bytes::from(signed.encoded_2718());
    let hash: B256 = chain.call("eth_sendRawTransaction", json!([raw])).await;
    assert_eq!(hash, *signed.hash());
    assert_eq!(chain.receipts(&[hash]).await[0].from, signer.address());
}
