//! Standard output: for people, in colours only where it is a terminal; or nothing but the report.

use super::report::Report;
use serde_json::Value;
use std::io::{self, IsTerminal as _, Write as _};

/// The longest text that is shown whole (characters).
const LONGEST: usize = 80;

/// The output that the story is written to.
#[derive(Debug)]
pub(crate) struct Paper {
    silent: bool,
    colour: bool,
}

/// The style of a word.
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

    /// Writes the title of the next part.
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

    /// JSON with long texts and long lists cut short.
    pub(crate) fn json(&self, json: &Value) {
        for line in laid_out(json) {
            self.line(&format!("  {line}"));
        }
    }
}

/// Prints the report.
pub(crate) fn print(report: &Report) -> io::Result<()> {
    writeln!(io::stdout(), "{}", serde_json::to_string_pretty(report)?)
}

/// Prints JSON on one line, whole.
pub(crate) fn line(json: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{json}")?;
    io::stdout().flush()
}

/// Lines of JSON: an object takes several, a list of plain values one. Of a list of objects the first is shown.
fn laid_out(json: &Value) -> Vec<String> {
    match json {
        Value::Object(fields) => {
            let last = fields.len().saturating_sub(1);
            let fields = fields.iter().enumerate().flat_map(|(at, (name, value))| {
                let mut lines = laid_out(value);
                lines[0] = format!("{name:?}: {}", lines[0]);
                let end = lines.len() - 1;
                lines[end].push_str(if at == last { "" } else { "," });
                lines.into_iter().map(|line| format!("  {line}"))
            });
            framed("{", fields, "}")
        }
        Value::Array(list) if list.first().is_some_and(Value::is_object) => {
            let more = list.len() - 1;
            let more = (more > 0).then(|| format!("  … and {more} more"));
            let first = laid_out(&list[0]).into_iter().map(|line| format!("  {line}"));
            framed("[", first.chain(more), "]")
        }
        Value::Array(list) => {
            let list: Vec<_> = list.iter().map(Value::to_string).collect();
            vec![format!("[{}]", list.join(", "))]
        }
        Value::String(text) if text.len() > LONGEST => {
            let start: String = text.chars().take(LONGEST / 2).collect();
            vec![format!("\"{start}… ({} characters)\"", text.len())]
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            vec![json.to_string()]
        }
    }
}

fn framed(open: &str, inner: impl Iterator<Item = String>, close: &str) -> Vec<String> {
    [open.to_owned()].into_iter().chain(inner).chain([close.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_things_are_cut_short_and_nothing_else() {
        let lines = laid_out(&json!({"a": [{"b": 1}, {}, {}], "c": [1, "x"], "d": "y".repeat(90)}));
        let cut = format!("  \"d\": \"{}… (90 characters)\"", "y".repeat(40));
        let expected = [
            "{",
            "  \"a\": [",
            "    {",
            "      \"b\": 1",
            "    }",
            "    … and 2 more",
            "  ],",
            "  \"c\": [1, \"x\"],",
            &cut,
            "}",
        ];
        assert_eq!(lines, expected);
    }
}
