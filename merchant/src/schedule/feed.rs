//! The inbox, as the scheduler sees it: the third book, and the way to the merchant.

use super::book::{Callback, Letter, Who};
use super::entry::{integer, text};
use crate::digest::short_of;
use crate::error::CallError;
use crate::sign::Credentials;
use crate::transport::{Answers, SetupError, Transport, typed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The envelope code of the inbox's success.
const SUCCESS: i64 = 200;
/// Number of events that are asked for at once.
const STRETCH: u32 = 500;

/// HTTP: the cursor is not of this feed.
const CONFLICT: u16 = 409;

/// The inbox's answer to a reader.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The next billing callbacks.
    Callbacks {
        callbacks: Vec<Callback>,
        /// The cursor behind them.
        next: String,
    },
    /// The inbox's file is another one, or an older copy of it: the cursor means nothing there.
    OtherFeed,
}

/// The private side of the inbox.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    transport: Transport,
}

/// A stretch of the feed, as far as the scheduler reads it.
#[derive(Debug, Deserialize)]
struct Stretch {
    /// The place to go on after.
    next: String,
    events: Vec<Event>,
}

#[derive(Debug, Deserialize)]
struct Event {
    /// `eventId`.
    #[serde(rename = "eventId")]
    name: String,
    #[serde(rename = "type")]
    kind: String,
    payload: Box<RawValue>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Notice<'a> {
    /// Recognised when it comes again.
    id: String,
    stream: &'a str,
    payload: &'a RawValue,
}

impl Feed {
    pub(crate) fn new(url: &str, credentials: Credentials) -> Result<Self, SetupError> {
        Ok(Self { transport: Transport::new(url, credentials, Answers::Unsigned)? })
    }

    /// The billing callbacks after a cursor, or from the first, and how far that reaches. The end is
    /// reached when the cursor stays.
    pub(crate) async fn after(&self, cursor: &str) -> Result<Heard, CallError> {
        let path = format!("/events?after={cursor}&limit={STRETCH}");
        let reply = self.transport.exchange(&path, None).await?;
        let status = reply.http_status;
        if status == CONFLICT {
            return Ok(Heard::OtherFeed);
        }
        let stretch: Stretch = typed(status, reply.success(SUCCESS)?.as_deref())?;
        let callbacks = stretch.events.iter().filter_map(callback).collect();
        Ok(Heard::Callbacks { callbacks, next: stretch.next })
    }

    /// Hands letters over. `of` tells this scheduler's letters from those of another.
    pub(crate) async fn tell(&self, of: &str, letters: &[Letter]) -> Result<(), CallError> {
        let unsendable = |why: serde_json::Error| CallError::Unsent {
            peer: self.transport.peer().to_owned(),
            why: why.to_string(),
        };
        let mut notices = vec![];
        for letter in letters {
            let payload = serde_json::from_str(&letter.body).map_err(unsendable)?;
            // An older copy of the state numbers other letters alike.
            let digest = short_of(&letter.body);
            let id = format!("{of}/{}/{digest}", letter.id);
            notices.push(Notice { id, stream: &letter.stream, payload });
        }
        let body = serde_json::to_string(&notices).map_err(unsendable)?;
        self.transport.exchange("/notices", Some(&body)).await?.success(SUCCESS).map(drop)
    }
}

/// A billing callback that names a transaction; nothing else has a place in the books.
fn callback(event: &Event) -> Option<Callback> {
    if event.kind != "SubscriptionBilling" {
        return None;
    }
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(event.payload.get()).ok()?;
    Some(Callback {
        event: event.name.clone(),
        tx_hash: text(&fields, "transferHash")?,
        who: Who {
            chain: integer(&fields, "chainId"),
            id: integer(&fields, "subscribeId").or_else(|| integer(&fields, "subscriptionId")),
            plan: integer(&fields, "planId"),
            wallet: text(&fields, "userWallet"),
            trade_no: text(&fields, "outTradeNo"),
        },
    })
}
