//! `merchant callback verify`.

use super::Context;
use crate::output::Failure;
use clap::Subcommand;
use merchant::callback::Event;
use merchant::clock::{Clock, SystemClock};
use merchant::sign::{Arrived, KEY_HEADER, Presented, SIGN_HEADER, TIMESTAMP_HEADER};
use merchant::time::UnixSeconds;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest body that is looked at.
const LONGEST: u64 = 1 << 20;

#[derive(Subcommand, Debug)]
pub(crate) enum Callback {
    /// Check the signature of a callback that you recorded, and say what it tells.
    Verify(Verify),
}

#[derive(clap::Args, Debug)]
pub(crate) struct Verify {
    /// A header as it arrived, "X-PAY-SIGN: …"; give all three.
    #[arg(long = "header", short = 'H', required = true)]
    headers: Vec<String>,
    /// The path of the notify address, with its query.
    #[arg(long)]
    path: String,
    /// A file with the raw body; standard input without it.
    #[arg(long)]
    body: Option<PathBuf>,
    /// Check as of this Unix time, instead of now.
    #[arg(long)]
    at: Option<i64>,
}

/// A clock that stands where it was put.
#[derive(Debug)]
struct Stopped(UnixSeconds);

impl Clock for Stopped {
    fn now(&self) -> UnixSeconds {
        self.0
    }
}

pub(crate) fn run(command: &Callback, context: &Context) -> Result<(), Failure> {
    let Callback::Verify(Verify { headers, path, body: file, at }) = command;
    let now = at.map_or_else(|| SystemClock.now(), UnixSeconds);
    let receiver = context.settings.receiver(Arc::new(Stopped(now)))?;
    let mut body = vec![];
    match file {
        Some(file) => std::fs::File::open(file)?.take(LONGEST).read_to_end(&mut body)?,
        None => std::io::stdin().take(LONGEST).read_to_end(&mut body)?,
    };
    let presented = Presented {
        key: header(headers, KEY_HEADER),
        timestamp: header(headers, TIMESTAMP_HEADER),
        sign: header(headers, SIGN_HEADER),
    };
    let arrived = Arrived { method: "POST", path_and_query: path, body: &body };
    let callback = receiver
        .check(&presented, &arrived)
        .map_err(|error| Failure::words(format!("not verified: {error}")))?;
    let mut rows = vec![
        ("signed by", callback.key),
        ("event", what(&callback.event)),
        ("same as", callback.event.key()),
    ];
    if let Event::Unknown { why, .. } = &callback.event {
        rows.push(("not known", why.clone()));
    }
    context.output.record(&callback.event.raw(), &rows)
}

/// The header's value, if it was given once.
fn header<'a>(headers: &'a [String], name: &str) -> Option<&'a str> {
    let mut values = headers.iter().filter_map(|line| {
        let (given, value) = line.split_once(':')?;
        given.trim().eq_ignore_ascii_case(name).then_some(value.trim())
    });
    values.next().filter(|_| values.next().is_none())
}

fn what(event: &Event) -> String {
    match event {
        Event::Subscription(event) => event.subscription_type.to_string(),
        Event::Recharge(event) => format!("recharge, {}", event.recharge_status),
        Event::Withdrawal(event) => format!("withdrawal, {}", event.withdraw_status),
        Event::Unknown { .. } => "unknown".to_owned(),
    }
}
