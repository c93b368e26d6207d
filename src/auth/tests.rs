use proptest::prelude::*;

use super::*;
use config::Rights;
use signer_client::sign as client;
use std::cmp::Ordering;

const NOW: i64 = 1_767_225_600;
const SECRET: &str = "rotate-me-2026-golden";
const PATH: &str = "/PayTool/EVM/subscribe/signProcessSubscribePlan?trace=1";
const BODY: &[u8] = br#"[{"subscribeId":7,"chainId":139,"amount":10000000000000000000}]"#;
/// printf '%s' "1767225600POST$PATH$BODY" | openssl dgst -sha256 -hmac "$SECRET" -binary | base64
const SIGN: &str = "WMMT2WgMthXy7OXHMBD8Dpbp+3baudhvrrSSqwxdsrk=";
/// Of an answer to that request, by openssl as well.
const ANSWER_SIGN: &str = "RXcIykMmjmIvsSj1nEDuK/7Z5Q2jBqV9V/ygilsvElQ=";
/// The same over "1767225600GET/PayTool/billings/0xab", by Python's hmac.
const SIGN_OF_GET: &str = "tK9o7EUygrcmObY0S5450lJELM7iZRYxkD/Lk2/hE8c=";

fn caller(key: &str, secret: &str) -> Caller {
    Caller {
        label: key.to_owned(),
        key: key.to_owned(),
        secret: secret.into(),
        rights: Rights::default(),
    }
}

impl Callers {
    /// The caller who signed a request.
    fn identify(&self, request: &SignedParts<'_>, now: i64) -> Result<Proven, AuthError> {
        self.judge(request, now)?.prove(request)
    }

    /// The key of whoever signed.
    fn verify(&self, request: &SignedParts<'_>, now: i64) -> Result<String, AuthError> {
        self.identify(request, now).map(|proven| proven.caller.key.clone())
    }
}

fn callers(list: &[(&str, &str)]) -> Callers {
    Callers::new(list.iter().map(|(key, secret)| caller(key, secret)).collect()).unwrap()
}

fn scheduler() -> Callers {
    callers(&[("scheduler", SECRET)])
}

/// Signs as a caller does.
fn sign(secret: &SecretString, request: &SignedParts<'_>) -> String {
    let SignedParts { timestamp, method, path_and_query, body, .. } = *request;
    let timestamp = timestamp.unwrap();
    client::sign(secret, &Signable { timestamp, method, path_and_query, body })
}

fn golden() -> SignedParts<'static> {
    SignedParts {
        key: Some("scheduler"),
        timestamp: Some("1767225600"),
        sign: Some(SIGN),
        method: "POST",
        path_and_query: PATH,
        body: BODY,
    }
}

#[test]
fn a_signature_made_with_openssl_is_let_in() {
    assert_eq!(scheduler().verify(&golden(), NOW), Ok("scheduler".to_owned()));
    assert_eq!(sign(&SECRET.into(), &golden()), SIGN);
    let path_and_query = "/PayTool/billings/0xab";
    let get = SignedParts { method: "GET", path_and_query, body: b"", ..golden() };
    assert_eq!(sign(&SECRET.into(), &get), SIGN_OF_GET);
}

/// The vectors that the merchant's clients are held to, in every language.
#[test]
fn the_shared_vectors_are_let_in() {
    let text = include_str!("../../docs/vectors/signing.json");
    let shared: serde_json::Value = serde_json::from_str(text).unwrap();
    let vectors = shared["vectors"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let field = |name: &str| vector[name].as_str().unwrap();
        let request = SignedParts {
            key: Some("k"),
            timestamp: Some(field("timestamp")),
            sign: Some(field("sign")),
            method: field("method"),
            path_and_query: field("pathAndQuery"),
            body: field("body").as_bytes(),
        };
        let callers = callers(&[("k", field("secret"))]);
        assert_eq!(callers.verify(&request, NOW), Ok("k".to_owned()), "{}", field("name"));
    }
}

#[test]
fn one_changed_byte_anywhere_is_refused() {
    let callers = scheduler();
    for at in 0..BODY.len() {
        let mut body = BODY.to_vec();
        body[at] ^= 1;
        assert!(callers.verify(&SignedParts { body: &body, ..golden() }, NOW).is_err());
    }
    for at in 0..PATH.len() {
        let mut path = PATH.as_bytes().to_vec();
        path[at] ^= 1;
        let path_and_query = std::str::from_utf8(&path).unwrap();
        assert!(callers.verify(&SignedParts { path_and_query, ..golden() }, NOW).is_err());
    }
    for at in 0..SIGN.len() {
        let mut bytes = SIGN.as_bytes().to_vec();
        bytes[at] ^= 1;
        let sign = Some(std::str::from_utf8(&bytes).unwrap());
        assert!(callers.verify(&SignedParts { sign, ..golden() }, NOW).is_err(), "{sign:?}");
    }
    for timestamp in ["1767225601", "1767225599", "1767225604"] {
        let late = SignedParts { timestamp: Some(timestamp), ..golden() };
        assert_eq!(callers.verify(&late, NOW), Err(AuthError::Wrong));
    }
    for method in ["GET", "PUT", "post"] {
        let other = SignedParts { method, ..golden() };
        assert_eq!(callers.verify(&other, NOW), Err(AuthError::Wrong));
    }
}

#[test]
fn the_window_is_sixty_seconds_into_the_past_and_five_ahead() {
    let callers = scheduler();
    for now in [NOW - 5, NOW, NOW + 60] {
        assert_eq!(callers.verify(&golden(), now), Ok("scheduler".to_owned()));
    }
    for (now, ahead_seconds) in [(NOW - 6, 6), (NOW - 30, 30), (NOW - 61, 61)] {
        let ahead = AuthError::ClockAhead { ahead_seconds, server_unix_seconds: now };
        assert_eq!(callers.verify(&golden(), now), Err(ahead));
        assert!(ahead.to_string().contains(&format!("{ahead_seconds} s ahead")), "{ahead}");
    }
    let behind = AuthError::ClockBehind { behind_seconds: 61, server_unix_seconds: NOW + 61 };
    assert_eq!(callers.verify(&golden(), NOW + 61), Err(behind));
    for now in [i64::MIN, -1, 0, i64::MAX] {
        let refused = callers.verify(&golden(), now);
        assert_eq!(refused.unwrap_err().word(), "clock");
    }
}

#[test]
fn an_unknown_key_hears_what_a_wrong_signature_hears() {
    let callers = scheduler();
    let stranger = SignedParts { key: Some("stranger"), ..golden() };
    assert_eq!(callers.verify(&stranger, NOW), Err(AuthError::Wrong));
    let wrong = sign(&"another secret, long enough".into(), &golden());
    let wrong = SignedParts { sign: Some(&wrong), ..golden() };
    assert_eq!(callers.verify(&wrong, NOW), Err(AuthError::Wrong));
    assert_eq!(AuthError::Wrong.to_string(), "signature or key is wrong");
}

#[test]
fn a_secret_is_changed_without_a_pause() {
    let (old, new) = ("the old secret, 2025", "the new secret, 2026");
    let both = callers(&[("other", SECRET), ("scheduler", old), ("scheduler", new)]);
    for secret in [old, new] {
        let made = sign(&secret.into(), &golden());
        let request = SignedParts { sign: Some(&made), ..golden() };
        assert_eq!(both.verify(&request, NOW), Ok("scheduler".to_owned()));
        let as_other = SignedParts { key: Some("other"), ..request };
        assert_eq!(both.verify(&as_other, NOW), Err(AuthError::Wrong));
    }
    // a secret opens the door for its own key only
    assert_eq!(both.verify(&golden(), NOW), Err(AuthError::Wrong));
    let as_other = SignedParts { key: Some("other"), ..golden() };
    assert_eq!(both.verify(&as_other, NOW), Ok("other".to_owned()));
}

#[test]
fn what_is_missing_or_malformed_is_named() {
    let callers = scheduler();
    let hears = |request: SignedParts<'_>| callers.verify(&request, NOW).unwrap_err().to_string();
    assert!(hears(SignedParts { key: None, ..golden() }).contains("X-PAY-KEY is missing"));
    assert!(hears(SignedParts { sign: None, ..golden() }).contains("X-PAY-SIGN is missing"));
    let nothing = SignedParts { timestamp: None, ..golden() };
    assert!(hears(nothing).contains("X-PAY-TIMESTAMP is missing"));
    for timestamp in
        ["", "176722560", "01767225600", "+176722560", " 1767225600", "1767225600000", "１７"]
    {
        let request = SignedParts { timestamp: Some(timestamp), ..golden() };
        assert!(hears(request).contains("exactly 10 digits"), "{timestamp}");
    }
    let unpadded = SIGN.trim_end_matches('=');
    let with_line_end = format!("{SIGN}\n");
    let loose_bits = SIGN.replace("rk=", "rl="); // the same bytes, spelt otherwise
    for sign in ["", "a", unpadded, &with_line_end, &loose_bits, "WMMT", &SIGN.replace('+', "-")] {
        let request = SignedParts { sign: Some(sign), ..golden() };
        assert!(hears(request).contains("44 characters"), "{sign}");
    }
}

#[test]
fn one_signature_fits_one_cut_between_path_and_body() {
    let callers = scheduler();
    let whole = format!("{PATH}{}", std::str::from_utf8(BODY).unwrap());
    for cut in 0..=whole.len() {
        let (path_and_query, body) = whole.split_at(cut);
        let request = SignedParts { path_and_query, body: body.as_bytes(), ..golden() };
        let expected = match cut.cmp(&PATH.len()) {
            Ordering::Less if cut > 0 => Err(AuthError::NoObject),
            Ordering::Equal => Ok("scheduler".to_owned()),
            Ordering::Less | Ordering::Greater => Err(AuthError::Ambiguous),
        };
        assert_eq!(callers.verify(&request, NOW), expected, "cut at {cut}");
    }
}

#[test]
fn callers_without_a_name_or_a_real_secret_are_refused() {
    for key in ["", "two words", "ключ", "line\n"] {
        let refused = Callers::new(vec![caller("a", SECRET), caller(key, SECRET)]).unwrap_err();
        assert_eq!(refused, CallerError::BadKey { position: 2 });
    }
    let refused = Callers::new(vec![caller("a", "fifteen bytes..")]).unwrap_err();
    assert_eq!(refused, CallerError::ShortSecret { key: "a".to_owned() });
    assert!(!refused.to_string().contains("fifteen"));
}

#[test]
fn the_head_is_judged_without_a_body() {
    let callers = scheduler();
    let head = SignedParts { body: b"never looked at", ..golden() };
    let presented = callers.judge(&head, NOW).unwrap();
    assert_eq!(presented.prove(&golden()).unwrap().at_unix_seconds, NOW);
    assert_eq!(presented.prove(&head).unwrap_err(), AuthError::NoObject);
    let stranger = SignedParts { key: Some("stranger"), ..head };
    let presented =
        callers.judge(&stranger, NOW).expect("whose key it is, is not told by the head");
    assert_eq!(presented.prove(&stranger).unwrap_err(), AuthError::NoObject);
    let late = callers.judge(&head, NOW + 61).unwrap_err();
    assert!(matches!(late, AuthError::ClockBehind { .. }));
    let unsigned = SignedParts { sign: Some("AAAA"), ..head };
    assert_eq!(callers.judge(&unsigned, NOW).unwrap_err(), AuthError::MalformedSign);
}

/// printf '1767225600200%s%s' "$SIGN" '{"code":1}' | openssl dgst -sha256 -hmac "$SECRET" -binary | base64
#[test]
fn an_answer_is_signed_over_its_time_its_status_the_request_and_its_body() {
    let proven = scheduler().identify(&golden(), NOW).unwrap();
    let made = proven.sign_answer(NOW, 200, br#"{"code":1}"#);
    assert_eq!(made, ANSWER_SIGN);
    let answer = client::Answered {
        request_sign: SIGN,
        timestamp: Some("1767225600"),
        sign: Some(&made),
        http_status: 200,
        body: br#"{"code":1}"#,
    };
    let now = signer_client::time::UnixSeconds(NOW);
    assert_eq!(client::verify_answer(&SECRET.into(), &answer, now), Ok(()));
    for other in [
        proven.sign_answer(NOW + 1, 200, br#"{"code":1}"#),
        proven.sign_answer(NOW, 503, br#"{"code":1}"#),
        proven.sign_answer(NOW, 200, br#"{"code":2}"#),
        Proven { sign: [0; 32], ..proven }.sign_answer(NOW, 200, br#"{"code":1}"#),
    ] {
        assert_ne!(other, made);
    }
}

#[test]
fn debug_prints_hold_no_secret_and_no_signature() {
    let printed = format!("{:?} {:?}", scheduler(), golden());
    assert!(printed.contains("scheduler"));
    assert!(!printed.contains(SECRET) && !printed.contains(SIGN), "{printed}");
}

proptest! {
    #[test]
    fn whatever_is_signed_is_let_in_and_nothing_beside_it(
        path in "/[!-Z\\\\-z|}~]{0,40}",
        method in "[A-Z]{3,7}",
        body in prop_oneof![
            Just(Vec::new()),
            prop::collection::vec(any::<u8>(), 0..200).prop_map(|mut body| { body.insert(0, b'['); body }),
        ],
        secret in "[ -~]{16,80}",
        age in -5_i64..=60,
        flip in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let callers = callers(&[("k", &secret)]);
        let secret = SecretString::from(secret);
        let request = SignedParts {
            key: Some("k"), timestamp: Some("1767225600"), sign: None,
            method: &method, path_and_query: &path, body: &body,
        };
        let made = sign(&secret, &request);
        let request = SignedParts { sign: Some(&made), ..request };
        prop_assert_eq!(callers.verify(&request, NOW.wrapping_add(age)), Ok("k".to_owned()));

        let mut other = body.clone();
        if other.is_empty() {
            other.push(b'{');
        } else {
            let at = flip.index(other.len());
            other[at] ^= 1 << bit;
        }
        let changed = SignedParts { body: &other, ..request };
        prop_assert!(callers.verify(&changed, NOW).is_err());
    }

    #[test]
    fn no_header_makes_it_fall_over(key in ".*", timestamp in ".*", made in ".*", path in ".*", body in any::<Vec<u8>>()) {
        let request = SignedParts {
            key: Some(&key), timestamp: Some(&timestamp), sign: Some(&made),
            method: "POST", path_and_query: &path, body: &body,
        };
        prop_assert!(scheduler().verify(&request, NOW).is_err());
    }
}
