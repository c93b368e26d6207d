//! The meaning of a node's answer to a broadcast. A meaning chooses the next action and proves nothing: whatever is
//! said, the bytes can still land.
//!
//! The message counts before the code, and the code before the HTTP status: clients use one code for different
//! things (-32005 is a rate limit at one and a gas limit at another). An answer that is not in the table is
//! ambiguous.

mod table;

use billing::NodeRejection;
use node::NoReply;
use node::{Fault, NodeError};
use table::ROWS;

/// The meaning of an answer other than our hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorMeaning {
    /// The node has these very bytes, or had them.
    Held,
    /// The node objects to the transaction.
    Objects(NodeRejection),
    /// The node cannot answer now, whatever it is asked.
    Swamped,
    /// Nobody can tell: the node may have taken it.
    Ambiguous,
    /// The question did not reach the node.
    Unheard,
}

/// A message of a node, and what it means.
#[derive(Debug)]
struct ErrorRow {
    /// The source of the statement.
    #[cfg_attr(not(test), expect(dead_code, reason = "for whoever reads the table"))]
    client: &'static str,
    /// The words by which the message is known, in lower case.
    words: Words,
    meaning: ErrorMeaning,
    /// The whole message, as such a node writes it.
    fixture: &'static str,
}

/// The rule by which a message is recognized.
#[derive(Clone, Copy, Debug)]
enum Words {
    /// It is this.
    Whole(&'static str),
    /// It begins so, alone or after `…: `, and ends there or goes on after a stop: `unknown
    /// transaction` does not begin with `known transaction`, `not already known` does not with
    /// `already known`, and `known transaction limit` is something else.
    Begins(&'static str),
    /// It has this in it, from the beginning of a word.
    Has(&'static str),
}

impl Words {
    fn fit(self, message: &str) -> bool {
        match self {
            Self::Whole(words) => message.trim().trim_end_matches('.') == words,
            Self::Begins(words) => {
                let starts = |part: &str| part.trim_start().strip_prefix(words).is_some_and(ends);
                starts(message)
                    || message.match_indices(": ").any(|(at, colon)| {
                        message.get(at.saturating_add(colon.len())..).is_some_and(starts)
                    })
            }
            Self::Has(words) => message.match_indices(words).any(|(at, _)| {
                let before = message.get(..at).and_then(|before| before.chars().next_back());
                !before.is_some_and(char::is_alphanumeric)
            }),
        }
    }
}

fn ends(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([':', '.', ',', ';', '('])
}

/// Returns the meaning of a node's own error.
pub fn meaning_of(error: &NodeError) -> ErrorMeaning {
    let message = error.message.to_ascii_lowercase();
    let row = ROWS.iter().find(|row| row.words.fit(&message));
    row.map_or_else(|| meaning_of_code(error.code), |row| row.meaning)
}

/// Returns the meaning of a code whose message is unknown.
fn meaning_of_code(code: i64) -> ErrorMeaning {
    match code {
        3 => ErrorMeaning::Objects(NodeRejection::Reverts),
        -32601 => ErrorMeaning::Objects(NodeRejection::Policy),
        _ => ErrorMeaning::Ambiguous,
    }
}

/// Returns the meaning of a send that got no hash.
pub fn meaning(fault: &Fault) -> ErrorMeaning {
    match fault {
        Fault::Node(error) => meaning_of(error),
        Fault::Http(401 | 403) => ErrorMeaning::Objects(NodeRejection::Policy),
        Fault::Http(429 | 503) => ErrorMeaning::Swamped,
        // Behind a gateway that gave up, the node may have taken it.
        Fault::Http(_)
        | Fault::Garbled
        | Fault::Lost(NoReply::TimedOut | NoReply::Broken | NoReply::TooLong) => {
            ErrorMeaning::Ambiguous
        }
        Fault::ShutOut { .. }
        | Fault::Lost(NoReply::Refused | NoReply::NoConnection)
        | Fault::WrongChain { .. }
        | Fault::NoNode => ErrorMeaning::Unheard,
    }
}

/// Returns true if the node says that it cannot answer now, while it or another one may soon.
pub fn passing(error: &NodeError) -> bool {
    meaning_of(error) == ErrorMeaning::Swamped
}

/// The messages that nodes are known to answer a send with, in full, as they write them: for whoever
/// wants to see what a Signer makes of each.
pub fn known_messages() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.fixture)
}

#[cfg(test)]
mod tests;
