//! The query of a `GET`, whose faults name the parameter.

use serde::de::DeserializeOwned;

/// Reads a query of parameters that may all be left out. A fault of one names that one; the others are of the whole,
/// as a parameter that is stated twice.
pub(super) fn read<T: DeserializeOwned>(query: &str) -> Result<T, String> {
    serde_urlencoded::from_str(query).map_err(|whole| {
        let mut alone = query.split('&').filter_map(fault::<T>);
        alone.next().unwrap_or_else(|| whole.to_string())
    })
}

fn fault<T: DeserializeOwned>(pair: &str) -> Option<String> {
    let why = serde_urlencoded::from_str::<T>(pair).err()?.to_string();
    let (name, _) = pair.split_once('=').unwrap_or((pair, ""));
    // A name that is not known stands in its fault already.
    let is_unknown = why.starts_with("unknown field");
    Some(match form(name) {
        Some(form) if !is_unknown => format!("{name}: {form}"),
        Some(_) | None if why.contains(name) => why,
        Some(_) | None => format!("{name}: {why}"),
    })
}

/// The form of a parameter, where the fault of its value does not tell.
fn form(name: &str) -> Option<&'static str> {
    Some(match name {
        "from" | "until" | "blockFrom" | "blockUntil" => "Unix seconds, such as 1767225600",
        "userHash" => "64 hex digits, with or without 0x",
        "subscribeId" | "planId" | "chainId" | "limit" => "a whole number",
        "wait" => "a whole number of seconds",
        _ => return None,
    })
}
