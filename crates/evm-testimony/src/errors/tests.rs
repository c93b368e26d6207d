use super::*;
use node::RealChain;
use proptest::prelude::*;
use std::collections::HashSet;

fn says(code: i64, message: &str) -> ErrorMeaning {
    let error = NodeError { code, message: message.to_owned(), data: None };
    meaning(&Fault::Node(error))
}

#[test]
fn every_message_is_read_by_its_own_row() {
    for (place, row) in ROWS.iter().enumerate() {
        let message = row.fixture.to_ascii_lowercase();
        let first = ROWS.iter().position(|other| other.words.fit(&message));
        assert_eq!(first, Some(place), "{}: {}", row.client, row.fixture);
        for wrapped in [
            row.fixture.to_owned(),
            row.fixture.to_uppercase(),
            format!("rpc error: {}", row.fixture),
        ] {
            if !matches!(row.words, Words::Whole(_)) || wrapped.len() == row.fixture.len() {
                assert_eq!(says(-32000, &wrapped), row.meaning, "{}: {wrapped}", row.client);
            }
        }
    }
}

#[test]
fn the_words_of_every_row_are_in_lower_case_and_no_two_rows_share_them() {
    let mut seen = HashSet::new();
    for row in ROWS {
        let (Words::Whole(words) | Words::Begins(words) | Words::Has(words)) = row.words;
        assert_eq!(words, words.to_ascii_lowercase());
        assert!(seen.insert(words), "{words}");
    }
}

#[test]
fn the_message_counts_before_the_code() {
    assert_eq!(says(3, "nonce too low"), ErrorMeaning::Objects(NodeRejection::NonceTaken));
    assert_eq!(
        says(-32005, "Transaction gas limit exceeds block gas limit"),
        ErrorMeaning::Objects(NodeRejection::Structural)
    );
    assert_eq!(
        says(-32005, "daily request count exceeded, request rate limited"),
        ErrorMeaning::Swamped
    );
    assert_eq!(says(-32005, "?"), ErrorMeaning::Ambiguous);
    assert_eq!(says(3, "?"), ErrorMeaning::Objects(NodeRejection::Reverts));
    assert_eq!(says(-32601, "?"), ErrorMeaning::Objects(NodeRejection::Policy));
}

#[test]
fn what_only_looks_like_an_acceptance_is_none() {
    for message in [
        "unknown transaction",
        "not already known",
        "already knowns",
        "transaction is not already known",
        "already",
        "known transaction limit reached",
        "already known to be bad",
        "",
        "ok",
        "success",
        "transaction already imported2",
    ] {
        assert_ne!(says(-32000, message), ErrorMeaning::Held, "{message}");
    }
}

#[test]
fn a_question_that_never_reached_the_node_is_told_from_one_that_may_have() {
    let chain = RealChain::Eip155;
    for (fault, meant) in [
        (Fault::Lost(NoReply::Refused), ErrorMeaning::Unheard),
        (Fault::Lost(NoReply::NoConnection), ErrorMeaning::Unheard),
        (Fault::NoNode, ErrorMeaning::Unheard),
        (Fault::WrongChain { answered: chain(1), configured: chain(2) }, ErrorMeaning::Unheard),
        (Fault::Lost(NoReply::TimedOut), ErrorMeaning::Ambiguous),
        (Fault::Lost(NoReply::Broken), ErrorMeaning::Ambiguous),
        (Fault::Garbled, ErrorMeaning::Ambiguous),
        (Fault::Lost(NoReply::TooLong), ErrorMeaning::Ambiguous),
        (Fault::Http(500), ErrorMeaning::Ambiguous),
        (Fault::Http(502), ErrorMeaning::Ambiguous),
        (Fault::Http(429), ErrorMeaning::Swamped),
        (Fault::Http(503), ErrorMeaning::Swamped),
        (Fault::Http(403), ErrorMeaning::Objects(NodeRejection::Policy)),
    ] {
        assert_eq!(meaning(&fault), meant, "{fault}");
    }
}

proptest! {
    /// Any text has a meaning, and none that is not in the table counts as an acceptance.
    #[test]
    fn no_unknown_text_counts_as_accepted(message in "(?s).{0,80}", code in any::<i64>()) {
        let lower = message.to_ascii_lowercase();
        let held = ROWS.iter().any(|row| row.meaning == ErrorMeaning::Held && row.words.fit(&lower));
        prop_assert_eq!(says(code, &message) == ErrorMeaning::Held, held);
        prop_assert!(!held || lower.contains("known") || lower.contains("import") || lower.contains("same hash"));
    }

    /// A letter before or after the words of an acceptance makes another text of it.
    #[test]
    fn an_acceptance_with_a_letter_too_many_is_none(
        row in (0..ROWS.len()).prop_filter("held", |at| ROWS[*at].meaning == ErrorMeaning::Held),
        letter in "[a-z0-9]", before in any::<bool>(),
    ) {
        let Words::Begins(words) = ROWS[row].words else { panic!("an acceptance begins so") };
        let message = if before { format!("{letter}{words}") } else { format!("{words}{letter}") };
        prop_assert!(says(-32000, &message) != ErrorMeaning::Held, "{}", message);
    }
}
