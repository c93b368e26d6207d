//! The billing call of a chain as it is configured: signatures, constants and the words for what
//! the contract answers.
//!
//! Only the shape is judged here. When the chain is opened, `contract` decides whether the signatures parse, and
//! whether every name in them can be supplied.

use std::collections::BTreeMap;
use std::time::Duration;

use super::faults::Reported;
use super::kinds::{field_name, is_field_name, text, time};
use super::profiles::shipped;
use super::reader::TableReader;
use super::{millis, seconds};

/// The billing call of a chain. Signatures are in human-readable ABI, and their parameter names are
/// entry field names.
#[derive(Debug, Clone)]
pub struct BillingConfig {
    /// The function that charges.
    pub call: String,
    /// The view function that is read for every entry before it is charged, if the contract has one.
    pub lookup: Option<String>,
    /// The event of a charge that was made, if the contract has one.
    pub charged: Option<String>,
    /// The event of an entry that the contract passed over, if it has one.
    pub skipped: Option<String>,
    /// Arguments that are the same in every call, by parameter name, as text.
    pub constants: BTreeMap<String, String>,
    /// Meaning of the contract's reason numbers: decimal number to failure code.
    pub reasons: BTreeMap<String, String>,
    /// The entry field that holds the period, for contracts whose `call` and `lookup` name none.
    pub period: Option<String>,
    /// Time from now to the computed argument `deadline`: 10 s to 7 d.
    pub deadline: Duration,
    /// Time for which a charge stays claimed after it is final when nothing says which period it was for: 1 s to
    /// 366 d.
    pub guard: Duration,
}

const DAY: u64 = 86_400;

impl BillingConfig {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        // Without the profile, keys that it would have answered cannot be told from unknown ones.
        let profile =
            reader.optional("profile", &shipped()).inspect_err(|_| reader.ignore_the_rest())?;
        if let Some(profile) = profile {
            reader.fall_back_on(&profile.table());
        }
        let function = text("a function in human-readable ABI", 4096);
        let event = text("an event in human-readable ABI", 4096);
        let call = reader.get("call", &function);
        let none = |text: String| (text != "none").then_some(text);
        let lookup = reader.optional(
            "lookup",
            &text(&format!("\"none\" or {}", function.expects), 4096).map(none),
        );
        let charged = reader.optional("charged", &event);
        let skipped = reader.optional("skipped", &event);
        let constants = reader.words("constants", judge_constant);
        let reasons = reader.words("reasons", judge_reason);
        let period = reader.optional("period", &field_name("the name of an entry field"));
        let deadline = reader.get("deadline", &time(seconds(10)..=seconds(7 * DAY)));
        let guard = reader.get("guard", &time(millis(1000)..=seconds(366 * DAY)));
        Ok(Self {
            call: call?,
            lookup: lookup?.flatten(),
            charged: charged?,
            skipped: skipped?,
            constants: constants?,
            reasons: reasons?,
            period: period?,
            deadline: deadline?,
            guard: guard?,
        })
    }
}

fn judge_constant(name: &str, _value: &str) -> Result<(), String> {
    let problem = "is not the name of a parameter: letters, digits and underscores";
    is_field_name(name).then_some(()).ok_or_else(|| problem.to_owned())
}

/// Checks that the right side is a failure code. The contract profile decides what the left side means: a number,
/// an error or a text.
fn judge_reason(_said: &str, code: &str) -> Result<(), String> {
    let is_code = code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_code.then_some(()).ok_or_else(|| {
        "is not a failure code; expected one such as \"ALLOWANCE_INSUFFICIENT\"".to_owned()
    })
}
