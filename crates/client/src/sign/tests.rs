//! The signature, against the vectors that every implementation shares.

use super::*;
use proptest::prelude::*;
use serde::Deserialize;

const NOW: UnixSeconds = UnixSeconds(1_767_225_600);

#[derive(Debug, Deserialize)]
struct Vectors {
    vectors: Vec<Vector>,
    answers: Vec<AnswerVector>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerVector {
    name: String,
    proven: bool,
    secret: String,
    request_sign: String,
    now: i64,
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl AnswerVector {
    fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(given, _)| given == name);
        all.next().filter(|_| all.next().is_none()).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    name: String,
    secret: String,
    timestamp: String,
    method: String,
    path_and_query: String,
    body: String,
    sign: String,
}

impl Vector {
    fn signable(&self) -> Signable<'_> {
        Signable {
            timestamp: &self.timestamp,
            method: &self.method,
            path_and_query: &self.path_and_query,
            body: self.body.as_bytes(),
        }
    }

    fn check(&self, now: UnixSeconds) -> Result<(), SignatureError> {
        let credentials = [Credentials::new("key", self.secret.as_str())];
        let presented = Presented {
            key: Some("key"),
            timestamp: Some(&self.timestamp),
            sign: Some(&self.sign),
        };
        let Signable { method, path_and_query, body, .. } = self.signable();
        verify(&credentials, &presented, &Arrived { method, path_and_query, body }, now).map(drop)
    }
}

fn vectors() -> Vec<Vector> {
    shared().vectors
}

fn shared() -> Vectors {
    serde_json::from_str(include_str!("../../../../docs/vectors/signing.json")).unwrap()
}

fn first() -> Vector {
    vectors().into_iter().next().unwrap()
}

#[test]
fn every_vector_is_made_and_accepted() {
    for vector in vectors() {
        let made = sign(&SecretString::from(vector.secret.clone()), &vector.signable());
        assert_eq!(made, vector.sign, "{}", vector.name);
        assert_eq!(vector.check(NOW), Ok(()), "{}", vector.name);
    }
}

#[test]
fn an_answer_is_taken_where_it_is_proven_and_nowhere_else() {
    for vector in shared().answers {
        let answered = Answered {
            request_sign: &vector.request_sign,
            timestamp: vector.header(TIMESTAMP_HEADER),
            sign: vector.header(SIGN_HEADER),
            http_status: vector.status,
            body: vector.body.as_bytes(),
        };
        let secret = SecretString::from(vector.secret.clone());
        let verified = verify_answer(&secret, &answered, UnixSeconds(vector.now));
        assert_eq!(verified.is_ok(), vector.proven, "{}: {verified:?}", vector.name);
    }
}

#[test]
fn one_changed_byte_of_the_body_is_refused() {
    for at in 0..first().body.len() {
        let mut vector = first();
        let mut bytes = vector.body.into_bytes();
        bytes[at] ^= 1;
        vector.body = String::from_utf8(bytes).unwrap();
        assert_eq!(vector.check(NOW), Err(SignatureError::Wrong));
    }
}

#[test]
fn sixty_seconds_are_the_window() {
    for (off, accepted) in [(-61, false), (-60, true), (60, true), (61, false)] {
        assert_eq!(first().check(NOW.plus(off)).is_ok(), accepted, "{off}");
    }
    let late = first().check(NOW.plus(61));
    assert_eq!(late, Err(SignatureError::ClockOff { off_seconds: -61, now: NOW.plus(61) }));
}

#[test]
fn strange_headers_are_refused() {
    for timestamp in ["", "+176722560", " 1767225600", "1767225600.0", "17672256000", "١٧٦٧٢"]
    {
        let vector = Vector { timestamp: timestamp.to_owned(), ..first() };
        assert_eq!(vector.check(NOW), Err(SignatureError::MalformedTimestamp), "{timestamp:?}");
    }
    for sign in ["", "====", "AAAA", &first().sign[..43], &format!("{}=", first().sign)] {
        let vector = Vector { sign: sign.to_owned(), ..first() };
        assert_eq!(vector.check(NOW), Err(SignatureError::MalformedSign), "{sign:?}");
    }
}

#[test]
fn while_a_secret_changes_both_are_accepted() {
    let vector = first();
    let presented =
        Presented { key: Some("k"), timestamp: Some(&vector.timestamp), sign: Some(&vector.sign) };
    let Signable { method, path_and_query, body, .. } = vector.signable();
    let arrived = Arrived { method, path_and_query, body };
    let both = [Credentials::new("k", "another"), Credentials::new("k", vector.secret.as_str())];
    assert_eq!(verify(&both, &presented, &arrived, NOW), Ok("k"));
    assert_eq!(verify(&both[..1], &presented, &arrived, NOW), Err(SignatureError::Wrong));
    let other = [Credentials::new("other", vector.secret.as_str())];
    assert_eq!(verify(&other, &presented, &arrived, NOW), Err(SignatureError::Wrong));
}

#[test]
fn a_secret_is_not_shown() {
    assert!(!format!("{:?}", Credentials::new("key", "hidden-words")).contains("hidden-words"));
}

proptest! {
    #[test]
    fn no_headers_are_a_reason_to_panic(timestamp in ".*", sign in ".*", body: Vec<u8>) {
        let presented =
            Presented { key: Some("k"), timestamp: Some(&timestamp), sign: Some(&sign) };
        let arrived = Arrived { method: "POST", path_and_query: "/", body: &body };
        let known = [Credentials::new("k", "secret")];
        prop_assert!(verify(&known, &presented, &arrived, NOW).is_err());
    }
}
