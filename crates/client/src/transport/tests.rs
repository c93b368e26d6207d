//! Against what every client is held to: `docs/vectors/signing.json`.

use super::*;

/// A refusal by a peer whose clock says something else.
#[derive(Deserialize)]
struct Case {
    /// The Signer, or a peer that signs nothing.
    signer: bool,
    status: u16,
    proven: bool,
    off: i64,
    told: bool,
}

#[derive(Deserialize)]
struct Vectors {
    clocks: Vec<Case>,
}

impl Case {
    fn heard(&self) -> CallError {
        let answers = if self.signer { Answers::Signed } else { Answers::Unsigned };
        let theirs = UnixSeconds(1_767_225_600);
        let ours = theirs.plus(self.off);
        let clocks = Clocks { theirs, ours, ahead_allowed: answers.ahead_allowed() };
        let text = br#"{"code":0,"msg":"no","description":null,"data":null}"#;
        let answer = reply(self.status, &HeaderMap::new(), Some(clocks), text).unwrap();
        if self.proven || !self.signer {
            return answer.refused();
        }
        let credentials = Credentials::new("key", "secret");
        let transport = Transport::new("http://127.0.0.1:1", credentials, answers).unwrap();
        transport.unproven(SignatureError::Wrong, self.status, Some(answer))
    }
}

#[test]
fn a_clock_that_is_off_is_told_where_it_explains_a_refusal_and_nowhere_else() {
    let text = include_str!("../../../../docs/vectors/signing.json");
    let Vectors { clocks } = serde_json::from_str(text).unwrap();
    assert!(clocks.len() > 10);
    for case in clocks {
        let (error, Case { signer, status, off, .. }) = (case.heard(), &case);
        let told = matches!(error, CallError::ClockOff { .. });
        if let CallError::ClockOff { off_seconds, allowed_seconds, .. } = &error {
            let allowed = if *signer && *off > 0 { 5 } else { 60 };
            assert_eq!((off_seconds, *allowed_seconds), (off, allowed));
        }
        assert_eq!(told, case.told, "signer {signer}, HTTP {status}, {off} s: {error}");
    }
}

/// A gateway whose clock is wrong may have passed the request on before it failed.
#[test]
fn a_clock_that_is_off_does_not_turn_a_peer_in_trouble_into_one_that_did_nothing() {
    for (status, code) in [(503, 0), (500, 500), (200, 503)] {
        let text = format!(r#"{{"code":{code},"msg":"busy"}}"#);
        let (theirs, ours) = (UnixSeconds(1_767_225_600), UnixSeconds(1_767_229_200));
        let clocks = Clocks { theirs, ours, ahead_allowed: CLOCK_WINDOW_SECONDS };
        let answer = reply(status, &HeaderMap::new(), Some(clocks), text.as_bytes()).unwrap();
        let error = answer.refused();
        assert!(matches!(error, CallError::Refused(_)), "HTTP {status}: {error}");
        assert!(error.may_have_happened(), "HTTP {status}: {error}");
    }
}
