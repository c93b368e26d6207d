//! The console, as a browser without script has it.

use crate::world::{CHAINS, World};
use serde_json::json;

/// A browser at the console: a cookie, and what it opens and presses.
struct Browser<'a> {
    world: &'a World,
    cookie: String,
}

impl<'a> Browser<'a> {
    async fn login(world: &'a World, account: &str) -> Self {
        let nobody = Browser { world, cookie: String::new() };
        let (status, headers, _) =
            nobody.send("POST", "/login", &format!("account={account}")).await;
        assert_eq!(status, 303);
        let cookie = headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        Browser { world, cookie }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        fields: &str,
    ) -> (u16, axum::http::HeaderMap, String) {
        let url = format!("{}{path}", self.world.running.admin_url);
        let request =
            self.world.client.request(method.parse().unwrap(), url).header("cookie", &self.cookie);
        let kind = "application/x-www-form-urlencoded";
        let response =
            request.header("content-type", kind).body(fields.to_owned()).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.text().await.unwrap())
    }

    async fn open(&self, path: &str) -> String {
        let (status, _, page) = self.send("GET", path, "").await;
        assert_eq!(status, 200, "{path}: {page}");
        page
    }

    async fn press(&self, control: &str, fields: &str) -> (u16, String) {
        let (status, _, page) = self.send("POST", &format!("/do/{control}"), fields).await;
        (status, page)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_opens_for_an_admin_and_for_nobody_else() {
    let world = World::new().await;
    world.subscribed(CHAINS[0], "<b>user</b>", "ada").await;
    let alice = Browser::login(&world, "alice").await;
    for page in [
        "plans",
        "subscriptions",
        "withdrawals",
        "users",
        "callbacks",
        "organisation",
        "chains",
        "controls",
    ] {
        let text = alice.open(&format!("/{page}")).await;
        assert!(
            text.contains(&format!("id=\"menu-{page}\"")) && text.contains("aria-current=\"page\""),
            "{text}"
        );
        assert!(!text.contains("<b>user"), "what a merchant sends is text");
        let (status, _, _) = Browser { world: &world, cookie: String::new() }
            .send("GET", &format!("/{page}"), "")
            .await;
        assert_eq!(status, 303, "{page}");
    }
    assert_eq!(alice.send("GET", "/nothing", "").await.0, 404);
    let mallory = Browser { world: &world, cookie: "admin=mallory".to_owned() };
    assert_eq!(mallory.press("advance", "days=1").await.0, 303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_admins_make_a_plan_by_hand() {
    let world = World::new().await;
    let (alice, bob) = (Browser::login(&world, "alice").await, Browser::login(&world, "bob").await);
    let fields = "page=plans&planId=31&chainId=136&name=Gold&amount=5.5&intervalSeconds=86400&periods=0&delaySeconds=0&newVersion=false";
    assert_eq!(alice.press("propose-plan", fields).await.0, 303);
    world.finalise().await;
    assert!(
        !alice.open("/plans").await.contains("id=\"approve-31-136-1\""),
        "not for the one who proposed it"
    );
    let (status, again) = alice.press("propose-plan", fields).await;
    assert!(status == 200 && again.contains("role=\"alert\""), "an id is used once: {again}");
    assert!(bob.open("/plans").await.contains("id=\"approve-31-136-1\""));
    assert_eq!(
        bob.press("approve-plan", "page=plans&planId=31&chainId=136&version=1").await.0,
        303
    );
    world.finalise().await;
    let page = bob.open("/plans").await;
    let row = page.split("id=\"plan-31-136-1\"").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(
        row.contains("Active") && row.contains("5.5 USDT") && row.contains("alice, bob"),
        "{row}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn withdrawals_callbacks_and_time_are_at_hand() {
    let world = World::new().await;
    let bob = Browser::login(&world, "bob").await;
    let side = world.side(CHAINS[1]);
    let apply = json!({
        "chainId": side.id, "currencyId": side.currency, "withdrawAmount": "1", "outTradeNo": "w", "notifyUrl": world.notify,
        "withdrawAddress": side.spell(side.town.mer_key),
    });
    let id = world.post("/api/mer/withdraw/apply", &apply).await.data()["withdrawId"].clone();
    assert!(bob.open("/withdrawals").await.contains(&format!("id=\"approve-{id}\"")));
    assert_eq!(
        bob.press("decide-withdrawal", &format!("page=withdrawals&withdrawId={id}&approve=false"))
            .await
            .0,
        303
    );
    let (status, page) = bob
        .press("decide-withdrawal", &format!("page=withdrawals&withdrawId={id}&approve=true"))
        .await;
    assert!(status == 200 && page.contains("does not wait for approval"), "{page}");
    world.finalise().await;
    assert_eq!(world.heard().len(), 1);
    assert!(bob.open("/callbacks").await.contains("id=\"send-again-1\""));
    assert!(bob.open("/callbacks?q=WITHDRAW").await.contains("id=\"send-again-1\""));
    assert!(bob.open("/callbacks?q=nobody").await.contains("None of them has this text."));
    assert_eq!(bob.press("send-again", "page=callbacks&id=1").await.0, 303);
    assert_eq!(world.heard().len(), 1);
    assert_eq!(
        bob.press(
            "organisation",
            "page=organisation&rechargeCallbackUrl=https%3A%2F%2Fshop.example%2Frecharge"
        )
        .await
        .0,
        303
    );
    assert!(bob.open("/organisation").await.contains("https://shop.example/recharge"));
    let before_s = world.platform().clock().now_s();
    assert_eq!(bob.press("advance", "page=controls&months=1").await.0, 303);
    assert!(world.platform().clock().now_s() >= before_s + 30 * 86_400);
    let (_, page) = bob.press("fault", "page=controls&kind=drain&chainId=139&wallet=nobody").await;
    assert!(page.contains("id=\"error\""), "{page}");
}

/// A request with a body that changes something if it is let through, by these headers.
async fn knock(world: &World, url: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = world.client.post(url).header("cookie", "admin=alice");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body("{\"days\":1}").send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_a_foreign_name_nor_a_foreign_page_gets_in() {
    let world = World::new().await;
    let json = ("content-type", "application/json");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let before_s = world.platform().clock().now_s();
    let admin = world.running.admin_url.as_str();
    let port = admin.rsplit(':').next().unwrap();
    for (path, kind) in [("/sandbox/advance", json), ("/do/advance", form), ("/login", form)] {
        let url = format!("{admin}{path}");
        let evil = format!("evil.example:{port}");
        assert_eq!(knock(&world, &url, &[kind, ("host", &evil)]).await, 421, "{path}");
        let rebound = format!("http://{evil}");
        assert_eq!(knock(&world, &url, &[kind, ("host", &evil), ("origin", &rebound)]).await, 421);
        for origin in ["http://evil.example", "null", "https://127.0.0.1", &format!("{admin}0")] {
            assert_eq!(
                knock(&world, &url, &[kind, ("origin", origin)]).await,
                403,
                "{path} {origin}"
            );
        }
    }
    for host in [admin, world.running.payment_url.as_str()] {
        let read = world.client.get(format!("{host}/style.css")).header("host", "evil.example");
        assert_eq!(read.send().await.unwrap().status().as_u16(), 421, "nor is anything read");
    }
    assert!(world.platform().clock().now_s() < before_s + 86_400, "nothing has moved");
    let url = format!("{admin}/sandbox/advance");
    assert_eq!(knock(&world, &url, &[json, ("origin", admin)]).await, 200);
    let named = format!("localhost:{port}");
    assert_eq!(knock(&world, &url, &[json, ("host", &named)]).await, 200);
}
