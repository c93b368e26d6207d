//! The one way from what a node sends to values: JSON, and no more of it than the answer has room for.
//!
//! In a list of `{}` every three bytes become a whole structure, so an answer of a few megabytes could take
//! a thousand times that. So the values are counted before any is made: what comes of an answer is a small
//! multiple of it, whatever it holds.

use memchr::memchr2;
use serde::Deserialize;

/// Every answer may have so many values: lists of a few bytes each, as prices are told in.
const FREE: usize = 1 << 14;

/// Beyond that there is one for so many bytes, a list or an object in another counting as two. In real
/// answers each of them has twice as many and more.
const BYTES_EACH: usize = 16;

/// The deepest that anything may lie. Real answers need 9.
const DEEPEST: usize = 32;

/// It is no JSON, other JSON than was asked for, or far more of it than so many bytes usually hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRead;

/// Reads a whole answer, or a part of one, as what was asked for.
pub fn decode<'a, R: Deserialize<'a>>(text: &'a [u8]) -> Result<R, NotRead> {
    if !is_modest(text) {
        return Err(NotRead);
    }
    serde_json::from_slice(text).map_err(|_| NotRead)
}

/// Returns true if the text holds no more values, and none deeper, than allowed. The result is arbitrary for text
/// that is no JSON.
fn is_modest(text: &[u8]) -> bool {
    let most = FREE.saturating_add(text.len().div_euclid(BYTES_EACH));
    let (mut values, mut depth, mut rest) = (1_usize, 0_usize, text);
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'"' => rest = after_string(behind),
            b'[' | b'{' => {
                depth = depth.saturating_add(1);
                values = values.saturating_add(1);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values = values.saturating_add(1),
            _ => {}
        }
        if values > most || depth > DEEPEST {
            return false;
        }
    }
    true
}

/// Returns the bytes after a string whose first character is the first of `text`.
fn after_string(mut text: &[u8]) -> &[u8] {
    loop {
        let end = memchr2(b'"', b'\\', text).unwrap_or(text.len());
        match text.get(end..) {
            Some([b'\\', _, behind @ ..]) => text = behind,
            Some([b'"', behind @ ..]) => return behind,
            _ => return &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Fields {
        one: u64,
        words: Vec<String>,
        more: Vec<Self>,
    }

    fn read(text: &str) -> Result<Fields, NotRead> {
        decode(text.as_bytes())
    }

    /// So many elements in a list.
    fn listed(element: &str, many: usize) -> String {
        format!("{{\"more\":[{}]}}", vec![element; many].join(","))
    }

    #[test]
    fn more_values_than_an_answer_has_room_for_are_not_read() {
        assert_eq!(read(&listed("{}", 5_000)).unwrap().more.len(), 5_000);
        assert_eq!(read(&listed("{}", 1 << 20)), Err(NotRead));
        assert_eq!(
            decode::<Vec<u8>>(format!("[0{}]", ",0".repeat(1 << 20)).as_bytes()),
            Err(NotRead)
        );
        let long = format!("{{\"one\":1,\"words\":[\"{}\"]}}", "a".repeat(64));
        assert_eq!(read(&listed(&long, 100_000)).unwrap().more.len(), 100_000, "as real ones are");
        assert!(
            decode::<&RawValue>(listed("{}", 1 << 20).as_bytes()).is_err(),
            "nor kept for later"
        );
    }

    #[test]
    fn what_stands_in_a_text_counts_as_one() {
        let words = "[{,\\\"".repeat(100_000);
        let text = format!("{{\"words\":[\"{words}\",\"\\\\\"],\"one\":7}}");
        let fields = read(&text).unwrap();
        assert_eq!((fields.one, fields.words.len(), fields.words[0].len()), (7, 2, 400_000));
    }

    #[test]
    fn what_is_deep_cut_off_or_said_twice_is_not_read() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(decode::<&RawValue>(deep(DEEPEST).as_bytes()).is_ok());
        assert!(decode::<&RawValue>(deep(DEEPEST + 1).as_bytes()).is_err());
        for text in ["{\"one\":1", "{\"one\":1,\"one\":1}", "{\"one\":1} x", "", "\u{feff}{}"] {
            assert_eq!(read(text), Err(NotRead), "{text}");
        }
    }
}
