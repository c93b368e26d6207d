//! The words of callers in answers and in the log: nothing in them ends a line, steers a terminal or turns a text
//! around.

use std::fmt::{self, Display, Formatter, Write};

/// Something whose words a caller had a part in: control characters are shown as escapes (`\n`, `\u{1b}`).
pub(super) struct Visible<T>(pub(super) T);

impl<T: Display> Display for Visible<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// Writes on, with escapes.
struct Escaping<'a, 'b>(&'a mut Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, words: &str) -> fmt::Result {
        words.chars().try_for_each(|letter| {
            if acts(letter) {
                Display::fmt(&letter.escape_default(), self.0)
            } else {
                self.0.write_char(letter)
            }
        })
    }
}

/// Returns true for what does something where it is shown: control characters, the other ends of lines and
/// paragraphs, and marks for the direction of a text.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_in_their_line_and_are_otherwise_as_they_were() {
        for (words, shown) in [
            ("dry\nrun\r\t", r"dry\nrun\r\t"),
            ("\u{1b}[2J \u{7f} \u{85}", r"\u{1b}[2J \u{7f} \u{85}"),
            ("a\u{2028}b\u{202e}c\u{2066}", r"a\u{2028}b\u{202e}c\u{2066}"),
            (r#"{"é": "\n", '5': "👍🏽"}"#, r#"{"é": "\n", '5': "👍🏽"}"#),
        ] {
            assert_eq!(Visible(words).to_string(), shown);
        }
    }
}
