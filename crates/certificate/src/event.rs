//! An event of a contract, read from a log by its declaration: each value is one word of 32 bytes.

use crate::invalid::Invalid;
use alloy::primitives::{Address, B256, LogData, U256, keccak256};
use std::collections::{BTreeMap, BTreeSet};

/// The names that mean the same in an event as in a claim, if the parameter's type begins so. A contract is free to
/// mean something else by any other name: `period` may be a length, where another field names the period.
const OF_CLAIMS: [(&str, &str); 6] = [
    ("amount", "uint"),
    ("planId", "uint"),
    ("subscribeId", "uint"),
    ("tokenAddress", "address"),
    ("userHash", "bytes32"),
    ("userWallet", "address"),
];

/// An event as it is declared: `event Charged(address indexed payer, uint64 id)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration<'t> {
    name: &'t str,
    parameters: Vec<Parameter<'t>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parameter<'t> {
    kind: Kind,
    /// The kind as it is written.
    word: &'t str,
    indexed: bool,
    name: &'t str,
}

/// The kinds of values that fill a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Address,
    Bool,
    /// A number of so many bits.
    Uint(usize),
    /// So many bytes.
    Bytes(usize),
}

impl<'t> Declaration<'t> {
    /// Reads a declaration in its one spelling: a space between words, after a comma, and nowhere else.
    ///
    /// # Errors
    /// [`Invalid::Event`]: another spelling, a type that does not fill a word, or a parameter without a name of its own.
    pub fn read(text: &'t str) -> Result<Self, Invalid> {
        Self::parsed(text).ok_or(Invalid::Event)
    }

    fn parsed(text: &'t str) -> Option<Self> {
        let (name, rest) = text.strip_prefix("event ")?.split_once('(')?;
        let list = rest.strip_suffix(')')?;
        let parameters: Option<Vec<_>> = list.split(", ").map(Parameter::parsed).collect();
        let parameters = parameters.filter(|_| is_name(name))?;
        let names: BTreeSet<&str> = parameters.iter().map(|one| one.name).collect();
        (names.len() == parameters.len()).then_some(Self { name, parameters })
    }

    /// Returns true if it has a parameter of this name that means the same as a claim's field of this name.
    pub(crate) fn means_field(&self, name: &str) -> bool {
        let (mut own, mut known) = (self.parameters.iter(), OF_CLAIMS.iter());
        let kind = known.find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        kind.is_some_and(|kind| own.any(|one| one.name == name && one.word.starts_with(kind)))
    }

    /// The first topic of its logs: a hash of its name and of its parameters' types, and not of their names.
    fn topic(&self) -> B256 {
        let kinds: Vec<&str> = self.parameters.iter().map(|one| one.word).collect();
        keccak256(format!("{}({})", self.name, kinds.join(",")))
    }

    /// The values of a log, by name: numbers in decimal, addresses and bytes in hex.
    ///
    /// # Errors
    /// [`Invalid::Event`]: the log is of another event, or holds a value that its type cannot have.
    pub fn values(&self, log: &LogData) -> Result<BTreeMap<String, String>, Invalid> {
        self.valued(log).ok_or(Invalid::Event)
    }

    fn valued(&self, log: &LogData) -> Option<BTreeMap<String, String>> {
        let (first, indexed) = log.topics().split_first()?;
        let (words, rest) = log.data.as_chunks::<32>();
        let (mut topics, mut words) = (indexed.iter(), words.iter().map(|word| B256::from(*word)));
        if *first != self.topic() || !rest.is_empty() {
            return None;
        }
        let mut values = BTreeMap::new();
        for one in &self.parameters {
            let word = if one.indexed { topics.next().copied() } else { words.next() };
            values.insert(one.name.to_owned(), one.kind.text(word?)?);
        }
        (topics.next().is_none() && words.next().is_none()).then_some(values)
    }
}

impl<'t> Parameter<'t> {
    fn parsed(text: &'t str) -> Option<Self> {
        let (word, rest) = text.split_once(' ')?;
        let (indexed, name) = match rest.strip_prefix("indexed ") {
            Some(name) => (true, name),
            None => (false, rest),
        };
        let kind = Kind::parsed(word)?;
        is_name(name).then_some(Self { kind, word, indexed, name })
    }
}

/// The declaration in its one spelling, if only its blanks are otherwise.
pub(crate) fn respaced(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let marks = ['(', ')', ','];
    let bare = marks.iter().fold(words.join(" "), |text, mark| {
        let parts: Vec<&str> = text.split(*mark).map(str::trim).collect();
        parts.join(&mark.to_string())
    });
    bare.replace(',', ", ")
}

fn is_name(text: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.chars().all(letter) && text.starts_with(|first: char| !first.is_ascii_digit())
}

impl Kind {
    fn parsed(word: &str) -> Option<Self> {
        match word {
            "address" => return Some(Self::Address),
            "bool" => return Some(Self::Bool),
            _ => {}
        }
        let number = |text: &str| text.parse::<usize>().ok().filter(|n| n.to_string() == text);
        if let Some(bits) = word.strip_prefix("uint") {
            let whole = |bits: &usize| bits.is_multiple_of(8) && (8..=256).contains(bits);
            return number(bits).filter(whole).map(Self::Uint);
        }
        let bytes = number(word.strip_prefix("bytes")?)?;
        (1..=32).contains(&bytes).then_some(Self::Bytes(bytes))
    }

    /// The value in a word; none if a value of this kind leaves parts of the word empty that are not.
    fn text(self, word: B256) -> Option<String> {
        let number = U256::from_be_bytes(word.0);
        let fits = |bits: usize| number.bit_len() <= bits;
        match self {
            Self::Address => fits(160).then(|| format!("{:#x}", Address::from_word(word))),
            Self::Bool => fits(1).then(|| (!number.is_zero()).to_string()),
            Self::Uint(bits) => fits(bits).then(|| number.to_string()),
            Self::Bytes(many) => {
                let (own, rest) = word.split_at_checked(many)?;
                let text = || format!("0x{}", alloy::hex::encode(own));
                rest.iter().all(|byte| *byte == 0).then(text)
            }
        }
    }
}
