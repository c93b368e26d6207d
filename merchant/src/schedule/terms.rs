//! The terms of a listed entry, as digests: what would be charged, and for which period. A change of them ends a pause.

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The fields that say what would be charged. When one changes, an earlier decline says nothing.
const NAMED: [&str; 8] = [
    "amount",
    "chainId",
    "period",
    "planId",
    "planVersion",
    "tokenAddress",
    "userHash",
    "userWallet",
];

/// Fields that change while the same would be charged.
const NOISE: [&str; 3] = ["createTime", "exchangeRate", "updateTime"];

/// The digests of one entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Of the fields that are known to be terms.
    named: u128,
    /// Of all other fields but noise: a contract profile may name the period by any of them. None in the state of
    /// an older program.
    others: Option<u128>,
    /// Of the whole text.
    text: Option<u128>,
}

/// The difference between two readings of an entry, as far as it tells of another charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing but noise.
    None,
    /// A field that is a term for certain.
    Named,
    /// Another field alone: perhaps the period under another name, perhaps noise that is not known.
    Others,
}

impl Terms {
    /// The terms of an entry with these fields and this text.
    pub(crate) fn of(fields: &BTreeMap<String, &RawValue>, text: &str) -> Self {
        let named = NAMED.map(|name| (name, fields.get(name).map_or("", |raw| raw.get())));
        let is_other = |name: &str| !NAMED.contains(&name) && !NOISE.contains(&name);
        let others = fields.iter().filter(|(name, _)| is_other(name));
        Self {
            named: digest(named),
            others: Some(digest(others.map(|(name, raw)| (name.as_str(), raw.get())))),
            text: Some(first_half(Sha256::new_with_prefix(text))),
        }
    }

    /// Reads the terms out of their column.
    pub(crate) fn read(column: &str) -> Self {
        let mut parts = column.split('.').map(|part| u128::from_str_radix(part, 16).ok());
        let mut next = || parts.next().flatten();
        Self { named: next().unwrap_or_default(), others: next(), text: next() }
    }

    /// The terms as their column has them: the digests in hex. The first is the only one of an older program.
    pub(crate) fn column(&self) -> String {
        let parts = [Some(self.named), self.others, self.text];
        let parts = parts.into_iter().map_while(|part| part.map(|part| format!("{part:032x}")));
        parts.collect::<Vec<_>>().join(".")
    }

    /// Compares with an earlier reading. An older program's tells of the named fields only.
    pub(crate) fn change_since(&self, earlier: &Self) -> Change {
        if self.named != earlier.named {
            return Change::Named;
        }
        match (self.others, earlier.others) {
            (Some(now), Some(then)) if now != then => Change::Others,
            (Some(_) | None, Some(_) | None) => Change::None,
        }
    }
}

fn digest<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> u128 {
    let mut digest = Sha256::new();
    for (name, value) in fields {
        digest.update(name.as_bytes());
        digest.update(value.as_bytes());
        digest.update([0]);
    }
    first_half(digest)
}

/// The first 16 bytes: enough that no two terms get one digest.
fn first_half(digest: Sha256) -> u128 {
    let digest = digest.finalize();
    digest.first_chunk::<16>().copied().map_or(0, u128::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Terms {
        Terms::of(&serde_json::from_str(text).unwrap(), text)
    }

    const ENTRY: &str = r#"{"subscribeId":1,"chainId":1,"period":3,"month":7,"updateTime":"a"}"#;

    #[test]
    fn terms_change_with_what_would_be_charged_and_with_nothing_else() {
        let before = terms(ENTRY);
        let change = |from: &str, to: &str| terms(&ENTRY.replace(from, to)).change_since(&before);
        assert_eq!(change("", ""), Change::None);
        assert_eq!(change("\"a\"", "\"b\""), Change::None);
        assert_eq!(change("\"period\":3", "\"period\":4"), Change::Named);
        assert_eq!(change("\"month\":7", "\"month\":8"), Change::Others);
        assert_eq!(change("\"month\":7,", ""), Change::Others);
        assert_ne!(terms(&ENTRY.replace("\"a\"", "\"b\"")), before, "its text is another one");
    }

    #[test]
    fn a_column_is_read_as_it_was_written_also_by_an_older_program() {
        let now = terms(ENTRY);
        assert_eq!(Terms::read(&now.column()), now);
        // As it stood in the column before other fields were looked at.
        let older = Terms::read("b17f5b6b8a1fcb6f3f6ed2cf1a9d9f86");
        assert_eq!(older.others, None);
        let same = Terms { others: None, text: None, ..now };
        assert_eq!(Terms::read(&same.column()), same);
        assert_eq!(now.change_since(&same), Change::None, "an older file posts nothing anew");
    }
}
