//! Standard output: for people, in colours only where it is a terminal; or nothing but the report.

use super::report::Report;
use serde_json::Value;
use std::io::{self, IsTerminal as _, Write as _};

/// How wide a line of an answer is at most.
const WIDTH: usize = 110;

/// Where the story is written.
#[derive(Debug)]
pub(crate) struct Paper {
    silent: bool,
    colour: bool,
}

/// How a word is set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ink {
    Good,
    Bad,
    Faint,
}

impl Paper {
    /// Nothing but a report is written when `silent`.
    pub(crate) fn new(silent: bool) -> Self {
        Self { silent, colour: io::stdout().is_terminal() }
    }

    /// What comes next.
    pub(crate) fn title(&self, text: &str) {
        self.line("");
        self.line(&self.set("1", text));
    }

    /// A line. That nobody reads it any more is no reason to stop.
    pub(crate) fn line(&self, text: &str) {
        if !self.silent {
            drop(writeln!(io::stdout(), "{text}"));
        }
    }

    /// A word in a colour.
    pub(crate) fn ink(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Good => "32",
            Ink::Bad => "33",
            Ink::Faint => "2",
        };
        self.set(code, text)
    }

    fn set(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// JSON as it came, long values and long lists cut short.
    pub(crate) fn json(&self, json: &Value) {
        let text = format!("{:#}", shortened(json));
        for line in text.lines() {
            let cut = line.chars().count() > WIDTH;
            let line: String = line.chars().take(WIDTH).collect();
            self.line(&format!("  {line}{}", if cut { "…" } else { "" }));
        }
    }
}

/// Prints the report.
pub(crate) fn print(report: &Report) -> io::Result<()> {
    writeln!(io::stdout(), "{}", serde_json::to_string_pretty(report)?)
}

/// The same with one element of each list of objects, and with the beginnings of long texts.
fn shortened(json: &Value) -> Value {
    match json {
        Value::Array(list) if list.len() > 1 && list[0].is_object() => {
            let more = format!("… and {} more", list.len() - 1);
            Value::Array(vec![shortened(&list[0]), Value::String(more)])
        }
        Value::Array(list) => Value::Array(list.iter().map(shortened).collect()),
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), shortened(value))).collect()
        }
        Value::String(text) if text.len() > 80 => {
            let start: String = text.chars().take(40).collect();
            Value::String(format!("{start}… ({} characters)", text.len()))
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => json.clone(),
    }
}
