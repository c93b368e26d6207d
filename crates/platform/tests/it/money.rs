//! Users and deposits (3.3, 4.7 to 4.9, 6.2), withdrawals (3.4, 4.10, 4.11, 6.3), on both chains.

use crate::world::{CHAINS, World};
use alloy::primitives::{Address, U256};
use alloy::sol;
use alloy::sol_types::SolCall as _;
use sandbox_chains::contracts::{Token, token};
use sandbox_chains::town::{Call, Ground, wallet};
use serde_json::{Value, json};

sol! {
    struct Call3 { address target; bool allowFailure; bytes callData; }
    function aggregate3(Call3[] calls) external payable;
}

const APPLY: &str = "/api/mer/withdraw/apply";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_an_address_of_their_own_on_each_chain() {
    let world = World::new().await;
    let create =
        async |uuid: &str| world.post("/api/mer/user/create", &json!({"uuid": uuid})).await.data();
    let (first, again, other) = (create("u-1").await, create("u-1").await, create("u-2").await);
    assert!(first.is_u64() && first == again && first != other);
    let detail = world.get("/api/mer/user/detail?uuid=u-1").await.data();
    assert_eq!((&detail["userId"], &detail["userType"]), (&first, &json!(0)));
    let wallets = detail["userWallet"].as_array().unwrap();
    assert_eq!(wallets.len(), 2);
    assert_ne!(wallets[0]["walletAddress"], wallets[1]["walletAddress"]);
    let by_id = world.get(&format!("/api/mer/user/detail?userId={other}&chainId=136")).await.data();
    assert_eq!(by_id["userWallet"].as_array().unwrap().len(), 1);
    assert!(by_id["userWallet"][0]["walletAddress"].as_str().unwrap().starts_with('T'));
    assert_eq!(
        world.post("/api/mer/user/create", &json!({"uuid": " "})).await.refused(),
        (200, 400)
    );
}

/// A deposit of 2.5 by a tester to a new user's address, sent and in no block yet; the address.
async fn deposit(world: &World, chain: u32) -> String {
    world.control("organisation", &json!({"rechargeCallbackUrl": world.notify})).await;
    world.post("/api/mer/user/create", &json!({"uuid": "saver"})).await.data();
    let detail =
        world.get(&format!("/api/mer/user/detail?uuid=saver&chainId={chain}")).await.data();
    let to = detail["userWallet"][0]["walletAddress"].as_str().unwrap().to_owned();
    let send = json!({"chainId": chain, "from": "ada", "to": to, "amount": "2.5"});
    world.control("transfer", &send).await;
    to
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_is_pending_until_it_is_final() {
    let world = World::new().await;
    for (id, chain) in (1..).zip(CHAINS) {
        let to = deposit(&world, chain).await;
        let path = format!("/api/mer/recharge/detail?rechargeId={id}");
        assert_eq!(world.get(&path).await.refused(), (404, 404));
        world.platform().blocks(1).await.unwrap();
        assert_eq!(world.get(&path).await.data()["rechargeStatus"], 1);
        assert!(world.heard().is_empty());
        world.finalise().await;
        let detail = world.get(&path).await.data();
        let heard = world.heard();
        assert_eq!((heard.len(), heard[0].verified), (1, true));
        assert_eq!(heard[0].body, detail, "the callback is the record");
        let side = world.side(chain);
        let amount = 25 * 10_u128.pow(u32::from(side.decimals) - 1);
        assert_eq!(
            (&detail["rechargeStatus"], &detail["rechargeAmount"]),
            (&json!(0), &json!(amount.to_string()))
        );
        assert_eq!((&detail["walletAddress"], &detail["uuid"]), (&json!(to), &json!("saver")));
        assert_eq!(
            (&detail["chainId"], &detail["currencyId"]),
            (&json!(chain), &json!(side.currency))
        );
        world.finalise().await;
        assert!(world.heard().is_empty(), "a deposit is told once");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_transfer_of_the_token_is_a_deposit_and_nothing_else_is() {
    let world = World::new().await;
    world.control("organisation", &json!({"rechargeCallbackUrl": world.notify})).await;
    let user = world.post("/api/mer/user/create", &json!({"uuid": "saver"})).await.data();
    for (first, chain) in [(1, 139), (3, 136)] {
        let path = format!("/api/mer/user/detail?userId={user}&chainId={chain}");
        let address = world.get(&path).await.data()["userWallet"][0]["walletAddress"].clone();
        let side = world.side(chain);
        let to = side.family().parse(address.as_str().unwrap()).unwrap();
        let nodes = world.platform().nodes().clone();
        let (town, decimals) = (side.town.clone(), side.decimals);
        let act = move || {
            let ground: &dyn Ground = if chain == 139 { &nodes.evm } else { &nodes.tron };
            let owner = wallet("owner");
            // Another token, which looks the same.
            let other = ground.deploy(&owner, token(decimals));
            let mint = |token: Address, to, value| {
                let value = U256::from(value);
                Call::new(&owner, token, &Token::mintCall { to, value })
            };
            ground.execute(vec![mint(other, to, 7), mint(town.token, town.multicall, 3)]);
            // Two transfers and one of nothing, in one transaction.
            let one = |value| Call3 {
                target: town.token,
                allowFailure: false,
                callData: Token::transferCall { to, value: U256::from(value) }.abi_encode().into(),
            };
            let calls = [1, 0, 2].map(one).to_vec();
            ground.execute(vec![Call::new(&owner, town.multicall, &aggregate3Call { calls })]);
        };
        tokio::task::spawn_blocking(act).await.unwrap();
        world.finalise().await;
        let mut heard = world.heard();
        heard.sort_by_key(|one| one.body["rechargeId"].as_u64());
        let told = heard.iter().map(|one| (&one.body["rechargeId"], &one.body["rechargeAmount"]));
        let wanted = [(json!(first), json!("1")), (json!(first + 1), json!("2"))];
        assert!(told.eq(wanted.iter().map(|(id, amount)| (id, amount))), "{heard:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_that_is_reorganised_goes_and_may_come_back() {
    let world = World::new().await;
    for (id, chain) in (1..).zip(CHAINS) {
        let path = format!("/api/mer/recharge/detail?rechargeId={id}");
        for keep in [true, false] {
            if keep {
                deposit(&world, chain).await;
                world.platform().blocks(1).await.unwrap();
            }
            assert_eq!(world.get(&path).await.data()["rechargeStatus"], 1);
            world
                .control(
                    "fault",
                    &json!({"kind": "reorg", "chainId": chain, "depth": 1, "keep": keep}),
                )
                .await;
            assert_eq!(world.get(&path).await.refused(), (404, 404), "withdrawn from view");
            world.platform().blocks(1).await.unwrap();
        }
        world.finalise().await;
        assert_eq!(
            world.get(&path).await.refused(),
            (404, 404),
            "it came back once, and was lost the second time"
        );
        assert!(world.heard().is_empty());
    }
}

fn application(world: &World, chain: u32, number: &str) -> Value {
    let side = world.side(chain);
    json!({
        "chainId": chain, "currencyId": side.currency, "withdrawAmount": "7.25", "outTradeNo": number,
        "withdrawAddress": side.spell(side.town.mer_key), "notifyUrl": world.notify,
    })
}

/// Charges a subscriber, so that the merchant has ten.
async fn earn(world: &World, chain: u32) {
    world.subscribed(chain, "payer", "ada").await;
    let due = world.due(chain).await;
    world.bill(chain, &due).await;
    world.heard();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_is_approved_paid_and_told() {
    let world = World::new().await;
    for chain in CHAINS {
        earn(&world, chain).await;
        let id = world.post(APPLY, &application(&world, chain, &format!("w-{chain}"))).await.data()
            ["withdrawId"]
            .clone();
        let path = format!("/api/mer/withdraw/detail?outTradeNo=w-{chain}");
        let detail = world.get(&path).await.data();
        assert_eq!((&detail["withdrawStatus"], &detail["withdrawId"]), (&json!(1), &id));
        assert_eq!(detail["withdrawTime"].as_str().unwrap().len(), 19);
        let approve = json!({"withdrawId": id, "approve": true, "admin": "bob"});
        world.control("decide-withdrawal", &approve).await;
        assert_eq!(world.get(&path).await.data()["withdrawStatus"], 2);
        assert_eq!(
            world.try_control("decide-withdrawal", &approve).await.0,
            400,
            "nobody approves twice"
        );
        world.platform().blocks(1).await.unwrap();
        assert_eq!(world.get(&path).await.data()["withdrawStatus"], 3);
        assert!(world.heard().is_empty());
        world.finalise().await;
        world.finalise().await;
        let detail = world.get(&path).await.data();
        let side = world.side(chain);
        let amount = 725 * 10_u128.pow(u32::from(side.decimals) - 2);
        assert_eq!(
            (&detail["withdrawStatus"], &detail["withdrawAmount"]),
            (&json!(0), &json!(amount.to_string()))
        );
        let hash = detail["transferHash"].as_str().unwrap().parse().unwrap();
        assert!(side.chain.find(&hash).landed().unwrap().succeeded, "the transfer is on the chain");
        let heard = world.heard();
        assert_eq!((heard.len(), heard[0].verified), (1, true));
        for field in [
            "withdrawId",
            "withdrawAddress",
            "withdrawAmount",
            "withdrawStatus",
            "transferHash",
            "outTradeNo",
        ] {
            assert_eq!(heard[0].body[field], detail[field], "{field}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_can_be_rejected_or_fail() {
    let world = World::new().await;
    for (number, approve, status) in [("no", false, 5), ("poor", true, 4)] {
        let id =
            world.post(APPLY, &application(&world, CHAINS[0], number)).await.data()["withdrawId"]
                .clone();
        world
            .control(
                "decide-withdrawal",
                &json!({"withdrawId": id, "approve": approve, "admin": "alice"}),
            )
            .await;
        world.finalise().await;
        let detail = world.get(&format!("/api/mer/withdraw/detail?withdrawId={id}")).await.data();
        assert_eq!(detail["withdrawStatus"], status);
        let heard = world.heard();
        assert_eq!((heard.len(), &heard[0].body["withdrawStatus"]), (1, &json!(status)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_that_is_reorganised_is_paid_once() {
    let world = World::new().await;
    for chain in CHAINS {
        earn(&world, chain).await;
        let id = world.post(APPLY, &application(&world, chain, &format!("r-{chain}"))).await.data()
            ["withdrawId"]
            .clone();
        world
            .control(
                "decide-withdrawal",
                &json!({"withdrawId": id, "approve": true, "admin": "bob"}),
            )
            .await;
        world.platform().blocks(2).await.unwrap();
        for _ in 0..2 {
            world
                .control(
                    "fault",
                    &json!({"kind": "reorg", "chainId": chain, "depth": 1, "keep": false}),
                )
                .await;
            world.platform().blocks(1).await.unwrap();
        }
        world.finalise().await;
        world.finalise().await;
        let detail = world.get(&format!("/api/mer/withdraw/detail?withdrawId={id}")).await.data();
        assert_eq!(detail["withdrawStatus"], 0);
        let side = world.side(chain);
        let left = world
            .control("balance", &json!({"chainId": chain, "of": side.spell(side.town.payee)}))
            .await;
        assert_eq!(left["amount"], "2.75", "ten came in, and 7.25 went out once");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_is_checked_and_its_number_is_used_once() {
    let world = World::new().await;
    let good = application(&world, CHAINS[1], "once");
    world.post(APPLY, &good).await.data();
    assert_eq!(world.post(APPLY, &good).await.refused(), (200, 409));
    for (field, bad) in [
        ("withdrawAmount", json!("0")),
        ("withdrawAmount", json!("-1")),
        ("withdrawAmount", json!("1.0000001")),
        ("withdrawAmount", json!("1e3")),
        ("withdrawAmount", json!(5)),
        ("withdrawAddress", json!("0x52908400098527886E0F7030069857D2E4169EE7")),
        ("withdrawAddress", Value::Null),
        ("currencyId", json!(1)),
        ("chainId", json!(1)),
        ("outTradeNo", json!(" ")),
        ("notifyUrl", json!("shop")),
    ] {
        let mut body = good.clone();
        body["outTradeNo"] = json!("other");
        body[field] = bad.clone();
        assert_eq!(world.post(APPLY, &body).await.refused(), (200, 400), "{field} {bad}");
    }
    let mut bare = good;
    bare.as_object_mut().unwrap().retain(|name, _| name != "outTradeNo" && name != "notifyUrl");
    world.post(APPLY, &bare).await.data();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_applications_with_one_number_one_is_taken() {
    let world = World::new().await;
    let body = application(&world, CHAINS[0], "race");
    let all = futures_util::future::join_all((0..8).map(|_| world.post(APPLY, &body))).await;
    let taken = all.iter().filter(|answer| answer.body["code"] == 200).count();
    assert_eq!(taken, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_deposited_can_be_swept() {
    let world = World::new().await;
    for chain in CHAINS {
        deposit(&world, chain).await;
        world.finalise().await;
        world.heard();
        world.control("sweep", &json!({"chainId": chain, "uuid": "saver"})).await;
        world.finalise().await;
        let side = world.side(chain);
        let held = world
            .control("balance", &json!({"chainId": chain, "of": side.spell(side.town.payee)}))
            .await;
        assert_eq!(held["amount"], "2.5");
        assert!(world.heard().is_empty(), "a sweep is no deposit");
        assert_eq!(
            world.try_control("sweep", &json!({"chainId": chain, "uuid": "saver"})).await.0,
            400
        );
    }
}
