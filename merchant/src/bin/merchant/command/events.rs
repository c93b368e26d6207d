//! `merchant events list`, `show`, `replay`, `skip`.

use super::Context;
use crate::output::{Failure, or_dash};
use clap::{Args, Subcommand};
use merchant::StoreError;
use merchant::inbox::{EventDesk, EventFilter, EventLine};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum Events {
    /// The newest events, in the order in which they came. `--before` the first of them leads to earlier ones;
    /// `--after 0` begins with the oldest, and `--after` the last leads on.
    List {
        /// Those that came after this one, the earliest first.
        #[arg(long)]
        after: Option<i64>,
        /// Those that came before this one.
        #[arg(long)]
        before: Option<i64>,
        /// At most so many.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Only those that were given up.
        #[arg(long)]
        dead: bool,
        #[command(flatten)]
        store: Inbox,
    },
    /// One event with its whole body.
    Show {
        /// Its number.
        id: i64,
        #[command(flatten)]
        store: Inbox,
    },
    /// Hand an event on again, marked as a replay.
    Replay {
        /// Its number.
        id: i64,
        #[command(flatten)]
        store: Inbox,
    },
    /// Give an event up for good, so that its stream goes on without it.
    Skip {
        /// Its number.
        id: i64,
        #[command(flatten)]
        store: Inbox,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Inbox {
    /// The inbox's state file; the inbox may be running.
    #[arg(long, default_value = "inbox.db")]
    state: PathBuf,
}

impl Inbox {
    fn open(&self) -> Result<EventDesk, Failure> {
        EventDesk::open(&self.state).map_err(failed)
    }
}

fn failed(error: StoreError) -> Failure {
    Failure::Known(error.into())
}

pub(crate) fn run(command: &Events, context: &Context) -> Result<(), Failure> {
    let output = context.output;
    match command {
        Events::List { after, before, limit, dead, store } => {
            let filter = EventFilter { after: *after, before: *before, limit: *limit, dead: *dead };
            let lines = store.open()?.list(filter).map_err(failed)?;
            let head = ["event", "received", "type", "stream", "outcome", "came", "handed on"];
            output.list(&head, &lines, row)
        }
        Events::Show { id, store } => {
            let line = store.open()?.show(*id).map_err(failed)?;
            let line = line.ok_or_else(|| Failure::words(format!("there is no event {id}")))?;
            output.record(&line, &record(&line))
        }
        Events::Replay { id, store } => {
            let done = store.open()?.replay(*id).map_err(failed)?;
            done.then_some(())
                .ok_or_else(|| none(*id, "may be handed on: see `merchant events show`"))
        }
        Events::Skip { id, store } => {
            let done = store.open()?.skip(*id).map_err(failed)?;
            done.then_some(()).ok_or_else(|| none(*id, "is on its way, or dead"))
        }
    }
}

fn none(id: i64, which: &str) -> Failure {
    Failure::words(format!("there is no event {id} that {which}"))
}

/// Returns the chain's verdict on a billing, or the scheduler's message.
fn outcome(line: &EventLine) -> String {
    let told = match line.outcome.as_ref() {
        Some(outcome) => words(outcome, ["state", "code"]),
        None if line.kind == "Scheduler" => line
            .payload
            .as_ref()
            .map_or_else(String::new, |payload| words(payload, ["type", "code"])),
        None => String::new(),
    };
    or_dash(Some(&told))
}

/// The texts of these fields, of those that are there.
fn words(object: &RawValue, names: [&str; 2]) -> String {
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(object.get()).unwrap_or_default();
    let text = |name: &str| serde_json::from_str::<String>(fields.get(name)?.get()).ok();
    names.into_iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

fn row(line: &EventLine) -> Vec<String> {
    vec![
        line.id.to_string(),
        line.received_at.to_string(),
        line.kind.clone(),
        line.stream.clone(),
        outcome(line),
        came(line),
        line.handed_on.clone(),
    ]
}

fn came(line: &EventLine) -> String {
    match line.conflicts {
        0 => format!("{}×", line.deliveries),
        conflicts => format!("{}×, {conflicts} of them saying something else", line.deliveries),
    }
}

fn record(line: &EventLine) -> Vec<(&'static str, String)> {
    vec![
        ("event", line.id.to_string()),
        ("place in the feed", or_dash(line.position.as_ref())),
        ("received", line.received_at.to_string()),
        ("type", line.kind.clone()),
        ("stream", line.stream.clone()),
        ("outcome", or_dash(line.outcome.as_ref())),
        ("came", came(line)),
        ("handed on", line.handed_on.clone()),
        ("last answer", or_dash(line.last_answer.as_ref())),
        ("payload", or_dash(line.payload.as_ref())),
    ]
}
