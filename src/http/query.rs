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
    Some(if why.contains(name) { why } else { format!("{name}: {why}") })
}
