//! The pages, as a browser without script has them.

use crate::world::World;
use serde_json::json;

/// A page of the user's: status and text.
async fn open(world: &World, path: &str) -> (u16, String) {
    let response =
        world.client.get(format!("{}{path}", world.running.payment_url)).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// A form of such a page.
async fn press(world: &World, path: &str, fields: &str) -> (u16, String) {
    let url = format!("{}{path}", world.running.payment_url);
    let kind = "application/x-www-form-urlencoded";
    let request = world.client.post(url).header("content-type", kind).body(fields.to_owned());
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// The value that the radio button of a tester has.
fn wallet_of(page: &str, name: &str) -> String {
    let after = page.split(&format!("id=\"wallet-{name}\" value=\"")).nth(1).unwrap();
    after.split('"').next().unwrap().to_owned()
}

/// Whether a page has this choice made of how much to authorise.
fn is_chosen(page: &str, cap: &str) -> bool {
    let after = page.split(&format!("id=\"cap-{cap}\"")).nth(1).unwrap();
    after.split('>').next().unwrap().contains("checked")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_takes_the_three_steps_and_leaves() {
    let world = World::new().await;
    for chain in crate::world::CHAINS {
        let link = world.link(chain, "<ada>").await;
        let path = link["paymentUrl"].as_str().unwrap();
        let (status, page) = open(&world, path).await;
        assert_eq!(status, 200);
        assert!(
            page.contains("id=\"step-1\"") && page.contains("10 USDT<small> every month"),
            "{page}"
        );
        let wallet = wallet_of(&page, "cleo");
        assert_eq!(press(&world, path, &format!("step=confirm&wallet={wallet}")).await.0, 303);
        assert!(open(&world, path).await.1.contains("id=\"step-2\""));
        assert_eq!(press(&world, path, "step=sign").await.0, 303);
        assert!(open(&world, path).await.1.contains("id=\"waiting\""), "no block yet");
        let (_, twice) = press(&world, path, "step=sign").await;
        assert!(twice.contains("waiting for a block"), "a second press sends nothing: {twice}");
        world.finalise().await;
        assert!(open(&world, path).await.1.contains("id=\"step-3\""));
        let (_, little) = press(&world, path, "step=authorise&cap=other&amount=9.99").await;
        assert!(little.contains("less than one period"), "{little}");
        assert!(little.contains("value=\"9.99\"") && is_chosen(&little, "other"), "{little}");
        let both = press(&world, path, "step=authorise&cap=year&amount=15").await.1;
        assert!(both.contains("choose one of the two") && is_chosen(&both, "year"), "{both}");
        assert!(both.contains("value=\"15\""), "what was typed is still there: {both}");
        assert_eq!(press(&world, path, "step=authorise&cap=other&amount=").await.0, 200);
        assert_eq!(press(&world, path, "step=authorise&cap=year").await.0, 303);
        world.finalise().await;
        let (_, done) = open(&world, path).await;
        assert!(done.contains("id=\"done\"") && done.contains("covers 12 periods"), "{done}");
        assert!(done.contains("url=https://shop.example/thanks"), "back to the shop by itself");

        let number = world.heard()[0].body["outTradeNo"].clone();
        let body = json!({"outTradeNo": number, "redirectionUrl": "https://shop.example/bye", "notifyUrl": world.notify});
        let bye = world.post("/api/mer/subscribe/cancel/create", &body).await.data();
        let path = bye["paymentUrl"].as_str().unwrap();
        assert!(open(&world, path).await.1.contains("id=\"cancel\""));
        assert_eq!(press(&world, path, "step=cancel").await.0, 303);
        world.finalise().await;
        assert!(open(&world, path).await.1.contains("id=\"cancelled\""));
        assert_eq!(world.heard()[0].body["subscriptionType"], "SubscriptionCancel");
    }
}

/// A user who has signed on an Ethereum page; its path.
async fn signed(world: &World, wallet: &str) -> String {
    let link = world.link(crate::world::CHAINS[0], wallet).await;
    let path = link["paymentUrl"].as_str().unwrap().to_owned();
    let address = wallet_of(&open(world, &path).await.1, wallet);
    press(world, &path, &format!("step=confirm&wallet={address}")).await;
    assert_eq!(press(world, &path, "step=sign").await.0, 303);
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_is_not_written_down_yet_is_waited_for() {
    let world = World::new().await;
    let path = signed(&world, "dan").await;
    let side = world.side(crate::world::CHAINS[0]);
    side.chain.step(0);
    let (_, between) = open(&world, &path).await;
    assert!(between.contains("id=\"waiting\""), "the page looks again: {between}");
    world.platform().catch_up().await.unwrap();
    assert!(open(&world, &path).await.1.contains("id=\"step-3\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_the_chain_has_lost_may_be_sent_again() {
    let world = World::new().await;
    let path = signed(&world, "eve").await;
    world.platform().blocks(1).await.unwrap();
    let body = json!({"kind": "reorg", "chainId": crate::world::CHAINS[0], "keep": false});
    world.control("fault", &body).await;
    let (_, lost) = open(&world, &path).await;
    assert!(lost.contains("id=\"step-2\"") && lost.contains("lost the last transaction"), "{lost}");
    assert_eq!(press(&world, &path, "step=sign").await.0, 303);
    world.finalise().await;
    assert!(open(&world, &path).await.1.contains("id=\"step-3\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_presses_at_once_one_sends() {
    let world = World::new().await;
    let link = world.link(crate::world::CHAINS[0], "finn").await;
    let path = link["paymentUrl"].as_str().unwrap();
    let wallet = wallet_of(&open(&world, path).await.1, "finn");
    press(&world, path, &format!("step=confirm&wallet={wallet}")).await;
    let pressed = futures_util::future::join_all((0..8).map(|_| press(&world, path, "step=sign")));
    let sent = pressed.await.iter().filter(|(status, _)| *status == 303).count();
    assert_eq!(sent, 1, "the others are told that it waits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allowance_is_shared_by_all_subscriptions_of_a_wallet_and_the_page_knows_them() {
    let world = World::new().await;
    let chain = crate::world::CHAINS[0];
    let mut pages = Vec::new();
    for user in ["first of eve", "second of eve"] {
        let link = world.link(chain, user).await;
        let path = link["paymentUrl"].as_str().unwrap().to_owned();
        let wallet = wallet_of(&open(&world, &path).await.1, "eve");
        press(&world, &path, &format!("step=confirm&wallet={wallet}")).await;
        assert_eq!(press(&world, &path, "step=sign").await.0, 303);
        world.finalise().await;
        pages.push(path);
    }
    let [first, second] = [0, 1].map(|at: usize| pages[at].clone());
    let (_, shown) = open(&world, &second).await;
    assert!(shown.contains("id=\"others\"") && shown.contains("240 USDT"), "{shown}");
    let (_, little) = press(&world, &second, "step=authorise&cap=other&amount=15").await;
    assert!(little.contains("other subscriptions of the wallet costs: 20 USDT"), "{little}");
    assert_eq!(press(&world, &second, "step=authorise&cap=one").await.0, 303);
    world.finalise().await;
    for path in [&first, &second] {
        let (_, done) = open(&world, path).await;
        assert!(done.contains("covers 1 period of this and of the other subscription"), "{done}");
        assert!(done.contains("<strong>20 USDT</strong>"), "{done}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_none_says_so() {
    let world = World::new().await;
    for path in ["/subscribe?apiSign=x", "/subscribe", "/unsubscribe?apiSign="] {
        let (status, page) = open(&world, path).await;
        assert!(status == 200 && page.contains("role=\"alert\""), "{path}: {status} {page}");
    }
}
