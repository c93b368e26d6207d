//! What the adapter reads before anything is signed, and what it foretells.

use super::*;
use alloy::consensus::{Transaction as _, TxEnvelope};
use alloy::eips::Decodable2718 as _;

#[tokio::test]
async fn what_the_preflight_foretells_is_what_happens() {
    let shop = Shop::open(8).await;
    let chain = shop.adapter(|_| {}).await;
    shop.token.set_balance(shop.crowd[1].wallet, 5).await;
    shop.token.approve(shop.crowd[2].wallet, shop.merchant.billing, U256::from(7)).await;
    shop.token.block(shop.crowd[3].wallet).await;
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

    let receipt = bill(&shop.chain, &*chain, &judged.good, &preflight.estimate).await;
    assert_eq!(outcomes(&receipt), [0, 0, 0, 0]);
    assert_eq!(nonces(&*chain).await, NonceView { mined: 1, finalized: 0 });
    shop.chain.mine(2).await;
    assert_eq!(nonces(&*chain).await.finalized, 1);

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
    let through = async |chain: Box<dyn Chain>| {
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

    let chain = connected(config(&anvil.url, contract, &arrays())).await.unwrap();
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
    let receipt = bill(&anvil, &*chain, &judged.good, &preflight.estimate).await;
    assert!(receipt.status());
    assert_eq!(plain.balance(somebody("payee")).await, U256::from(70));

    // Only those short of funds are to blame: one more round, and its estimate holds.
    let estimate = chain.preflight(batch[4..7].to_vec()).await.unwrap().estimate;
    assert!(estimate.used > 0 && estimate.charges == 2, "{estimate:?}");
}

#[tokio::test]
async fn what_a_batch_uses_is_foretold_and_never_too_little() {
    for size in [1, 10, 100] {
        let shop = Shop::open(size).await;
        let chain = shop.adapter(|_| {}).await;
        let batch = charges(&shop.crowd);
        let estimate = chain.preflight(batch.clone()).await.unwrap().estimate;
        let signed = committed(&*chain, &batch, &estimate).await;
        let call = TxEnvelope::decode_2718_exact(&signed.raw).unwrap().input().clone();
        let needed = shop.chain.estimate(key().address(), shop.merchant.billing, call).await;
        let most = needed + needed / 25;
        assert!((needed..=most).contains(&estimate.used), "{size}: {needed} {estimate:?}");
        assert!(
            outcomes(&bill(&shop.chain, &*chain, &batch, &estimate).await).iter().all(|c| *c == 0)
        );
    }
}

#[tokio::test]
async fn a_contract_that_serves_no_callers_with_code_passes_as_it_would_be_called() {
    let anvil = Anvil::start().await;
    let plain = Token::deploy(&anvil, Kind::Plain, 6).await;
    let contract =
        deploy(&anvil, "PlainCharge", (plain.address, somebody("payee")).abi_encode()).await;
    let (wallet, user) = (somebody("wallet"), B256::repeat_byte(7));
    anvil.fund(&[wallet, key().address()]).await;
    let mint = AnyToken::mintCall { to: wallet, value: U256::from(100) };
    anvil.execute(wallet, plain.address, &mint).await;
    plain.approve(wallet, contract, U256::MAX).await;
    let set = PlainCharge::setWalletCall { userHash: user, wallet };
    anvil.execute(wallet, contract, &set).await;
    anvil.execute(wallet, contract, &PlainCharge::serveOnlyPeopleCall {}).await;

    let (period, amount) = (Period::Guarded, U256::from(10));
    let charge =
        Charge { entry: entry(1, 1, user, 10), period, amount, wallet, token: plain.address };
    let chain = connected(config(&anvil.url, contract, &arrays())).await.unwrap();
    let preflight = chain.preflight(vec![charge]).await.unwrap();
    assert!(judge(preflight.checked.clone()).refused.is_empty(), "{:?}", preflight.checked);
    let good = [preflight.checked[0].charge.clone()];
    assert!(bill(&anvil, &*chain, &good, &preflight.estimate).await.status());
}
