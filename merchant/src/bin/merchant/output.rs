//! The answer of a command: a table for people or JSON for programs on standard output, failures in words on
//! standard error.

use comfy_table::{ContentArrangement, Table, presets};
use merchant::CallError;
use merchant::client::WithdrawError;
use serde::Serialize;
use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// The output for answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// As JSON.
    pub(crate) json: bool,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nothing was done, or what was done is known. Exit code 1.
    Known(Box<dyn Error + Send + Sync>),
    /// Something may have been done; the words say how to find out. Exit code 3.
    Unknown(Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// Says it, and gives the exit code of the process.
    pub(crate) fn tell(self) -> ExitCode {
        let (error, code) = match self {
            Self::Known(error) => (error, 1),
            Self::Unknown(error) => (error, 3),
        };
        // With standard error gone, the exit code is what is left to tell it.
        writeln!(io::stderr(), "merchant: {error}").unwrap_or_default();
        ExitCode::from(code)
    }

    /// A failure in words of our own, with nothing done.
    pub(crate) fn words(words: impl Into<String>) -> Self {
        Self::Known(words.into().into())
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        if error.may_have_happened() {
            Self::Unknown(error.into())
        } else {
            Self::Known(error.into())
        }
    }
}

impl From<WithdrawError> for Failure {
    fn from(error: WithdrawError) -> Self {
        match error {
            // Without a look nobody knows what an earlier application of this number has done.
            WithdrawError::Unknown(_) | WithdrawError::LookUp(_) => Self::Unknown(error.into()),
            WithdrawError::Blank
            | WithdrawError::Amount(_)
            | WithdrawError::NoCurrency { .. }
            | WithdrawError::Conflict { .. }
            | WithdrawError::Apply(_) => Self::Known(error.into()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Known(error.into())
    }
}

impl Output {
    /// A list: `head` names the columns, `row` fills them.
    pub(crate) fn list<T: Serialize>(
        self,
        head: &[&str],
        entries: &[T],
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<(), Failure> {
        if self.json {
            return json(&entries);
        }
        let mut table = table();
        table.set_header(head);
        for entry in entries {
            table.add_row(row(entry));
        }
        line(&table.trim_fmt())
    }

    /// One record: names and values.
    pub(crate) fn record<T: Serialize>(
        self,
        record: &T,
        rows: &[(&str, String)],
    ) -> Result<(), Failure> {
        if self.json {
            return json(record);
        }
        let mut table = table();
        for (name, value) in rows {
            table.add_row([*name, value.as_str()]);
        }
        line(&table.trim_fmt())
    }
}

/// Returns the text of a column for something that may be missing.
pub(crate) fn or_dash<T: ToString>(value: Option<&T>) -> String {
    value.map(T::to_string).filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
}

fn table() -> Table {
    let mut table = Table::new();
    // Ids and addresses have to be copied whole: nothing is folded or cut.
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Known(error.into()))?;
    line(&text)
}

fn line(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{text}") {
        // The reader has read enough: `merchant … | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_look_an_earlier_application_may_have_been_taken() {
        let why = "no envelope".to_owned();
        let unread = CallError::Unreadable { http_status: 404, why };
        let failure = Failure::from(WithdrawError::LookUp(unread.clone()));
        assert!(matches!(failure, Failure::Unknown(_)));
        assert!(matches!(Failure::from(WithdrawError::Apply(unread)), Failure::Known(_)));
    }
}
