//! The merchant's schedulers: they overlap, repeat themselves, change their minds about what belongs
//! in a request, contradict themselves, and post again when they hear nothing.

use super::adapter::TAG;
use super::faults::Dice;
use super::nodes::World;
use crate::billing::{Entry, FailCode, Mode, Order, Refused, RequestId, Scalar};
use crate::engine::{Answer, NoVerdict};
use alloy::primitives::{B256, U256};

/// How many customers there are.
const CUSTOMERS: u64 = 9;

/// One entry: a customer in a period, and what it says of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) customer: u64,
    pub(super) period: u64,
    amount: u64,
    /// Whose name stands in it.
    user: u64,
}

/// What a caller heard.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    /// Code 1: this transaction, these subscriptions, and those that it leaves out.
    Sent { hash: B256, subscriptions: Vec<i64>, failed: Vec<(i64, FailCode)> },
    /// Code 2.
    Refused(Vec<(i64, FailCode)>),
    /// Code 0, or a dry run: nothing was signed or sent.
    NothingDone,
}

/// A request, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) lines: Vec<Line>,
    mode: Mode,
    dry_run: bool,
    pub(super) heard: Option<Heard>,
}

impl Request {
    /// What the Signer reads.
    pub(super) fn order(&self) -> Order {
        let entries = self.lines.iter().map(|line| line.entry(self.number)).collect();
        let order = Order::admit(entries, 100).unwrap();
        let request_id = Some(RequestId::parse(&self.number.to_string()).unwrap());
        Order { request_id, mode: self.mode, dry_run: self.dry_run, ..order }
    }

    /// The period of one of its subscriptions.
    pub(super) fn period_of(&self, subscription: i64) -> U256 {
        let line = self.lines.iter().find(|line| u64::try_from(subscription) == Ok(line.customer));
        line.map_or(U256::ZERO, |line| U256::from(line.period))
    }
}

impl Line {
    fn entry(&self, request: u64) -> Entry {
        let number = |n: u64| Scalar::Number(n.to_string());
        let text = |text: &str| Scalar::Text(text.to_owned());
        let user = B256::from(U256::from(self.user + 1000));
        let fields = [
            ("subscribeId", number(self.customer)),
            ("planId", number(1)),
            ("userHash", Scalar::Text(user.to_string())),
            ("period", number(self.period)),
            ("amount", number(self.amount)),
            ("userWallet", text("0x1111111111111111111111111111111111111111")),
            ("tokenAddress", text("0x2222222222222222222222222222222222222222")),
            (TAG, number(request)),
        ];
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Entry::parse(fields).unwrap()
    }
}

/// All requests of one seed.
#[derive(Debug, Default)]
pub(super) struct Clients {
    pub(super) requests: Vec<Request>,
}

impl Clients {
    /// Posts another request.
    pub(super) fn post(&mut self, world: &mut World) -> Request {
        let period = 1 + world.log.step / 50;
        let earlier = self.earlier(&mut world.dice);
        let dice = &mut world.dice;
        let (what, lines) = match (dice.below(20), earlier) {
            (0..6, Some(earlier)) => ("posted again", earlier),
            (6..8, Some(mut earlier)) => {
                earlier.truncate(earlier.len().div_ceil(2));
                ("posted a subset", earlier)
            }
            (8..10, Some(mut earlier)) => {
                earlier.extend(
                    some(dice, period)
                        .into_iter()
                        .filter(|line| !earlier.iter().any(|other| other.customer == line.customer))
                        .collect::<Vec<_>>(),
                );
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
        let mode = if dice.one_in(4) { Mode::Partial } else { Mode::All };
        let dry_run = dice.one_in(25);
        let number = self.requests.len() as u64 + 1;
        world.note(what, number, lines.len() as u64);
        let request = Request { number, lines, mode, dry_run, heard: None };
        self.requests.push(request.clone());
        request
    }

    fn earlier(&self, dice: &mut Dice) -> Option<Vec<Line>> {
        let recent = &self.requests[self.requests.len().saturating_sub(8)..];
        (!recent.is_empty()).then(|| dice.pick(recent).lines)
    }

    /// Whether the very same list was posted before, and not refused.
    pub(super) fn known(&self, lines: &[Line]) -> bool {
        let (_, before) = self.requests.split_last().unwrap();
        before.iter().any(|request| {
            request.lines == lines && matches!(request.heard, None | Some(Heard::Sent { .. }))
        })
    }

    /// Writes down what a caller heard.
    pub(super) fn hear(&mut self, number: u64, answer: Result<Answer, NoVerdict>) -> &Request {
        let heard = match answer {
            Ok(Answer::Sent(sent)) => Heard::Sent {
                hash: sent.transaction.hash(),
                subscriptions: {
                    let named = sent.subscriptions.iter();
                    let named = named.map(|id| id.json().trim_matches('"').parse().unwrap());
                    named.chain(sent.earlier.iter().map(|one| one.subscribe.0)).collect()
                },
                failed: codes(&sent.failed),
            },
            Ok(Answer::Refused(refused, _)) => Heard::Refused(codes(&refused)),
            Ok(Answer::Rehearsed(_)) | Err(_) => Heard::NothingDone,
        };
        let request = &mut self.requests[usize::try_from(number - 1).unwrap()];
        request.heard = Some(heard);
        request
    }
}

fn some(dice: &mut Dice, period: u64) -> Vec<Line> {
    let (first, count) = (dice.below(CUSTOMERS), 1 + dice.below(4));
    // Now and then a scheduler is late.
    let period = if dice.one_in(6) { period.saturating_sub(1).max(1) } else { period };
    let line = |customer: u64| Line { customer, period, amount: 500, user: customer };
    (first..first + count).map(|n| line(1 + n % CUSTOMERS)).collect()
}

fn codes(refused: &[Refused]) -> Vec<(i64, FailCode)> {
    refused.iter().map(|refused| (refused.subscribe.0, refused.code)).collect()
}

/// The words for what was heard, for the trace.
pub(super) fn word(heard: &Heard) -> &'static str {
    let of = |codes: &[(i64, FailCode)], wanted| codes.iter().any(|(_, code)| *code == wanted);
    match heard {
        Heard::Sent { failed, .. } if !failed.is_empty() => "answered: sent in part",
        Heard::Sent { .. } => "answered: sent",
        Heard::Refused(codes) if of(codes, FailCode::Conflict) => "answered: conflict",
        Heard::Refused(codes) if of(codes, FailCode::AlreadyCharged) => "answered: already charged",
        Heard::Refused(codes) if of(codes, FailCode::BillingInProgress) => "answered: in progress",
        Heard::Refused(_) => "answered: refused",
        Heard::NothingDone => "answered: no verdict",
    }
}
