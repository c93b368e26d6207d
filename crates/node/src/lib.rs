#![doc = include_str!("../README.md")]

mod agree;
mod allowance;
mod ask;
mod broadcast;
mod client;
mod decode;
mod error;
mod exchange;
mod fleet;
mod group;
mod health;
mod http;
mod jsonrpc;
mod member;
mod quorum;
mod redact;
mod retries;
mod rules;
mod traffic;

pub use agree::{HeadSeen, NonceSeen, median, reached_by, refuted, shared, undenied};
pub use ask::Asker;
pub use client::Client;
pub use decode::{NotRead, decode};
pub use error::{AskError, Fault, NodeError, RealChain};
pub use exchange::{Dial, Exchange, HeaderKey, LONGEST_ANSWER, NoReply, Reply, Target, Undialable};
pub use fleet::Fleet;
pub use group::{NodeGroup, NodeView, Trust};
pub use health::State;
pub use http::Http;
pub use jsonrpc::{JsonRpc, Request, UnusableUrl};
pub use quorum::NoAgreement;
pub use redact::Redactor;
pub use rules::{FleetRules, Member, NodeId};
pub use traffic::{MethodTraffic, NoAnswer, NodeTraffic};
