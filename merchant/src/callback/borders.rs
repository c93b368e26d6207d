//! Limits on JSON beyond its grammar, so that all languages read the same in it. The limits are shared:
//! `docs/vectors/signing.json`.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;

/// So many objects and lists may be within each other.
const DEEPEST: usize = 100;

/// That a value is within the borders.
pub(super) fn check(value: &RawValue) -> Result<(), serde_json::Error> {
    within(value, 0)
}

fn within(value: &RawValue, around: usize) -> Result<(), serde_json::Error> {
    let (text, level) = (value.get(), around.saturating_add(1));
    if text.starts_with(['{', '[']) && level > DEEPEST {
        return Err(serde_json::Error::custom(format!("more than {DEEPEST} levels")));
    }
    match text.bytes().next() {
        Some(b'{') => {
            let Fields(values) = serde_json::from_str(text)?;
            values.into_iter().try_for_each(|value| within(value, level))
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text)?;
            values.into_iter().try_for_each(|value| within(value, level))
        }
        // Half a surrogate pair is found where the text is read.
        Some(b'"') => serde_json::from_str::<String>(text).map(drop),
        _ => Ok(()),
    }
}

/// The values of an object, each name of which is there once.
struct Fields<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Fields<'de>, A::Error> {
        let (mut names, mut values) = (BTreeSet::new(), Vec::new());
        while let Some((name, value)) = object.next_entry::<String, &RawValue>()? {
            if name.starts_with('\0') {
                return Err(A::Error::custom("the name of a field begins with NUL"));
            }
            values.push(value);
            if let Some(name) = names.replace(name) {
                return Err(A::Error::custom(format!("the field {name} is there twice")));
            }
        }
        Ok(Fields(values))
    }
}

#[cfg(test)]
mod tests {
    use crate::callback::verify;
    use crate::sign::{Arrived, Credentials, Presented};
    use crate::time::UnixSeconds;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Shared {
        callback: Signed,
        bodies: Vec<Body>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Signed {
        secret: String,
        timestamp: String,
        method: String,
        path_and_query: String,
    }

    #[derive(Deserialize)]
    struct Body {
        name: String,
        taken: bool,
        #[serde(rename = "body")]
        text: String,
        sign: String,
    }

    #[test]
    fn of_what_is_signed_json_objects_alone_are_taken() {
        let text = include_str!("../../../docs/vectors/signing.json");
        let Shared { callback, bodies } = serde_json::from_str(text).unwrap();
        assert!(bodies.len() > 40);
        let (method, path) = (callback.method.as_str(), callback.path_and_query.as_str());
        let known = [Credentials::new("k", callback.secret.as_str())];
        let now = UnixSeconds(callback.timestamp.parse().unwrap());
        for Body { name, taken, text, sign } in bodies {
            let body = STANDARD.decode(text).unwrap();
            let presented = Presented {
                key: Some("k"),
                timestamp: Some(&callback.timestamp),
                sign: Some(&sign),
            };
            let arrived = Arrived { method, path_and_query: path, body: &body };
            let heard = verify(&known, &presented, &arrived, now);
            assert_eq!(heard.is_ok(), taken, "{name}: {heard:?}");
        }
    }
}
