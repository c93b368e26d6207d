//! The exchanges between the Signer and the nodes: questions that get lost, answers that come late or never, and
//! one node that says what is not so.

use crate::dice::Fault;
use crate::false_answers;
use crate::mutants::Mutant;
use crate::world::{Kind, Shared, Side, World};
use alloy::primitives::{B256, keccak256};
use async_trait::async_trait;
use node::{Dial, Exchange, NoReply, Reply, Target, Undialable};
use sandbox_chains::eth;
use sandbox_chains::tron::http::Port;
use sandbox_chains::tron::tx::Tx;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Dials into the world.
#[derive(Clone)]
pub(crate) struct Cable {
    pub(crate) world: Shared,
    /// Which process holds it.
    pub(crate) life: u64,
}

/// One door of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Evm(usize),
    Tron(usize, Port),
}

impl Place {
    /// Returns the place that a URL of the configuration leads to: `http://evm2/`, `http://tron0-solidity/`.
    fn of(url: &str) -> Option<Self> {
        let host = url.strip_prefix("http://")?.split(['/', '.']).next()?;
        if let Some(number) = host.strip_prefix("evm") {
            return number.parse().ok().map(Self::Evm);
        }
        let (number, door) = host.strip_prefix("tron")?.split_once('-')?;
        let port = match door {
            "full" => Port::Full,
            "solidity" => Port::Solidity,
            "jsonrpc" => Port::JsonRpc,
            _ => return None,
        };
        number.parse().ok().map(|number| Self::Tron(number, port))
    }

    pub(crate) fn side(self) -> Side {
        match self {
            Self::Evm(_) => Side::Evm,
            Self::Tron(..) => Side::Tron,
        }
    }

    pub(crate) fn number(self) -> usize {
        match self {
            Self::Evm(number) | Self::Tron(number, _) => number,
        }
    }
}

/// A question on its way.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) at: Place,
    pub(crate) path: String,
    pub(crate) body: String,
    /// The body, read.
    pub(crate) json: Value,
    /// Its method or the last part of its path.
    pub(crate) name: String,
    /// The transaction that it offers.
    pub(crate) offers: Option<B256>,
    /// The transaction that it asks about.
    pub(crate) names: Option<B256>,
}

impl Question {
    fn new(at: Place, path: &str, body: Vec<u8>) -> Self {
        let json: Value = serde_json::from_slice(&body).unwrap_or_default();
        let name = match json.get("method").and_then(Value::as_str) {
            Some(method) => method.to_owned(),
            None => path.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        let offers = match name.as_str() {
            "eth_sendRawTransaction" => bytes(&json["params"][0]).map(keccak256),
            "broadcasthex" => {
                bytes(&json["transaction"]).and_then(|raw| Tx::decode(&raw).ok()).map(|tx| tx.id)
            }
            _ => None,
        };
        let named = if json["params"][0].is_string() { &json["params"][0] } else { &json["value"] };
        let names = bytes(named).and_then(|hash| B256::try_from(hash.as_slice()).ok());
        let body = String::from_utf8(body).unwrap_or_default();
        Self { at, path: path.to_owned(), body, json, name, offers, names }
    }
}

impl Question {
    /// The transaction whose record in irrevocable blocks it asks for, and which provider (TRON).
    fn asks_for_a_record(&self) -> Option<(B256, usize)> {
        let record = self.name == "gettransactioninfobyid";
        let Place::Tron(provider, Port::Solidity) = self.at else { return None };
        self.names.filter(|_| record).map(|hash| (hash, provider))
    }
}

fn bytes(text: &Value) -> Option<Vec<u8>> {
    alloy::hex::decode(text.as_str()?).ok()
}

impl fmt::Debug for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cable").field("life", &self.life).finish_non_exhaustive()
    }
}

impl Dial for Cable {
    fn dial(&self, target: Target<'_>) -> Result<Arc<dyn Exchange>, Undialable> {
        let at = Place::of(target.url.expose()).ok_or(Undialable::Url)?;
        let (world, life) = (Arc::clone(&self.world), self.life);
        Ok(Arc::new(Wire { cable: Self { world, life }, at, timeout: target.timeout }))
    }

    fn seed(&self) -> u64 {
        self.life
    }
}

#[derive(Debug)]
struct Wire {
    cable: Cable,
    at: Place,
    timeout: Duration,
}

/// The course of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// It goes well.
    Well,
    /// Nobody listens.
    Down,
    /// The question is lost.
    Lost,
    /// The answer is lost.
    Unheard,
    /// The connection breaks after the node has acted.
    Broken,
    /// A proxy answers instead.
    BadGateway,
    /// The node gets it twice.
    Twice,
}

#[async_trait]
impl Exchange for Wire {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Reply, NoReply> {
        let question = Question::new(self.at, path, body);
        let Some((course, there, back)) = self.cable.set_out(&question) else {
            return std::future::pending().await;
        };
        sleep(Duration::from_millis(there)).await;
        match course {
            Course::Down => return Err(NoReply::Refused),
            Course::Lost => {
                sleep(self.timeout).await;
                return Err(NoReply::TimedOut);
            }
            Course::BadGateway => return Ok(reply(502, b"<html>bad gateway</html>".to_vec())),
            Course::Well | Course::Unheard | Course::Broken | Course::Twice => {}
        }
        let Some(answer) = self.cable.act(&question, course) else {
            return std::future::pending().await;
        };
        sleep(Duration::from_millis(back)).await;
        sleep(self.cable.stopped()).await;
        match course {
            Course::Unheard => {
                sleep(self.timeout).await;
                Err(NoReply::TimedOut)
            }
            Course::Broken => Err(NoReply::Broken),
            Course::Well | Course::Down | Course::Lost | Course::BadGateway | Course::Twice => {
                if self.cable.alive() {
                    Ok(answer)
                } else {
                    Err(NoReply::Broken)
                }
            }
        }
    }

    /// No node of the world has anything to get.
    async fn get(&self, _path: &str, _query: &[(&str, u64)]) -> Result<Reply, NoReply> {
        Ok(reply(404, Vec::new()))
    }
}

fn reply(status: u16, body: Vec<u8>) -> Reply {
    Reply { status, retry_after: None, body }
}

impl Cable {
    /// Returns true if the process that holds it still lives.
    pub(crate) fn alive(&self) -> bool {
        self.world.lock().is_alive(self.life)
    }

    /// Returns the time that the process that holds it is stopped from now on.
    fn stopped(&self) -> Duration {
        let world = self.world.lock();
        let stale = world.stale.filter(|stale| stale.life == self.life);
        Duration::from_millis(stale.map_or(0, |it| it.wakes_ms.saturating_sub(world.now_ms)))
    }

    /// Returns the course of the exchange, and the time of each way (ms). None when the process is gone.
    fn set_out(&self, question: &Question) -> Option<(Course, u64, u64)> {
        let mut world = self.world.lock();
        let world = &mut *world;
        if !world.is_alive(self.life) {
            return None;
        }
        if let Some((hash, provider)) = question.asks_for_a_record() {
            world.watch.asks(self.life, hash, provider);
        }
        let name = question.at.side().name();
        if world.fault(name, Fault::Kill) {
            world.kill();
            return None;
        }
        let usual = [
            (Fault::NodeDown, Course::Down),
            (Fault::NodeSilent, Course::Lost),
            (Fault::SilentAfterTaking, Course::Unheard),
            (
                Fault::NodeFails,
                if world.dice.one_in(2) { Course::BadGateway } else { Course::Broken },
            ),
            (Fault::ActTwice, Course::Twice),
        ];
        let (away, until_ms) = world.away[question.at.side().place()];
        let gone = away == question.at.number() && world.now_ms < until_ms;
        let dark = gone || world.is_dark(question.at.side());
        let mut course = if dark { Course::Down } else { Course::Well };
        for (fault, then) in usual {
            if course == Course::Well && world.fault(name, fault) {
                course = then;
                world.disturbed_ms[question.at.side().place()] = world.now_ms;
            }
        }
        let slow = world.fault(name, Fault::SlowAnswer);
        let most = if slow { 1400 } else { 30 };
        let (there, back) = (1 + world.dice.below(most), 1 + world.dice.below(most));
        Some((course, there, back))
    }

    /// The node acts. None when the process is killed just then.
    fn act(&self, question: &Question, course: Course) -> Option<Reply> {
        let mut world = self.world.lock();
        let world = &mut *world;
        if !world.is_alive(self.life) {
            return None;
        }
        if let Some(hash) = question.offers {
            world.offered(question.at.side(), hash);
            world.rob(question.at.side());
        }
        let mut answer = world.answer(question);
        if course == Course::Twice {
            answer = world.answer(question);
        }
        world.log.mix(u64::from(answer.status));
        if matches!(course, Course::Well | Course::Twice)
            && answer.body.trim_ascii() == b"{}"
            && let Some((hash, provider)) = question.asks_for_a_record()
        {
            world.watch.denies(self.life, hash, provider);
        }
        world.misjudge(question, &answer, course);
        let name = question.at.side().name();
        if world.fault(name, Fault::Kill) {
            world.kill();
            return None;
        }
        Some(answer)
    }
}

impl World {
    /// Concludes from an answer, as a Signer with a broken rule does, that its claims are free.
    fn misjudge(&mut self, question: &Question, answer: &Reply, course: Course) {
        if self.mutant.is_none() {
            return;
        }
        let text = String::from_utf8_lossy(&answer.body);
        let unheard = matches!(course, Course::Unheard | Course::Broken);
        let refused = text.contains("\"error\"") || text.contains("\"code\"");
        let late = text.contains("nonce too low") || text.contains("EXPIRATION");
        if let Some(hash) = question.offers {
            let cancel = self.durable.get(&hash) == Some(&Kind::Cancel);
            let wrong = (self.breaks(Mutant::ReleaseOnReject) && refused)
                || (self.breaks(Mutant::ReleaseOnSendError) && unheard)
                || (self.breaks(Mutant::TooLateIsDead) && refused && late)
                || (self.breaks(Mutant::CancelReleasesAtBroadcast) && cancel);
            self.released.extend(wrong.then_some(hash));
        }
        let receipts = ["eth_getTransactionReceipt", "gettransactioninfobyid"];
        if self.breaks(Mutant::AbsenceProof) && receipts.contains(&question.name.as_str()) {
            let absent = text.trim() == "{}" || text.contains("\"result\":null");
            self.released.extend(question.names.filter(|_| absent));
        }
    }

    /// Bytes are seen to leave.
    pub(crate) fn offered(&mut self, side: Side, hash: B256) {
        self.sent.insert(hash);
        if !self.durable.contains_key(&hash) && self.broken.is_none() {
            self.broken =
                Some(format!("I2: {hash} left for {} before it was on disk", side.name()));
        }
    }

    /// Returns the answer of a node, true or false.
    fn answer(&mut self, question: &Question) -> Reply {
        if let Some(false_one) = false_answers::instead(self, question) {
            return reply(200, false_one.to_string().into_bytes());
        }
        let told = match question.at {
            Place::Evm(number) => {
                let said = eth::respond_to(&self.evm.members[number], question.json.clone());
                reply(200, said.map(|said| said.to_string().into_bytes()).unwrap_or_default())
            }
            Place::Tron(number, port) => {
                let path = match port {
                    Port::JsonRpc | Port::JsonRpcSolidity => "/jsonrpc".to_owned(),
                    Port::Full | Port::Solidity => {
                        format!("/{}", question.path.trim_start_matches('/'))
                    }
                };
                let said = self.tron.members[number].answer(port, "POST", &path, &question.body);
                reply(said.status, said.body.into_bytes())
            }
        };
        false_answers::falsified(self, question, told)
    }
}
