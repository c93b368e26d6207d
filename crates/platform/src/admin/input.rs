//! Fields of the object that a control is given.

use crate::amount;
use crate::platform::{Platform, Side};
use alloy::primitives::U256;
use serde_json::Value;

/// A text that is there.
pub(super) fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str, String> {
    body[name]
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| format!("{name} is required, a text"))
}

/// A whole number that is there.
pub(super) fn number<N: TryFrom<u64>>(body: &Value, name: &str) -> Result<N, String> {
    let number = body[name].as_u64().and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| format!("{name} is required, a whole number"))
}

/// A whole number, or what is usual.
pub(super) fn number_or<N: TryFrom<u64>>(body: &Value, name: &str, usual: N) -> Result<N, String> {
    if body[name].is_null() { Ok(usual) } else { number(body, name) }
}

/// The chain that `chainId` names.
pub(super) fn side<'a>(platform: &'a Platform, body: &Value) -> Result<&'a Side, String> {
    let id = number(body, "chainId")?;
    platform.side(id).ok_or_else(|| format!("there is no chain {id}"))
}

/// A decimal amount of the chain's token, in base units.
pub(super) fn amount(side: &Side, body: &Value, name: &str) -> Result<U256, String> {
    let words = || {
        format!(
            "{name} is required, a decimal number in a text with at most {} digits after the point",
            side.decimals
        )
    };
    amount::parse(text(body, name)?, side.decimals).ok_or_else(words)
}
