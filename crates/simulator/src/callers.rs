//! The merchant's schedulers: they overlap, repeat themselves, change their minds about what belongs in a
//! request, contradict themselves, and post again when they hear nothing. They speak HTTP.

use crate::genesis::{CUSTOMERS, customer};
use crate::seed_settings::Shape;
use crate::world::{Side, World};
use alloy::primitives::{B256, U256};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Stands for the period if the contract knows none.
pub(crate) const NO_PERIOD: u32 = 1;

/// One entry: a customer in a period, and what it says of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) customer: u64,
    pub(crate) period: u32,
    amount: u64,
    /// User whose name stands in the entry.
    user: u64,
}

/// The answer that a caller heard.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    /// Code 1: this transaction, these subscriptions, and those that it leaves out.
    Sent { hash: B256, subscriptions: Vec<u64>, failed: Vec<Refusal>, repeated: bool },
    /// Code 2.
    Refused(Vec<Refusal>),
    /// Code 0, or a dry run: nothing was signed or sent.
    NothingDone(u16),
    /// The same, because somebody would have been refused, or is looked up, and fewer nodes can be asked than
    /// have to agree.
    TooFew,
    /// The same, because nodes contradict each other about somebody, or one of them is silent: another request may
    /// fare better.
    Disagreed,
    /// The same, because so many at once take too long: fewer may fare better.
    TooMany,
}

/// Why a subscription was not charged, and what to do.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) customer: u64,
    pub(crate) code: String,
    pub(crate) retry: String,
}

impl Heard {
    /// Returns true if the answer says nothing of any subscription.
    pub(crate) fn is_no_verdict(&self) -> bool {
        match self {
            Self::NothingDone(_) | Self::TooFew | Self::Disagreed | Self::TooMany => true,
            Self::Sent { .. } | Self::Refused(_) => false,
        }
    }

    /// The same, knowing of which transactions somebody was told before.
    pub(crate) fn after(mut self, told: &mut BTreeSet<B256>) -> Self {
        if let Self::Sent { hash, repeated, .. } = &mut self {
            *repeated = !told.insert(*hash);
        }
        self
    }
}

impl Refusal {
    /// The refusal of a customer who has paid.
    pub(crate) fn paid(customer: u64) -> Self {
        let [code, retry] = ["ALREADY_CHARGED", "DONE"].map(str::to_owned);
        Self { customer, code, retry }
    }

    /// The refusal of a customer who cannot pay.
    pub(crate) fn poor() -> Self {
        let [code, retry] = ["BALANCE_INSUFFICIENT", "USER"].map(str::to_owned);
        Self { customer: 0, code, retry }
    }

    /// Returns true if the journal alone gives this refusal, without asking the chain.
    pub(crate) fn is_from_the_journal(&self) -> bool {
        let codes = ["ALREADY_CHARGED", "BILLING_IN_PROGRESS", "CONFLICT", "OUTCOME_UNKNOWN"];
        codes.contains(&self.code.as_str())
    }
}

/// A subscription of a request that an earlier transaction charges, as an answer tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) side: Side,
    /// The number of the request.
    pub(crate) request: u64,
    pub(crate) customer: u64,
    pub(crate) hash: B256,
    /// True if the subscription is said to be charged, and not only under way.
    pub(crate) charged: bool,
}

/// A request, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) number: u64,
    pub(crate) side: Side,
    shape: Shape,
    pub(crate) lines: Vec<Line>,
    partial: bool,
    dry_run: bool,
    pub(crate) heard: Option<Heard>,
}

impl Request {
    /// Returns the path that the request is posted to.
    pub(crate) fn path(&self) -> &'static str {
        match self.side {
            Side::Evm => "/PayTool/EVM/subscribe/signProcessSubscribePlan",
            Side::Tron => "/PayTool/TVM/subscribe/signProcessSubscribePlan",
        }
    }

    /// Returns the body that is posted.
    pub(crate) fn body(&self, token: alloy::primitives::Address) -> Value {
        let entry = |line: &Line| {
            let mut entry = json!({
                "chainId": self.side.platform_id(),
                "subscribeId": line.customer,
                "planId": 1,
                "userHash": B256::from(U256::from(line.user + 1000)),
                "amount": line.amount,
                "tag": self.number,
            });
            if self.shape != Shape::Lookup {
                entry["userWallet"] = json!(customer(line.customer));
                entry["tokenAddress"] = json!(token);
            }
            match self.shape {
                Shape::Full | Shape::Bare => entry["period"] = json!(line.period),
                Shape::Guarded => entry["edition"] = json!(NO_PERIOD),
                Shape::Lookup => {}
            }
            entry
        };
        json!({
            "requestId": self.number.to_string(),
            "mode": if self.partial { "partial" } else { "all" },
            "dryRun": self.dry_run,
            "list": self.lines.iter().map(entry).collect::<Vec<_>>(),
        })
    }

    /// The period of one of its subscriptions.
    pub(crate) fn period_of(&self, subscription: u64) -> u32 {
        let line = self.lines.iter().find(|line| line.customer == subscription);
        line.map_or(0, |line| line.period)
    }

    /// The earlier transactions that an answer names, in whichever place.
    pub(crate) fn earlier(&self, body: &Value) -> Vec<Named> {
        let lists = [&body["data"]["earlier"], &body["earlier"]];
        let each = lists.into_iter().filter_map(Value::as_array).flatten();
        let named = |one: &Value| Named {
            side: self.side,
            request: self.number,
            customer: one["subscribeId"].as_u64().unwrap_or_default(),
            hash: hash_in(&one["txHash"]),
            charged: one["state"] == "charged",
        };
        each.map(named).collect()
    }

    /// Reads an answer.
    pub(crate) fn read(status: u16, body: &Value) -> Heard {
        let data = &body["data"];
        match body["code"].as_u64() {
            Some(1) => {
                let hash = hash_in(&data["txHash"]);
                let earlier = data["earlier"].as_array().into_iter().flatten();
                let earlier = earlier.map(|one| &one["subscribeId"]);
                let ids = data["subscriptionIds"].as_array().into_iter().flatten().chain(earlier);
                Heard::Sent {
                    hash,
                    subscriptions: ids.filter_map(Value::as_u64).collect(),
                    failed: refusals(&data["failed"]),
                    repeated: false,
                }
            }
            Some(2) => Heard::Refused(refusals(data)),
            _ => {
                let words = body["msg"].as_str().unwrap_or_default();
                let unclear =
                    ["disagree about what can be charged", "did not answer; post it again"];
                if unclear.iter().any(|said| words.contains(said)) {
                    Heard::Disagreed
                } else if words.contains("providers must agree") {
                    Heard::TooFew
                } else if words.contains("charges at once take more CPU time") {
                    Heard::TooMany
                } else {
                    Heard::NothingDone(status)
                }
            }
        }
    }
}

fn hash_in(text: &Value) -> B256 {
    let bytes = alloy::hex::decode(text.as_str().unwrap_or_default()).unwrap_or_default();
    B256::try_from(bytes.as_slice()).unwrap_or_default()
}

fn refusals(list: &Value) -> Vec<Refusal> {
    let one = |value: &Value| Refusal {
        customer: value["subscribeId"].as_u64().unwrap_or_default(),
        code: value["failCode"].as_str().unwrap_or_default().to_owned(),
        retry: value["retry"].as_str().unwrap_or_default().to_owned(),
    };
    list.as_array().into_iter().flatten().map(one).collect()
}

/// All requests of one seed.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    pub(crate) requests: Vec<Request>,
}

impl Callers {
    /// Makes another request.
    pub(crate) fn post(&mut self, world: &mut World, second: u64) -> Request {
        let either = if world.dice.one_in(2) { Side::Evm } else { Side::Tron };
        let side = world.only.unwrap_or(either);
        let shape = world.scene.shape(side);
        let period = match shape {
            Shape::Guarded => NO_PERIOD,
            Shape::Full | Shape::Bare | Shape::Lookup => {
                1 + u32::try_from(second / 60).unwrap_or(0)
            }
        };
        let earlier = self.earlier(side, world);
        let dice = &mut world.dice;
        let (what, lines) = match (dice.below(20), earlier) {
            (0..6, Some(earlier)) => ("posted again", earlier),
            (6..8, Some(mut earlier)) => {
                earlier.truncate(earlier.len().div_ceil(2));
                ("posted a subset", earlier)
            }
            (8..10, Some(mut earlier)) => {
                let more = some(dice, period);
                let known: Vec<u64> = earlier.iter().map(|line| line.customer).collect();
                earlier.extend(more.into_iter().filter(|line| !known.contains(&line.customer)));
                ("posted a superset", earlier)
            }
            (10, Some(mut earlier)) => {
                earlier[0].amount += 1;
                ("posted another amount", earlier)
            }
            (11, Some(mut earlier)) => {
                earlier[0].user += 100;
                ("posted another user", earlier)
            }
            _ => ("posted", some(dice, period)),
        };
        let (partial, dry_run) = (dice.one_in(4), dice.one_in(25));
        let number = u64::try_from(self.requests.len()).unwrap_or(u64::MAX) + 1;
        world.note(side.name(), what, number);
        let request = Request { number, side, shape, lines, partial, dry_run, heard: None };
        self.requests.push(request.clone());
        request
    }

    fn earlier(&self, side: Side, world: &mut World) -> Option<Vec<Line>> {
        let recent: Vec<&Request> =
            self.requests.iter().rev().filter(|one| one.side == side).take(6).collect();
        (!recent.is_empty()).then(|| recent[world.dice.place(recent.len())].lines.clone())
    }

    /// The amount and the user that a request named for one of its subscriptions.
    pub(crate) fn terms(&self, request: u64, subscription: u64) -> (u64, u64) {
        let request = self.requests.iter().find(|one| one.number == request);
        let mut lines = request.iter().flat_map(|one| &one.lines);
        lines
            .find(|line| line.customer == subscription)
            .map_or((0, 0), |line| (line.amount, line.user))
    }

    /// The chain that a request is for.
    pub(crate) fn side_of(&self, number: u64) -> Option<Side> {
        self.requests.iter().find(|request| request.number == number).map(|request| request.side)
    }

    /// Writes down what a caller heard.
    pub(crate) fn hear(&mut self, number: u64, heard: Heard) {
        let at = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        if let Some(request) = self.requests.get_mut(at) {
            request.heard = Some(heard);
        }
    }
}

fn some(dice: &mut crate::dice::Dice, period: u32) -> Vec<Line> {
    let (first, count) = (dice.below(CUSTOMERS), 1 + dice.below(3));
    // Now and then a scheduler is late.
    let period = if dice.one_in(6) { period.saturating_sub(1).max(1) } else { period };
    let line = |customer: u64| Line { customer, period, amount: 500, user: customer };
    (first..first + count).map(|n| line(1 + n % CUSTOMERS)).collect()
}

/// The words for what was heard, for the trace.
pub(crate) fn word(heard: &Heard) -> &'static str {
    let of = |list: &[Refusal], wanted| list.iter().any(|one| one.code == wanted);
    match heard {
        Heard::Sent { failed, .. } if !failed.is_empty() => "answered: sent in part",
        Heard::Sent { .. } => "answered: sent",
        Heard::Refused(list) if of(list, "CONFLICT") => "answered: conflict",
        Heard::Refused(list) if of(list, "ALREADY_CHARGED") => "answered: already charged",
        Heard::Refused(list) if of(list, "BILLING_IN_PROGRESS") => "answered: in progress",
        Heard::Refused(_) => "answered: refused",
        Heard::NothingDone(503) => "answered: 503",
        Heard::TooFew => "answered: 503, too few to agree",
        Heard::Disagreed => "answered: 503, nodes disagree",
        Heard::TooMany => "answered: 503, too many at once",
        Heard::NothingDone(_) => "answered: nothing done",
    }
}
