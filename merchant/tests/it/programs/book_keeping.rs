//! What the counterparts remember: who is due, who was charged by what, and every offence.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The chain that everything happens on.
pub(super) const CHAIN: i64 = 139;

/// A subscription in one period.
pub(super) type Due = (i64, i64);

/// A transaction of the Signer.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) items: Vec<Due>,
    /// How often it was looked at; it is final at the second look.
    pub(super) looks: u32,
    pub(super) reverts: bool,
}

/// Everything that the counterparts know.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// What the platform lists.
    pub(super) due: BTreeSet<Due>,
    /// What every request said, by request id.
    pub(super) requests: BTreeMap<String, String>,
    /// The request that each (subscription, period) was accepted in.
    pub(super) accepted: BTreeMap<Due, String>,
    /// The Signer's claims.
    pub(super) claims: BTreeMap<Due, usize>,
    pub(super) transactions: Vec<Transaction>,
    /// How often each was charged on chain.
    pub(super) charged: BTreeMap<Due, u32>,
    /// Wallets without money.
    pub(super) broke: BTreeSet<i64>,
    /// How many entries the Signer takes.
    pub(super) most: usize,
    /// Transactions by number that revert.
    pub(super) reverting: BTreeSet<usize>,
    /// What the scheduler told the inbox, by id.
    pub(super) letters: BTreeMap<String, Value>,
    /// Whether the scheduler may have lost its state: it asks again then for what was accepted.
    pub(super) state_may_be_lost: bool,
    /// How many of the first requests name themselves as another program did before.
    pub(super) first_names_taken: usize,
    /// How many requests were refused because their id stood for other entries.
    pub(super) names_taken: usize,
    /// What tells the inbox's feed from that of another file.
    pub(super) feed: String,
    /// What nobody may do.
    pub(super) offences: Vec<String>,
}

impl Ledger {
    /// Subscriptions 1 to `count`, due in period 1.
    pub(super) fn of(count: i64) -> Self {
        Self { due: (1..=count).map(|id| (id, 1)).collect(), most: 500, ..Self::default() }
    }

    /// Everybody who is due, or was.
    pub(super) fn subscriptions(&self) -> BTreeSet<i64> {
        self.due.iter().chain(self.accepted.keys()).map(|(id, _)| *id).collect()
    }

    pub(super) fn entry(id: i64, period: i64) -> Value {
        json!({"subscribeId": id, "chainId": CHAIN, "planId": 5, "period": period, "amount": 7,
            "outTradeNo": format!("order-{id}"), "userWallet": format!("0x{id:040x}"),
            "userHash": format!("0x{id:064x}")})
    }

    /// Answers a batch as the API page says, with (HTTP status, answer).
    pub(super) fn bill(&mut self, body: &str) -> (u16, Value) {
        let request: Value = serde_json::from_str(body).expect("the scheduler writes JSON");
        let id = request["requestId"].as_str().unwrap_or_default().to_owned();
        let list: Vec<Due> = request["list"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|e| Some((e["subscribeId"].as_i64()?, e["period"].as_i64()?)))
            .collect();
        if list.len() > self.most {
            return (413, json!({"code": 0, "msg": "too many", "data": null}));
        }
        let known = self.requests.entry(id.clone()).or_insert_with(|| body.to_owned());
        let taken_before = self.names_taken < self.first_names_taken;
        if (known != body || taken_before) && self.state_may_be_lost {
            self.names_taken += 1;
            let said = "this requestId stands for other entries already: give a request with other \
                        entries another one";
            return (409, json!({"code": 0, "msg": said, "data": null}));
        }
        if known != body || request["mode"] != "partial" {
            self.offences.push(format!("request {id} came with other bytes: {body}"));
        }
        self.answer(&id, list)
    }

    fn answer(&mut self, id: &str, list: Vec<Due>) -> (u16, Value) {
        for due in &list {
            let other = self.accepted.get(due).filter(|other| *other != id);
            if let Some(other) = other.filter(|_| !self.state_may_be_lost) {
                self.offences.push(format!("{due:?} was accepted in {other} and posted in {id}"));
            }
        }
        let claimed: BTreeSet<usize> =
            list.iter().filter_map(|d| self.claims.get(d).copied()).collect();
        let all_claimed = list.iter().all(|due| self.claims.contains_key(due));
        if let (true, Some(number)) = (all_claimed && claimed.len() == 1, claimed.first()) {
            return (200, sent(*number, &list, &[]));
        }
        let (mut free, mut failed) = (vec![], vec![]);
        for due in list {
            match self.claims.get(&due) {
                Some(number) => {
                    failed.push(failure(due, "BILLING_IN_PROGRESS", "WAIT", Some(*number)));
                }
                None if self.broke.contains(&due.0) => {
                    failed.push(failure(due, "BALANCE_INSUFFICIENT", "USER", None));
                }
                None => free.push(due),
            }
        }
        if free.is_empty() {
            return (200, json!({"code": 2, "msg": "none", "data": failed}));
        }
        let number = self.transactions.len();
        for due in &free {
            self.claims.insert(*due, number);
            self.accepted.insert(*due, id.to_owned());
        }
        let reverts = self.reverting.contains(&number);
        self.transactions.push(Transaction { items: free.clone(), looks: 0, reverts });
        (200, sent(number, &free, &failed))
    }

    /// The status of a transaction: open at the first look, final at the second.
    pub(super) fn status(&mut self, hash: &str) -> (u16, Value) {
        let number = usize::from_str_radix(hash.trim_start_matches("0x"), 16).unwrap_or(usize::MAX);
        let Some(transaction) = self.transactions.get_mut(number) else {
            return (404, json!({"code": 0, "msg": "no billing", "data": null}));
        };
        transaction.looks = transaction.looks.saturating_add(1);
        let (looks, reverts) = (transaction.looks, transaction.reverts);
        let items = transaction.items.clone();
        let state = match looks {
            1 => "open",
            _ if reverts => "reverted",
            _ => "charged",
        };
        if looks == 2 {
            for due in &items {
                self.due.remove(due);
                if reverts {
                    self.due.insert(*due);
                    self.claims.remove(due);
                    self.accepted.remove(due);
                } else {
                    let count = self.charged.entry(*due).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        let lines: Vec<Value> = items
            .iter()
            .map(|(id, _)| json!({"subscribeId": id, "planId": 5, "amount": 7, "state": state}))
            .collect();
        let status = json!({"txHash": hash_of(number), "txHashes": [hash_of(number)],
            "state": state, "chainId": CHAIN, "subscriptions": lines});
        (200, json!({"code": 1, "msg": "success", "data": [status]}))
    }

    /// The feed of the inbox: one callback for each charge, in the order of the transactions.
    pub(super) fn feed(&self, after: &str) -> (u16, Value) {
        let place = |position: i64| format!("{position}-{}", self.feed);
        let after: i64 = match after.split_once('-') {
            None => 0,
            Some((position, feed)) if feed == self.feed => position.parse().expect("a position"),
            Some(_) => return (409, json!({"code": 409, "msg": "another feed", "data": null})),
        };
        let charged =
            self.transactions.iter().enumerate().filter(|(_, t)| t.looks > 1 && !t.reverts);
        let all = charged.flat_map(|(number, t)| t.items.iter().map(move |due| (number, *due)));
        let events: Vec<Value> = (1_i64..)
            .zip(all)
            .filter(|(position, _)| *position > after)
            .map(|(position, (number, (id, _)))| {
                json!({"position": position, "eventId": format!("evt_{number}_{id}"),
                    "type": "SubscriptionBilling", "payload": {
                    "subscriptionType": "SubscriptionBilling", "outTradeNo": format!("order-{id}"),
                    "chainId": CHAIN, "planId": 5, "transferHash": hash_of(number)}})
            })
            .collect();
        let next =
            place(events.last().map_or(after, |event| event["position"].as_i64().unwrap_or(0)));
        (200, json!({"code": 200, "msg": "success", "data": {"next": next, "events": events}}))
    }
}

fn hash_of(number: usize) -> String {
    format!("0x{number:064x}")
}

fn sent(number: usize, list: &[Due], failed: &[Value]) -> Value {
    let ids: Vec<i64> = list.iter().map(|due| due.0).collect();
    json!({"code": 1, "msg": "sent", "data": {"txHash": hash_of(number), "chainId": CHAIN,
        "subscriptionIds": ids, "failed": failed}})
}

fn failure(due: Due, code: &str, retry: &str, number: Option<usize>) -> Value {
    json!({"subscribeId": due.0, "planId": 5, "failReason": code.to_lowercase(), "failCode": code,
        "retry": retry, "txHash": number.map(hash_of)})
}
