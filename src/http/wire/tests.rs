use super::*;
use alloy::primitives::U256;
use proptest::prelude::*;

const ENTRY: &str = r#"{"subscribeId":7,"planId":"3","userHash":"0x1111111111111111111111111111111111111111111111111111111111111111","chainId":139,"amount":115792089237316195423570985008687907853269984665640564039457584007913129639935,"memo":null,"extra":{"a":[1]}}"#;

fn why(body: &str) -> String {
    read(body.as_bytes()).expect_err(body).to_string()
}

#[test]
fn four_bodies_mean_the_same() {
    let bodies = [
        format!("[{ENTRY}]"),
        format!(r#"{{"count":1,"page":1,"size":10,"list":[{ENTRY}]}}"#),
        format!(
            r#"{{"code":200,"msg":"ok","data":{{"count":1,"page":1,"size":10,"list":[{ENTRY}]}}}}"#
        ),
        format!(r#"{{"requestId":"r1","mode":"all","dryRun":false,"list":[{ENTRY}]}}"#),
    ];
    for body in bodies {
        let posted = read(body.as_bytes()).unwrap();
        assert_eq!(posted.chain, Some(PlatformChainId(139)), "{body}");
        let [entry] = &posted.entries[..] else { panic!("one entry: {body}") };
        assert_eq!((entry.subscribe.0, entry.plan.0), (7, 3));
        assert_eq!(entry.amount, Some(U256::MAX), "no digit is lost");
        assert!(!entry.fields.contains_key("memo"), "null is absent");
    }
}

#[test]
fn the_older_name_of_the_subscription_is_understood() {
    let body = format!("[{}]", ENTRY.replace("subscribeId", "subscriptionId"));
    assert_eq!(read(body.as_bytes()).unwrap().entries[0].subscribe.0, 7);
}

#[test]
fn options_are_read_and_misspelt_ones_are_not_ignored() {
    let body = format!(r#"{{"mode":"partial","dryRun":true,"requestId":"a-1","list":[{ENTRY}]}}"#);
    let posted = read(body.as_bytes()).unwrap();
    assert_eq!((posted.mode, posted.dry_run), (Mode::Partial, true));
    assert_eq!(posted.request_id.unwrap().as_str(), "a-1");
    for (option, said) in [
        (r#""dryrun":true"#, "dryrun: did you mean dryRun?"),
        (r#""dry_run":true"#, "dry_run: did you mean dryRun?"),
        (r#""dryRun":"yes""#, "dryRun must be true or false"),
        (r#""mode":"some""#, r#"mode must be "all" or "partial""#),
        (r#""mode":1"#, r#"mode must be "all" or "partial""#),
        (r#""requestId":"""#, "requestId must be a string of 1 to 64 visible ASCII characters"),
    ] {
        assert_eq!(why(&format!("{{{option},\"list\":[{ENTRY}]}}")), said);
    }
}

#[test]
fn a_near_miss_of_an_option_is_refused_wherever_it_stands() {
    for key in [
        "dryRunn", "dry run", "dryrum", "isDryRun", "DRY-RUN", "drRun", "simulate", "Preview",
        "dry",
    ] {
        let said = format!("{key}: did you mean dryRun?");
        assert_eq!(why(&format!("{{{key:?}:true,\"list\":[{ENTRY}]}}")), said);
    }
    for (key, meant) in
        [("Mode", "mode"), ("mod", "mode"), ("modes", "mode"), ("request_ids", "requestId")]
    {
        let said = format!("{key}: did you mean {meant}?");
        assert_eq!(why(&format!("{{{key:?}:\"all\",\"list\":[{ENTRY}]}}")), said);
    }
    for key in ["dryRun", "dry_run", "DryRunn"] {
        let entry = ENTRY.replacen('{', &format!("{{{key:?}:true,"), 1);
        for (at, body) in [
            (0, format!("[{entry}]")),
            (0, format!("{{\"dryRun\":true,\"list\":[{entry}]}}")),
            (1, format!("[{ENTRY},{entry}]")),
        ] {
            let said = format!("list[{at}].{key}: did you mean dryRun?");
            assert!(why(&body).starts_with(&said), "{body}");
        }
    }
    let page = r#""count":1,"page":1,"size":10,"total":1,"hasMore":false,"more":false"#;
    let platforms = format!(
        r#"{{"code":200,"msg":"ok","description":null,"data":{{{page},"list":[{ENTRY}]}}}}"#
    );
    assert!(read(platforms.as_bytes()).is_ok(), "what the platform writes passes");
    assert!(read(format!("{{{page},\"list\":[{ENTRY}]}}").as_bytes()).is_ok());
}

#[test]
fn a_list_beside_data_is_refused() {
    let said = why(&format!(r#"{{"code":200,"data":{{"list":[{ENTRY}]}},"list":[{ENTRY}]}}"#));
    assert!(said.starts_with("list: there is data, too"), "{said}");
    let said = why(&format!(r#"{{"code":200,"noSend":true,"list":[{ENTRY}]}}"#));
    assert!(said.starts_with("noSend: there is no such option"), "{said}");
}

#[test]
fn nothing_unknown_beside_a_callers_list_is_ignored() {
    for key in ["noSend", "validate", "options", "idempotencyKey"] {
        let said = why(&format!("{{\"{key}\":true,\"list\":[{ENTRY}]}}"));
        assert!(said.starts_with(&format!("{key}: there is no such option")), "{said}");
    }
}

#[test]
fn a_near_miss_of_an_entrys_field_is_refused_where_the_field_is_missing() {
    let entry = |field: &str| {
        format!(r#"[{{"subscribeId":1,"planId":1,"userHash":"0x{}",{field}}}]"#, "1".repeat(64))
    };
    for (slip, meant) in [
        ("Period", "period"),
        ("ammount", "amount"),
        ("tokenAdress", "tokenAddress"),
        ("plan_version", "planVersion"),
    ] {
        let said = why(&entry(&format!("\"{slip}\":1")));
        assert_eq!(said, format!("list[0].{slip}: did you mean {meant}?"));
    }
    for field in [
        r#""Period":1,"period":1"#,
        r#""memo":1"#,
        r#""plan":1"#,
        r#""cycle":2"#,
        r#""periods":2"#,
        r#""amount2":2"#,
    ] {
        assert!(read(entry(field).as_bytes()).is_ok(), "{field}");
    }
}

#[test]
fn options_around_the_platforms_own_answer_are_not_ignored() {
    let body = |outer: &str, inner: &str| {
        format!(r#"{{{outer}"code":200,"msg":"ok","data":{{{inner}"list":[{ENTRY}]}}}}"#)
    };
    let posted = read(body(r#""dryRun":true,"mode":"partial","#, "").as_bytes()).unwrap();
    assert_eq!((posted.mode, posted.dry_run), (Mode::Partial, true));
    assert_eq!(why(&body(r#""dryrun":true,"#, "")), "dryrun: did you mean dryRun?");
    assert_eq!(
        why(&body("", r#""dryrun":true,"#)),
        "data.dryrun: did you mean dryRun? Write it beside data"
    );
    let inside = why(&body("", r#""dryRun":true,"#));
    assert_eq!(inside, "data.dryRun: did you mean dryRun? Write it beside data");
}

#[test]
fn what_is_said_twice_is_not_guessed_at() {
    for (body, name) in [
        (format!(r#"{{"dryRun":true,"dryRun":false,"list":[{ENTRY}]}}"#), "dryRun"),
        (format!(r#"{{"list":[],"list":[{ENTRY}]}}"#), "list"),
        (format!(r#"{{"code":200,"data":{{"list":[],"list":[{ENTRY}]}}}}"#), "list"),
        (r#"[{"amount":null,"amount":1}]"#.to_owned(), "amount"),
    ] {
        assert!(why(&body).contains(&format!("{name} is stated twice")), "{body}");
    }
}

#[test]
fn what_is_wrong_with_a_body_is_said() {
    assert!(why("").starts_with("the body cannot be read"));
    assert!(why("nonsense").starts_with("the body cannot be read"));
    for other in ["7", "null", "\"text\""] {
        let told = r#"the body cannot be read: post an array of entries, or {"list": [...]}"#;
        assert_eq!(why(other), told, "{other}");
    }
    assert!(why("[1]").contains("expected an object"));
    assert!(why("{}").contains("there is no `list`"));
    assert!(why(r#"{"code":500,"msg":"down","data":null}"#).contains("has code 500"));
    assert!(why(&format!(r#"{{"code":500,"list":[{ENTRY}]}}"#)).contains("has code 500"));
    assert!(why(r#"[{"subscribeId":1,"subscribeId":2}]"#).contains("subscribeId is stated twice"));
    let two_chains = format!("[{ENTRY},{}]", ENTRY.replace("139", "140"));
    assert!(why(&two_chains).contains("the same in every entry"));
    let faults = why(r#"[{"subscribeId":-1,"planId":1.5,"userHash":"0x12"},{}]"#);
    assert_eq!(
        faults,
        "list[0].subscribeId must be a whole number from 0 to 2^63 - 1, as a JSON integer or as \
         digits in a string; list[0].planId must be a whole number from 0 to 2^63 - 1, as a JSON \
         integer or as digits in a string; list[0].userHash must be 64 hex digits, with or without \
         0x; list[1].subscribeId is missing; list[1].planId is missing; list[1].userHash is missing"
    );
}

proptest! {
    #[test]
    fn no_bytes_at_all_upset_the_reader(body: Vec<u8>) {
        drop(read(&body));
    }

    #[test]
    fn no_json_upsets_the_reader(keys in prop::collection::vec("[a-zA-Z]{1,12}", 0..6), value in "[-0-9a-z\\[\\]{}\",:.]{0,20}") {
        let fields: Vec<String> = keys.iter().map(|key| format!("\"{key}\":{value}")).collect();
        drop(read(format!("[{{{}}}]", fields.join(",")).as_bytes()));
    }
}

#[test]
fn the_words_of_a_body_end_no_line_of_the_log() {
    let name = r"x\n2026-11-29T10:30:00.000000Z  INFO billed\u001b[2K";
    for body in [
        format!(r#"{{"{name}":1,"{name}":2,"list":[]}}"#),
        format!(r#"{{"list":[{{"{name}":1,"{name}":2,"subscribeId":1}}]}}"#),
        r#"{"list":[{"dry\nrun":1,"subscribeId":1}]}"#.to_owned(),
        r#"{"dry\nrun":1,"list":[]}"#.to_owned(),
        "{\"code\":[\n1],\"list\":[]}".to_owned(),
    ] {
        let why = why(&body);
        assert!(!why.contains(char::is_control) && why.contains("\\n"), "{body}: {why}");
    }
}
