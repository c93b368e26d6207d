//! One request, posted again and again through its whole life, in both modes: no code 2 ever names
//! somebody who pays, and no transaction is ever named that cannot charge.

use crate::world::anvil::{Family, Mining};
use crate::world::patience::eventually;
use crate::world::proxy::Act;
use crate::world::signer::{Heard, Signer};
use crate::world::town::{Founding, Town};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;

on_both_families![from_before_the_commit_to_after_finality_the_answer_is_one_transaction,];

/// The one request of a town, and how often it was posted.
pub(super) struct Request<'a> {
    town: &'a Town,
    places: Vec<usize>,
    posts: usize,
}

impl<'a> Request<'a> {
    pub(super) fn new(town: &'a Town, places: impl IntoIterator<Item = usize>) -> Self {
        Self { town, places: places.into_iter().collect(), posts: 0 }
    }

    fn body(&self, turn: usize) -> Value {
        let mode = if turn.is_multiple_of(2) { "all" } else { "partial" };
        json!({"requestId": "one", "mode": mode, "list": self.town.entries(self.places.clone())})
    }

    /// Posts it so often, all at once, and tells which transactions were named.
    pub(super) async fn post(&mut self, signer: &Signer, times: usize) -> BTreeSet<String> {
        self.posts += times;
        let bodies: Vec<Value> = (0..times).map(|turn| self.body(turn)).collect();
        let heard = join_all(bodies.iter().map(|body| signer.scheduler.bill(body))).await;
        let mut named = BTreeSet::new();
        for heard in heard {
            self.is_true(signer, &heard).await;
            named.insert(heard.tx_hash());
        }
        named
    }

    /// Everybody is named once, by a transaction that can charge.
    async fn is_true(&self, signer: &Signer, heard: &Heard) {
        assert_eq!(heard.code(), 1, "nobody of these is ever refused: {heard:?}");
        let data = &heard.body["data"];
        let ids: Vec<u64> =
            self.places.iter().map(|who| self.town.people[*who].subscribe_id).collect();
        assert_eq!(data["subscriptionIds"], json!(ids), "{heard:?}");
        assert!(data["failed"].is_null() && data["earlier"].is_null(), "{heard:?}");
        let bytes = data["signedTransactionData"].as_str().unwrap();
        let contract = hex::encode(self.town.contract);
        assert!(bytes.contains(&contract), "a cancel calls no contract: {heard:?}");
        let billing = signer.scheduler.billings(&heard.tx_hash()).await;
        let known = billing.body["data"][0]["txHashes"].as_array().unwrap().clone();
        assert!(known.contains(&data["txHash"]), "{billing:?}");
    }

    /// Everybody paid once, the request was posted fifty times, and its name leads to `billings`.
    pub(super) async fn ends(&self, signer: &Signer, billings: usize) {
        assert_eq!(self.posts, 50);
        let heard = signer.scheduler.billings("one").await;
        assert_eq!(heard.body["data"].as_array().unwrap().len(), billings, "{heard:?}");
        let paid: Vec<u128> =
            (0..self.town.people.len()).map(|who| u128::from(self.places.contains(&who))).collect();
        self.town.assert_paid(&paid).await;
    }
}

fn only(named: BTreeSet<String>) -> String {
    assert_eq!(named.len(), 1, "{named:?}");
    named.into_iter().next().unwrap()
}

async fn from_before_the_commit_to_after_finality_the_answer_is_one_transaction(family: Family) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::on(family) };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    signer.ready().await;
    let mut request = Request::new(&town, [0, 1]);
    town.proxy.hold_billings_of(&town.people);
    let (named, ()) = tokio::join!(request.post(&signer, 10), async {
        town.proxy.struck().await;
        town.proxy.heal();
    });
    let hash = only(named);
    assert_eq!(only(request.post(&signer, 10).await), hash, "while it waits for a block");
    town.anvil.mine(1).await;
    assert_eq!(only(request.post(&signer, 10).await), hash, "in a block that is not final");
    signer.kill();
    let signer = town.signer().await;
    assert_eq!(only(request.post(&signer, 10).await), hash, "by the next process");
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    assert_eq!(only(request.post(&signer, 10).await), hash, "when it is final");
    request.ends(&signer, 1).await;
}

#[tokio::test]
async fn through_a_cancel_no_answer_names_it_and_afterwards_the_request_is_billed_anew() {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    signer.ready().await;
    let mut request = Request::new(&town, [0, 1]);
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("intrinsic gas too low"));
    let hash = only(request.post(&signer, 5).await);
    let attempts = async || {
        let heard = signer.scheduler.billings(&hash).await;
        heard.body["data"][0]["txHashes"].as_array().unwrap().len()
    };
    eventually("a cancel is signed", async || attempts().await > 1).await;
    assert_eq!(only(request.post(&signer, 15).await), hash, "it can still charge");
    town.proxy.heal();
    assert_eq!(town.settled(&signer, &hash).await["state"], "cancelled");
    let anew = only(request.post(&signer, 15).await);
    assert_ne!(anew, hash);
    assert_eq!(town.settled(&signer, &anew).await["state"], "charged");
    assert_eq!(only(request.post(&signer, 15).await), anew);
    request.ends(&signer, 2).await;
}
