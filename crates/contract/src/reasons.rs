//! The contract's reasons in our words: codes, error names and texts, from a simulated call, a revert or an event.
//! A reason that the table does not name is never taken for a success.

use super::ProfileFaults;
use super::abi::Signature;
use super::coerce::{AbiKind, clean, digits, is_zero};
use alloy::dyn_abi::{DynSolType, DynSolValue};
use alloy::primitives::Selector;
use billing::{FailCode, Family, Opinion, Scalar};
use std::collections::BTreeMap;
use strum::IntoEnumIterator;

/// `Error(string)`, which `require` and `revert` make.
const ERROR: Selector = Selector::new([0x08, 0xc3, 0x79, 0xa0]);
/// `Panic(uint256)`, which failed checks of the compiler make.
const PANIC: Selector = Selector::new([0x4e, 0x48, 0x7b, 0x71]);

/// The types of the codes that a contract reports by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codes {
    /// The type that the call returns for each charge.
    pub(super) answer: Option<AbiKind>,
    /// The type in which the skipped event gives its reason.
    pub(super) event: Option<AbiKind>,
    /// True if both types could be read.
    pub(super) known: bool,
}

impl Codes {
    /// Checks that the contract can report `number`.
    fn check(self, number: &str) -> Result<(), String> {
        let numbers = [self.answer, self.event].into_iter().flatten().filter(|k| k.is_number());
        let numbers: Vec<AbiKind> = numbers.collect();
        if numbers.is_empty() {
            let unused = "is used by nothing: call returns no integer codes, and skipped has no \
                          integer parameter `reason`";
            return if self.known { Err(unused.to_owned()) } else { Ok(()) };
        }
        let value = Scalar::Text(number.into());
        let fits =
            |kind: &AbiKind| kind.read(Family::Evm, &value).is_ok_and(|n| digits(&n) == number);
        if !numbers.iter().any(fits) {
            return Err("is no number that the contract's codes can be".to_owned());
        }
        if number == "0" && self.answer.is_some_and(AbiKind::is_number) {
            return Err("cannot fail: 0 means that the subscription is charged".to_owned());
        }
        Ok(())
    }
}

/// Our codes by the contract's reasons.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasons {
    /// By decimal digits, `true` or `false`.
    codes: BTreeMap<String, FailCode>,
    errors: BTreeMap<Selector, FailCode>,
    texts: BTreeMap<String, FailCode>,
}

impl Reasons {
    /// Reads the table, for a contract that reports by `codes`.
    pub(super) fn read(
        table: &BTreeMap<String, String>,
        codes: Codes,
        faults: &mut ProfileFaults,
    ) -> Self {
        let mut reasons = Self::default();
        for (key, token) in table {
            let read = FailCode::from_token(token)
                .filter(|code| *code != FailCode::Policy)
                .ok_or_else(|| unknown_token(token))
                .and_then(|code| reasons.add(key, code, codes));
            if let Err(problem) = read {
                faults.add(format!("reasons.{key}"), problem);
            }
        }
        reasons
    }

    fn add(&mut self, key: &str, code: FailCode, codes: Codes) -> Result<(), String> {
        if key.strip_prefix('-').unwrap_or(key).bytes().all(|b| b.is_ascii_digit()) {
            codes.check(key)?;
            self.codes.insert(key.to_owned(), code);
            return Ok(());
        }
        if key == "false" && codes.answer == Some(AbiKind::Bool) {
            self.codes.insert(key.to_owned(), code);
            return Ok(());
        }
        self.texts.insert(key.to_owned(), code);
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let error = match key.split_once('(') {
            Some((before, _)) if before.chars().all(name) && key.ends_with(')') => key.to_owned(),
            None if key.chars().all(name) => format!("{key}()"),
            _ => return Ok(()),
        };
        let error = Signature::parse(&error, "error")?;
        let earlier = self.errors.insert(error.selector(), code);
        earlier.map_or(Ok(()), |_| Err("names an error that is in the table already".to_owned()))
    }

    /// Returns the opinion on a charge that a code from the simulated call expresses.
    pub(super) fn opinion(&self, code: &DynSolValue) -> Opinion {
        let passes = match code.as_bool() {
            Some(charged) => charged,
            None => is_zero(code),
        };
        if passes {
            return Opinion::Passes;
        }
        let (code, detail) = self.told(&digits(code));
        Opinion::Refuses { code, detail }
    }

    /// Our code for the contract's number; its number where the table has none.
    pub(super) fn told(&self, number: &str) -> (FailCode, Option<String>) {
        match self.codes.get(number) {
            Some(code) => (*code, None),
            None => (FailCode::CallReverted, Some(format!("the contract's code {number}"))),
        }
    }

    /// Our code for the contract's words; its words where the table has none.
    pub(super) fn said(&self, words: &str) -> (FailCode, Option<String>) {
        match self.texts.get(words) {
            Some(code) => (*code, None),
            None => (FailCode::CallReverted, Some(clean(words)).filter(|words| !words.is_empty())),
        }
    }

    /// Why a call reverted.
    pub(super) fn reverted(&self, data: &[u8]) -> (FailCode, Option<String>) {
        let Some((selector, rest)) = data.split_first_chunk::<4>() else {
            let stub = (!data.is_empty()).then(|| format!("0x{}", hex::encode(data)));
            return (FailCode::CallReverted, stub);
        };
        let selector = Selector::from(selector);
        let words = match selector {
            ERROR => DynSolType::String.abi_decode(rest).ok(),
            PANIC => DynSolType::Uint(256).abi_decode(rest).ok(),
            _ => None,
        };
        let said = words.as_ref().and_then(DynSolValue::as_str);
        let named = said.and_then(|words| self.texts.get(words));
        if let Some(code) = named.or_else(|| self.errors.get(&selector)) {
            return (*code, None);
        }
        match words {
            Some(DynSolValue::String(words)) => self.said(&words),
            Some(DynSolValue::Uint(panic, _)) => {
                (FailCode::CallReverted, Some(format!("the contract panics with {panic:#x}")))
            }
            _ => (FailCode::CallReverted, Some(format!("the contract's error {selector}"))),
        }
    }
}

fn unknown_token(token: &str) -> String {
    let all = FailCode::iter().filter(|code| *code != FailCode::Policy);
    let all: Vec<_> = all.map(FailCode::token).collect();
    format!("`{token}` is no fail code: use one of {}", all.join(", "))
}
