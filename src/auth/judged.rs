//! Which messages were judged lately, in the words in which one process leaves that to the next.

use std::fmt;
use std::str::FromStr;

/// Start of the text: its form.
const FORM: &str = "judged 1";

/// End of the text: a text that was cut off is invalid.
const END: &str = "end";

/// Every message that was judged and whose time is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedMessages {
    /// When this was so, Unix seconds. Nothing was judged since.
    pub at: i64,
    /// Time before which signatures are not known, Unix seconds.
    pub(super) oldest: i64,
    /// When each was signed, Unix seconds, and its signature.
    pub(super) signs: Vec<(i64, [u8; 32])>,
}

/// The text is not what a process left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not what a process left")]
pub struct NotJudgedMessages;

impl fmt::Display for JudgedMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FORM}\n{}\n{}", self.at, self.oldest)?;
        for (at, sign) in &self.signs {
            writeln!(f, "{at} {}", hex::encode(sign))?;
        }
        writeln!(f, "{END}")
    }
}

impl FromStr for JudgedMessages {
    type Err = NotJudgedMessages;

    fn from_str(text: &str) -> Result<Self, NotJudgedMessages> {
        let mut lines = text.lines();
        let number = |lines: &mut std::str::Lines<'_>| {
            lines.next().and_then(|line| line.parse().ok()).ok_or(NotJudgedMessages)
        };
        if lines.next() != Some(FORM) {
            return Err(NotJudgedMessages);
        }
        let (at, oldest) = (number(&mut lines)?, number(&mut lines)?);
        let mut signs = Vec::new();
        loop {
            match lines.next() {
                Some(END) => break,
                Some(line) => signs.push(message(line).ok_or(NotJudgedMessages)?),
                None => return Err(NotJudgedMessages),
            }
        }
        Ok(Self { at, oldest, signs })
    }
}

fn message(line: &str) -> Option<(i64, [u8; 32])> {
    let (at, hex) = line.split_once(' ')?;
    let mut sign = [0; 32];
    hex::decode_to_slice(hex, &mut sign).ok()?;
    Some((at.parse().ok()?, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_read_whole_or_not_at_all() {
        let left = JudgedMessages { at: 100, oldest: 40, signs: vec![(99, [1; 32]), (7, [2; 32])] };
        let text = left.to_string();
        assert_eq!(text.parse(), Ok(left));
        for length in 0..text.len() - 1 {
            assert_eq!(
                text[..length].parse::<JudgedMessages>(),
                Err(NotJudgedMessages),
                "{length}"
            );
        }
        assert_eq!(format!("x{text}").parse::<JudgedMessages>(), Err(NotJudgedMessages));
    }
}
