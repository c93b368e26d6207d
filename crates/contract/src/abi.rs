//! Reads a function, an event or an error in human-readable ABI, the names inside tuples included:
//! alloy's own reader drops those, and names are what a profile is made of.
//!
//! It knows nothing of entries and constants: names get their meaning in `load`.

use super::coerce::AbiKind;
use alloy::dyn_abi::DynSolType;
use alloy::primitives::{B256, Selector, keccak256};

/// A tuple inside a tuple inside a tuple is nobody's billing call.
const DEEPEST: usize = 4;
/// Nor is a longer array of a fixed length.
const LONGEST: usize = 1000;

/// A function, an event or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) inputs: Vec<Param>,
    pub(super) outputs: Vec<Param>,
    declaration: String,
}

/// A parameter. Its name is empty where none is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) indexed: bool,
}

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Word(AbiKind),
    Tuple(Vec<Param>),
    Array(Box<Self>),
    Fixed(Box<Self>, usize),
}

impl Signature {
    /// Reads `text`, which may begin with `keyword`.
    pub(super) fn parse(text: &str, keyword: &str) -> Result<Self, String> {
        let text = text.trim();
        let bare = text.strip_prefix(keyword).filter(|rest| rest.starts_with(char::is_whitespace));
        let mut reader = AbiReader { rest: bare.unwrap_or(text) };
        let name = reader.word().ok_or_else(|| format!("has no {keyword} name"))?.to_owned();
        let inputs = reader.params()?;
        let outputs = reader.after_inputs()?;
        let written: Vec<_> = inputs.iter().map(Param::written).collect();
        let declaration = format!("{keyword} {name}({})", written.join(", "));
        Ok(Self { name, inputs, outputs, declaration })
    }

    /// The first four bytes of a call or of an error's data.
    pub(super) fn selector(&self) -> Selector {
        let [a, b, c, d, ..] = self.topic().0;
        Selector::from([a, b, c, d])
    }

    /// An event's declaration, with the names that its contract gives to parameters: a space between words and after a
    /// comma, and nowhere else.
    pub(super) fn declaration(&self) -> &str {
        &self.declaration
    }

    /// The first topic of an event.
    pub(super) fn topic(&self) -> B256 {
        let inputs: Vec<_> = self.inputs.iter().map(|param| param.ty.canonical()).collect();
        keccak256(format!("{}({})", self.name, inputs.join(",")))
    }
}

impl Param {
    fn written(&self) -> String {
        let indexed = if self.indexed { " indexed" } else { "" };
        format!("{}{indexed} {}", self.ty.canonical(), self.name)
    }

    /// Gives a parameter called `alias`, or a part of one, the name `name`.
    pub(super) fn rename(&mut self, alias: &str, name: &str) {
        if self.name == alias {
            name.clone_into(&mut self.name);
        }
        let mut ty = &mut self.ty;
        while let Type::Array(item) | Type::Fixed(item, _) = ty {
            ty = item;
        }
        if let Type::Tuple(params) = ty {
            for param in params {
                param.rename(alias, name);
            }
        }
    }
}

impl Type {
    /// The type as selectors spell it.
    pub(super) fn canonical(&self) -> String {
        match self {
            Self::Word(kind) => kind.to_string(),
            Self::Tuple(params) => {
                let inner: Vec<_> = params.iter().map(|param| param.ty.canonical()).collect();
                format!("({})", inner.join(","))
            }
            Self::Array(item) => format!("{}[]", item.canonical()),
            Self::Fixed(item, len) => format!("{}[{len}]", item.canonical()),
        }
    }

    /// The type as alloy decodes it.
    pub(super) fn sol(&self) -> DynSolType {
        match self {
            Self::Word(kind) => kind.sol(),
            Self::Tuple(params) => {
                DynSolType::Tuple(params.iter().map(|param| param.ty.sol()).collect())
            }
            Self::Array(item) => DynSolType::Array(Box::new(item.sol())),
            Self::Fixed(item, len) => DynSolType::FixedArray(Box::new(item.sol()), *len),
        }
    }
}

/// The text that is left to read.
struct AbiReader<'a> {
    rest: &'a str,
}

impl<'a> AbiReader<'a> {
    fn eat(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start();
        self.rest = rest.strip_prefix(mark).unwrap_or(rest);
        self.rest.len() < rest.len()
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
        let (word, rest) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        self.rest = rest;
        Some(word).filter(|word| !word.is_empty())
    }

    fn here(&self) -> String {
        let rest: String = self.rest.trim_start().chars().take(20).collect();
        if rest.is_empty() { "at the end".to_owned() } else { format!("before `{rest}`") }
    }

    fn params(&mut self) -> Result<Vec<Param>, String> {
        self.params_at(0)
    }

    fn params_at(&mut self, depth: usize) -> Result<Vec<Param>, String> {
        if !self.eat('(') {
            return Err(format!("lacks `(` {}", self.here()));
        }
        let mut params = Vec::new();
        if self.eat(')') {
            return Ok(params);
        }
        loop {
            params.push(self.param(depth)?);
            if self.eat(')') {
                return Ok(params);
            }
            if !self.eat(',') {
                return Err(format!("lacks `,` or `)` {}", self.here()));
            }
        }
    }

    fn param(&mut self, depth: usize) -> Result<Param, String> {
        let mut param = Param { name: String::new(), ty: self.ty(depth)?, indexed: false };
        while let Some(word) = self.word() {
            match word {
                "indexed" => param.indexed = true,
                "memory" | "calldata" | "storage" | "payable" => {}
                name if param.name.is_empty() => name.clone_into(&mut param.name),
                other => return Err(format!("has `{other}` where a `,` should be")),
            }
        }
        Ok(param)
    }

    fn ty(&mut self, depth: usize) -> Result<Type, String> {
        let word = self.word();
        let mut ty = match word {
            None | Some("tuple") if depth < DEEPEST => {
                Type::Tuple(self.params_at(depth.saturating_add(1))?)
            }
            None | Some("tuple") => return Err("nests tuples too deeply".to_owned()),
            Some(word) => Type::Word(
                AbiKind::parse(word)
                    .ok_or_else(|| format!("has `{word}` where a supported ABI type should be"))?,
            ),
        };
        while self.eat('[') {
            let len = self.word();
            if !self.eat(']') {
                return Err(format!("lacks `]` {}", self.here()));
            }
            ty = match len.map(str::parse) {
                None => Type::Array(Box::new(ty)),
                Some(Ok(len)) if (1..=LONGEST).contains(&len) => Type::Fixed(Box::new(ty), len),
                Some(_) => return Err(format!("has an array length that is not 1 to {LONGEST}")),
            };
        }
        Ok(ty)
    }

    fn after_inputs(&mut self) -> Result<Vec<Param>, String> {
        let mut outputs = Vec::new();
        while let Some(word) = self.word() {
            match word {
                "returns" => {
                    outputs = self.params()?;
                    break;
                }
                "view" | "pure" | "external" | "public" | "payable" | "nonpayable" => {}
                other => return Err(format!("has `{other}` where `returns` could be")),
            }
        }
        let _semicolon: bool = self.eat(';');
        if self.rest.trim().is_empty() {
            Ok(outputs)
        } else {
            Err(format!("goes on where it should end, {}", self.here()))
        }
    }
}
