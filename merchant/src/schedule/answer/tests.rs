use super::*;
use serde_json::value::RawValue;

fn full<T: serde::de::DeserializeOwned>(json: &serde_json::Value) -> Full<T> {
    Full::from_raw(RawValue::from_string(json.to_string()).unwrap()).unwrap()
}

fn refused(http_status: u16, msg: &str) -> Result<Verdict, CallError> {
    Err(CallError::Refused(Refusal {
        http_status,
        code: 0,
        msg: msg.to_owned(),
        description: None,
        retry_after_seconds: (http_status == 503).then_some(7),
        max_batch: None,
    }))
}

#[test]
fn a_batch_is_split_by_what_the_signer_names_and_a_single_charge_waits() {
    let fits = |http_status, most| {
        let Err(CallError::Refused(refusal)) = refused(http_status, "too many") else { panic!() };
        Err(CallError::Refused(Refusal { max_batch: Some(most), ..refusal }))
    };
    let ids: Vec<i64> = (0..500).collect();
    for status in [413, 503] {
        let split = Answer::Split { entries: 7, too_large: true };
        assert_eq!(read(&ids, fits(status, 7)), split);
        let split = Answer::Split { entries: 1, too_large: true };
        assert_eq!(read(&ids, fits(status, 0)), split, "one at least");
    }
    let half = Answer::Split { entries: 250, too_large: true };
    assert_eq!(read(&ids, fits(413, 500)), half, "what does not fit is never posted whole again");
    assert!(matches!(read(&[1], fits(503, 1)), Answer::Silence { pause_ms: 7000, .. }));
}

#[test]
fn everybody_asked_gets_exactly_one_verdict() {
    let sent = full(&serde_json::json!({
        "subscriptionIds": [1, 99], "txHash": "0xAA",
        "failed": [
            {"subscribeId": 2, "failReason": "Balance insufficient", "failCode": "BALANCE_INSUFFICIENT", "retry": "USER"},
            {"subscribeId": 3, "failReason": "Already charged for this period", "failCode": "ALREADY_CHARGED", "retry": "DONE", "txHash": "0xBB"},
            {"subscribeId": 4, "failReason": "Already charged for this period", "failCode": "ALREADY_CHARGED", "retry": "DONE"},
        ],
        "earlier": [{"subscribeId": 5, "txHash": "0xCC", "state": "open"}],
    }));
    let Answer::Verdict(heard) = read(&[1, 2, 3, 4, 5, 6], Ok(Verdict::Sent(sent))) else {
        panic!("no verdict")
    };
    assert_eq!(heard.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let accepted = |hash: &str| Heard::Accepted { tx_hash: hash.to_owned() };
    let advice = |heard: &Heard| {
        let Heard::Refused(decline) = heard else { panic!("{heard:?}") };
        decline.advice
    };
    assert_eq!(heard[0].1, accepted("0xAA"));
    assert_eq!(advice(&heard[1].1), Advice::User);
    assert_eq!(heard[2].1, accepted("0xBB"));
    assert_eq!(advice(&heard[3].1), Advice::Done);
    assert_eq!(heard[4].1, accepted("0xCC"));
    assert_eq!(advice(&heard[5].1), Advice::Wait);
}

#[test]
fn who_pays_already_is_no_failure_and_who_may_have_paid_is_for_a_person() {
    let failed = |id: i64, code: &str, retry: &str| {
        full(&serde_json::json!({
            "subscribeId": id, "failReason": "words", "failCode": code, "retry": retry, "txHash": "0xAA",
        }))
    };
    let failures = vec![failed(1, "OUTCOME_UNKNOWN", "FIX"), failed(2, "PERIOD_PASSED", "LOST")];
    let earlier = serde_json::json!([{"subscribeId": "3", "txHash": "0xBB", "state": "charged"}]);
    let verdict = Verdict::Refused(failures, serde_json::from_value(earlier).unwrap());
    let Answer::Verdict(heard) = read(&[1, 2, 3], Ok(verdict)) else { panic!("no verdict") };
    let advice = |heard: &Heard| match heard {
        Heard::Refused(decline) => Some(decline.advice),
        Heard::Accepted { .. }
        | Heard::Charged { .. }
        | Heard::Failed(_)
        | Heard::Freed { .. }
        | Heard::Unproven { .. } => None,
    };
    assert_eq!(advice(&heard[0].1), Some(Advice::Fix));
    assert_eq!(advice(&heard[1].1), Some(Advice::Lost));
    assert_eq!(heard[2].1, Heard::Accepted { tx_hash: "0xBB".to_owned() });
}

#[test]
fn a_bare_signer_of_the_interface_is_understood() {
    let failed =
        full(&serde_json::json!({"subscribeId": 2, "failReason": "Allowance insufficient"}));
    let Answer::Verdict(heard) = read(&[2], Ok(Verdict::Refused(vec![failed], vec![]))) else {
        panic!("no verdict")
    };
    let Heard::Refused(decline) = &heard[0].1 else { panic!("{heard:?}") };
    assert_eq!((decline.advice, decline.code.as_str()), (Advice::User, "ALLOWANCE_INSUFFICIENT"));
}

#[test]
fn what_no_batch_can_be_is_halved_down_to_the_culprit() {
    let half = |too_large| Answer::Split { entries: 1, too_large };
    assert_eq!(read(&[1, 2], refused(413, "too many")), half(true));
    assert_eq!(read(&[1, 2], refused(400, "malformed")), half(false));
    let rule = "refused by policy, rule chains.139.policy.max_amount.0xab: …";
    assert_eq!(read(&[1, 2], refused(403, rule)), half(false));
    let rule = "refused by policy, rule chains.136.policy.max_batch: 100 charges in one request";
    assert_eq!(read(&[1, 2], refused(403, rule)), half(true));
    let rule = "refused by policy, rule chains.136.policy.max_day: max_batch";
    assert!(matches!(read(&[1, 2], refused(403, rule)), Answer::Silence { .. }));
    assert!(matches!(read(&[1], refused(400, "malformed")), Answer::Verdict(heard)
        if matches!(&heard[0].1, Heard::Refused(decline) if decline.advice == Advice::Fix)));
}

#[test]
fn no_verdict_is_silence() {
    let silence = |answer| {
        let Answer::Silence { pause_ms, alarm, .. } = read(&[1, 2], answer) else { panic!() };
        (pause_ms, alarm)
    };
    assert_eq!(silence(refused(503, "busy")), (7000, false));
    assert_eq!(silence(refused(401, "signature")), (0, true));
    assert_eq!(silence(refused(409, "these signed bytes were answered before")), (0, true));
    assert_eq!(silence(refused(403, "refused by policy, rule pause: by ops")), (0, true));
    let unheard = CallError::Unheard { peer: "x".to_owned(), why: "reset".to_owned() };
    assert_eq!(silence(Err(unheard)), (0, false));
}

#[test]
fn nothing_is_concluded_from_what_is_open_or_not_understood() {
    let status = |state: &str, one: &str| -> Vec<Full<BillingStatus>> {
        vec![full(&serde_json::json!({
            "txHash": "0xA2", "txHashes": ["0xA1", "0xA2"], "state": state,
            "subscriptions": [{"subscribeId": 1, "state": one, "failCode": "BALANCE_INSUFFICIENT"}],
        }))]
    };
    assert_eq!(look(&[]), Some(Look::Unknown));
    assert!(
        matches!(look(&status("open", "open")), Some(Look::Open { hashes }) if hashes.len() == 3)
    );
    assert_eq!(look(&status("improbable", "charged")), None);
    assert_eq!(look(&status("charged", "improbable")), None);
    let outcome = |state: &str, one: &str| {
        let Some(Look::Final { mut outcomes, .. }) = look(&status(state, one)) else { panic!() };
        outcomes.remove(0).1
    };
    assert_eq!(outcome("charged", "charged"), Heard::Charged { tx_hash: Some("0xA2".to_owned()) });
    assert!(matches!(outcome("charged", "failed"), Heard::Failed(d) if d.advice == Advice::User));
    assert!(matches!(outcome("expired", "expired"), Heard::Freed { .. }));
    assert!(matches!(outcome("charged", "unproven"), Heard::Unproven { .. }));
}

#[test]
fn the_word_of_a_person_is_the_outcome_of_what_is_unproven() {
    let outcome = |resolved: serde_json::Value| {
        let status = full(&serde_json::json!({
            "txHash": "0xA2", "txHashes": ["0xA2"], "state": "charged",
            "subscriptions": [{"subscribeId": 1, "state": "unproven", "resolved": resolved}],
        }));
        let Some(Look::Final { mut outcomes, .. }) = look(&[status]) else { panic!() };
        outcomes.remove(0).1
    };
    let tx_hash = "0xA2".to_owned();
    assert_eq!(outcome("charged".into()), Heard::Charged { tx_hash: Some(tx_hash.clone()) });
    assert!(matches!(outcome("free".into()), Heard::Failed(d) if d.advice == Advice::Retry));
    for other in [serde_json::Value::Null, "perhaps".into()] {
        assert_eq!(outcome(other), Heard::Unproven { tx_hash: tx_hash.clone() });
    }
}

#[test]
fn a_name_that_stands_for_other_entries_is_given_up() {
    let said = "this requestId stands for other entries already: give a request with other entries another one";
    assert!(matches!(read(&[1, 2], refused(409, said)), Answer::NameTaken { .. }));
}
