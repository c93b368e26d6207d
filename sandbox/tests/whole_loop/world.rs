//! The loop from outside: users, time, and what everybody has paid by each of the books.

use super::cast::{Cast, Part};
use super::director::Director;
use super::place::{KEY, Place};
use futures_util::{StreamExt as _, stream};
use merchant::Client;
use merchant::client::LinkRequest;
use merchant::sign::Credentials;
use merchant::types::{ChainId, PlanId};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The chains, by the platform's ids.
pub(crate) const CHAINS: [i64; 2] = [139, 136];
/// The test wallets, which pay for everybody.
const WALLETS: [&str; 6] = ["ada", "ben", "cleo", "dan", "eve", "finn"];
/// What a period costs, as the platform's plan 7 has it.
const PRICE: u64 = 10;
/// How often it is looked.
pub(crate) const LOOK: Duration = Duration::from_millis(250);
/// How many users subscribe at once.
const AT_ONCE: usize = 24;

/// Everything.
pub(crate) struct World {
    pub(crate) cast: Arc<Cast>,
    pub(crate) director: Arc<Director>,
    pub(super) place: Place,
    http: reqwest::Client,
    /// What the merchant's wallet held on each chain before anybody paid (whole tokens).
    before: BTreeMap<i64, u64>,
    orders: usize,
}

impl World {
    /// A platform with this many subscribers on each chain, and everybody running.
    pub(crate) async fn new(director: Arc<Director>, users: usize) -> Self {
        let hook = Arc::clone(&director);
        let place = Place::new(Arc::new(move |step, moment| hook.step(step, moment))).await;
        let cast = Cast::new(place.clone());
        director.meet(Arc::clone(&cast));
        let (starting, installing) = (Arc::clone(&cast), place.clone());
        let started = tokio::task::spawn_blocking(move || {
            starting.start(Part::Platform);
            installing.install_signer();
            starting.start(Part::Signer);
            starting.start(Part::Inbox);
        });
        started.await.unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let before = BTreeMap::new();
        let mut world = Self { cast, director, place, http, before, orders: users * CHAINS.len() };
        world.settle_users(users).await;
        world.cast.start(Part::Scheduler);
        world
    }

    async fn settle_users(&mut self, users: usize) {
        let hook = format!("{}/callbacks", self.place.road("platform to inbox"));
        self.control("organisation", &json!({"rechargeCallbackUrl": hook})).await;
        for chain in CHAINS {
            let payee = self.payee(chain).await;
            for wallet in WALLETS.into_iter().chain([payee.as_str()]) {
                let rich = json!({"kind": "drain", "chainId": chain, "wallet": wallet, "amount": "100000000"});
                self.control("fault", &rich).await;
            }
        }
        self.control("blocks", &json!({"count": 25})).await;
        for chain in CHAINS {
            self.before.insert(chain, self.income(chain).await);
        }
        let everybody =
            CHAINS.into_iter().flat_map(|chain| (0..users).map(move |user| (chain, user)));
        let world = &*self;
        stream::iter(everybody)
            .for_each_concurrent(AT_ONCE, |(chain, user)| world.subscribe(chain, user))
            .await;
    }

    /// A user opens a link, signs and authorises.
    async fn subscribe(&self, chain: i64, user: usize) {
        let [key, secret] = KEY;
        let base = self.place.direct("baseUrl");
        let client = Client::new(&base, &base, Credentials::new(key, secret)).unwrap();
        let request = LinkRequest {
            chain_id: ChainId(chain),
            plan_id: PlanId(7),
            external_user_id: format!("user-{user}"),
            redirection_url: "https://shop.example/thanks".to_owned(),
            notify_url: format!("{}/callbacks", self.place.road("platform to inbox")),
        };
        let link = client.create_link(&request).await.unwrap();
        let wallet = WALLETS[user % WALLETS.len()];
        let follow = json!({"paymentUrl": link.url, "wallet": wallet, "allowance": "1000000"});
        self.control("follow-link", &follow).await;
    }

    /// A control of the sandbox, asked until somebody answers.
    pub(crate) async fn control(&self, name: &str, body: &Value) -> Value {
        self.tried(name, body).await.unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// A control of the sandbox, which may have died before it answered: once.
    pub(super) async fn tried(&self, name: &str, body: &Value) -> Result<Value, String> {
        self.cast.assert_well();
        let url = format!("{}/sandbox/{name}", self.place.direct("adminUrl"));
        let request = self.http.post(url).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.map_err(|why| why.to_string())?;
        let status = answer.status();
        let text = answer.text().await.map_err(|why| why.to_string())?;
        if status.is_success() { Ok(serde_json::from_str(&text).unwrap()) } else { Err(text) }
    }

    /// A fault that passes by itself; that nobody answers is one more.
    pub(crate) async fn misfortune(&self) {
        let chain = CHAINS[usize::try_from(self.director.throw(2)).unwrap()];
        let fault = match self.director.throw(3) {
            0 => json!({"kind": "reorg", "chainId": chain, "depth": 1 + self.director.throw(2)}),
            1 => json!({"kind": "reorg", "chainId": chain, "depth": 1, "keep": false}),
            _ => json!({"kind": "node-down", "chainId": chain, "on": true}),
        };
        let went = self.tried("fault", &fault).await;
        if fault["kind"] == "node-down" {
            tokio::time::sleep(Duration::from_millis(700)).await;
            let well = json!({"kind": "node-down", "chainId": chain, "on": false});
            drop((went, self.tried("fault", &well).await));
        }
    }

    /// How many periods each order has paid, by the platform's own reading of the chain; nothing while it does not answer.
    async fn paid(&self) -> Option<Vec<u64>> {
        let [key, secret] = KEY;
        let base = self.place.direct("baseUrl");
        let client = Client::new(&base, &base, Credentials::new(key, secret)).unwrap();
        let (mut paid, mut page) = (vec![], 1);
        while paid.len() < self.orders {
            let read = client.subscription_page(page, 500).await.ok()?;
            if read.list.is_empty() {
                break;
            }
            for row in read.list {
                let fields: Value = serde_json::from_str(row.ok()?.raw().get()).ok()?;
                paid.push(fields["paidPeriods"].as_u64()?);
            }
            page += 1;
        }
        Some(paid)
    }

    /// The merchant's wallet.
    async fn payee(&self, chain: i64) -> String {
        let url = format!("{}/sandbox", self.place.direct("adminUrl"));
        let state: Value = serde_json::from_slice(
            &self.http.get(url).send().await.unwrap().bytes().await.unwrap(),
        )
        .unwrap();
        let side = state["chains"]
            .as_array()
            .unwrap()
            .iter()
            .find(|side| side["chainId"] == chain)
            .unwrap();
        side["payee"].as_str().unwrap().to_owned()
    }

    /// What the merchant's wallet holds (whole tokens).
    async fn income(&self, chain: i64) -> u64 {
        let payee = self.payee(chain).await;
        let held = self.control("balance", &json!({"chainId": chain, "of": payee})).await;
        held["amount"].as_str().unwrap().split('.').next().unwrap().parse().unwrap()
    }

    /// Waits until everybody has paid so many periods, and nobody more.
    pub(crate) async fn everybody_pays(&self, periods: u64, patience: Duration) {
        let began = Instant::now();
        loop {
            if let Some(paid) = self.paid().await {
                assert!(paid.iter().all(|paid| *paid <= periods), "somebody paid twice: {paid:?}");
                if paid.len() == self.orders && paid.iter().all(|paid| *paid == periods) {
                    return;
                }
                let behind = paid.iter().filter(|paid| **paid < periods).count();
                assert!(
                    began.elapsed() < patience,
                    "period {periods}: {behind} of {} have not paid, {} orders",
                    paid.len(),
                    self.orders
                );
            }
            self.cast.assert_well();
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Nobody is killed, everybody is there, and the platform has nothing more to tell.
    pub(crate) async fn rest(&self) {
        self.director.set_armed(false);
        let began = Instant::now();
        while !self.cast.is_whole() || self.callbacks_wait().await {
            assert!(began.elapsed() < Duration::from_mins(3), "callbacks wait still");
            self.cast.assert_well();
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether the platform has something to tell that was not taken.
    async fn callbacks_wait(&self) -> bool {
        let newest = json!({"most": 2 * self.orders + 100});
        let Ok(told) = self.tried("callbacks", &newest).await else { return true };
        told["list"].as_array().is_none_or(|all| all.iter().any(|one| one["next"].is_string()))
    }

    /// A month passes.
    pub(crate) async fn month(&self) {
        self.control("advance", &json!({"months": 1})).await;
    }

    /// Every book is closed, and they agree.
    pub(crate) async fn agree(&self, periods: u64) {
        self.rest().await;
        self.cast.end(Part::Scheduler);
        let wanted = self.orders * usize::try_from(periods).unwrap();
        let (began, mut line) = (Instant::now(), String::new());
        loop {
            let quiet = line.contains(": 0 accepted")
                && line.contains(" 0 transactions open, 0 differences\n");
            let events = self.cast.events();
            let held = events.iter().any(|event| event["handedOn"] == "held");
            let told = self.money_is_told(&events, periods).await;
            if quiet && !held && told && count(&events, "SubscriptionBilling") >= wanted {
                self.compare_money(&events, periods).await;
                self.compare(&events, periods).await;
                return self.cast.close_books();
            }
            let billings = count(&events, "SubscriptionBilling");
            assert!(
                began.elapsed() < Duration::from_mins(3),
                "{line} {billings} of {wanted} billings, held: {held}, deposits and withdrawals told: {told}"
            );
            tokio::time::sleep(LOOK).await;
            line = self.cast.run_once();
        }
    }

    async fn compare(&self, events: &[Value], periods: u64) {
        let paid = self.paid().await.unwrap();
        assert_eq!(paid, vec![periods; self.orders], "the platform's book");
        let mut charged: BTreeMap<String, u64> = BTreeMap::new();
        for event in events.iter().filter(|event| event["type"] == "SubscriptionBilling") {
            assert_eq!(event["outcome"]["state"], "charged", "{event}");
            *charged.entry(event["stream"].to_string()).or_default() += 1;
        }
        assert_eq!(charged.len(), self.orders, "the inbox's book");
        assert!(
            charged.values().all(|count| *count == periods),
            "each charge is told of once: {charged:?}"
        );
        for kind in ["SubscriptionRegister", "SubscriptionApprove"] {
            assert!(count(events, kind) >= self.orders, "{kind} was lost");
        }
        self.compare_income(periods).await;
    }

    /// The merchant's wallet holds what everybody had to pay.
    pub(crate) async fn compare_income(&self, periods: u64) {
        for chain in CHAINS {
            let each = u64::try_from(self.orders / CHAINS.len()).unwrap();
            let income =
                self.income(chain).await + self.paid_out(chain).await - self.before[&chain];
            assert_eq!(income, each * periods * PRICE, "the money itself, on {chain}");
        }
    }
}

pub(crate) fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

impl Drop for World {
    fn drop(&mut self) {
        self.cast.close();
        if std::thread::panicking() {
            // There may be nobody left to read it.
            drop(writeln!(std::io::stderr(), "{}", self.place.last_words()));
        }
    }
}
