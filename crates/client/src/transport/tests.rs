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
