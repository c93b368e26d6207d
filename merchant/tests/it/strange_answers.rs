//! Peers that answer what the interface does not promise: the errors are typed, in words, and tell
//! whether anything may have happened; reads are repeated, and nothing else is.

use crate::proofs::prove;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, Response, StatusCode};
use merchant::client::{LinkRequest, WithdrawError, WithdrawRequest};
use merchant::clock::{Clock, SystemClock};
use merchant::sign::Credentials;
use merchant::signer::{Family, SignerClient, Verdict};
use merchant::time::UnixSeconds;
use merchant::types::{ChainId, CurrencyId, PlanId, WithdrawId};
use merchant::{CallError, Client};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Answers with the same thing on each path, and counts.
struct Peer {
    answers: HashMap<&'static str, Answer>,
    requests: AtomicUsize,
    posts: AtomicUsize,
}

#[derive(Clone)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: &'static str,
    signed: bool,
}

fn ok(body: &'static str) -> Answer {
    Answer { status: 200, headers: vec![], body, signed: false }
}

async fn answer(State(peer): State<Arc<Peer>>, request: Request) -> Response<Body> {
    peer.requests.fetch_add(1, Ordering::SeqCst);
    if request.method() == "POST" {
        peer.posts.fetch_add(1, Ordering::SeqCst);
    }
    let answer = peer.answers.get(request.uri().path()).cloned().unwrap_or_else(|| ok("{}"));
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap();
    if answer.signed {
        let request_sign = request.headers()["x-pay-sign"].to_str().unwrap();
        let (status, body) = (answer.status, answer.body.as_bytes());
        prove(response.headers_mut(), "secret", request_sign, status, body);
    }
    for (name, value) in answer.headers {
        response.headers_mut().insert(HeaderName::from_static(name), value.parse().unwrap());
    }
    response
}

async fn peer(answers: &[(&'static str, Answer)]) -> (Arc<Peer>, SocketAddr) {
    let answers = answers.iter().cloned().collect();
    let peer = Arc::new(Peer { answers, requests: 0.into(), posts: 0.into() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(answer).with_state(Arc::clone(&peer));
    tokio::task::spawn(async move { axum::serve(listener, router).await });
    (peer, address)
}

fn client(address: SocketAddr) -> Client {
    let url = format!("http://{address}");
    let client = Client::new(&url, &url, Credentials::new("k", "secret")).unwrap();
    client.with_tries(2).with_timeout(Duration::from_secs(5))
}

const CHAINS: &str = "/api/mer/conf/list/chain";

async fn chains(answer: Answer) -> (CallError, usize) {
    let (peer, address) = peer(&[(CHAINS, answer)]).await;
    let error = client(address).chains().await.unwrap_err();
    (error, peer.requests.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_refusal_has_its_code_words_and_status() {
    let body = r#"{"code":40103,"msg":"no","description":"key unknown","data":null}"#;
    let (error, requests) =
        chains(Answer { status: 401, headers: vec![], body, signed: false }).await;
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.http_status, refusal.code, refusal.msg.as_str()), (401, 40103, "no"));
    assert_eq!(refusal.description.as_deref(), Some("key unknown"));
    assert_eq!(requests, 1, "a refusal is not repeated");
}

#[tokio::test]
async fn an_error_code_under_http_200_is_no_success() {
    let (error, _) = chains(ok(r#"{"code":500,"msg":"busy","data":[]}"#)).await;
    assert_eq!(error.refusal().unwrap().code, 500);
}

#[tokio::test]
async fn a_gateway_whose_clock_is_off_does_not_say_that_nothing_happened() {
    let headers = vec![("date", "Sun, 22 Nov 2020 00:20:00 GMT")];
    let body = r#"{"code":503,"msg":"busy"}"#;
    let broken = Answer { status: 503, headers, body, signed: false };
    let (applied, posts) = apply(ok(NONE), broken).await;
    assert!(matches!(applied, Err(WithdrawError::Unknown(_))), "{applied:?}");
    assert_eq!(posts, 1);
}

#[tokio::test]
async fn a_clock_that_is_off_is_said_in_words() {
    let headers = vec![("date", "Sun, 22 Nov 2020 00:20:00 GMT")];
    let body = r#"{"code":401,"msg":"timestamp"}"#;
    let (error, _) = chains(Answer { status: 401, headers, body, signed: false }).await;
    assert!(matches!(error, CallError::ClockOff { off_seconds, .. } if off_seconds > 60));
    assert!(error.to_string().contains("s ahead of the one of the peer"), "{error}");
}

/// A clock that is so many seconds off.
#[derive(Debug)]
struct Off(i64);

impl Clock for Off {
    fn now(&self) -> UnixSeconds {
        SystemClock.now().plus(self.0)
    }
}

#[tokio::test]
async fn a_clock_may_be_five_seconds_ahead_of_the_signers_and_sixty_behind() {
    let body = r#"{"code":0,"msg":"the timestamp","data":null}"#;
    let heard = async |status: u16, off: i64| {
        let path = "/PayTool/EVM/subscribe/signProcessSubscribePlan";
        let (_, address) = peer(&[(path, Answer { status, ..ok(body) })]).await;
        let signer =
            SignerClient::new(&format!("http://{address}"), Credentials::new("k", "secret"));
        let signer = signer.unwrap().with_clock(Arc::new(Off(off)));
        signer.bill(Family::Evm, "{}").await.unwrap_err()
    };
    for (off, told) in [
        (8, "ahead of the one of the peer, and at most 5 s"),
        (-62, "behind the one of the peer, and at most 60 s"),
    ] {
        let error = heard(401, off).await;
        assert!(matches!(error, CallError::ClockOff { .. }), "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    for (status, off) in [(401, 3), (401, -30), (400, 8)] {
        let error = heard(status, off).await;
        assert!(matches!(error, CallError::Unproven { .. }), "{error}");
    }
}

#[tokio::test]
async fn html_half_a_body_and_redirects_are_typed_and_only_passing_faults_are_repeated() {
    let html =
        Answer { status: 502, headers: vec![], body: "<html>Bad Gateway</html>", signed: false };
    let (error, requests) = chains(html).await;
    assert!(matches!(error, CallError::Unreadable { http_status: 502, .. }), "{error}");
    assert_eq!(requests, 2);
    let (error, requests) = chains(ok(r#"{"code":200,"msg":"o"#)).await;
    assert!(matches!(error, CallError::Unreadable { .. }), "{error}");
    assert_eq!(requests, 2);
    let moved = Answer {
        status: 302,
        headers: vec![("location", "http://127.0.0.1:1/")],
        body: "",
        signed: false,
    };
    let (error, requests) = chains(moved).await;
    assert!(matches!(error, CallError::Unreadable { http_status: 302, .. }), "{error}");
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn a_peer_that_asks_for_a_long_pause_is_not_waited_for() {
    let headers = vec![("retry-after", "3600")];
    let body = r#"{"code":429,"msg":"slowly"}"#;
    let (error, requests) = chains(Answer { status: 429, headers, body, signed: false }).await;
    assert_eq!(error.refusal().unwrap().retry_after_seconds, Some(3600));
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn nobody_there_means_nothing_sent() {
    let error = client("127.0.0.1:1".parse().unwrap()).create_user("u").await.unwrap_err();
    assert!(matches!(error, CallError::Unsent { .. }) && !error.may_have_happened(), "{error}");
}

#[tokio::test]
async fn unknown_fields_and_statuses_are_kept() {
    let body = r#"{"code":200,"msg":"","data":{"withdrawId":"7","chainId":1,"currencyId":2,
        "withdrawAddress":"T","withdrawAmount":"115792089237316195423570985008687907853269984665640564039457584007913129639935",
        "withdrawStatus":9,"novel":1e400}}"#;
    let (_, address) = peer(&[("/api/mer/withdraw/detail", ok(body))]).await;
    let name = merchant::client::WithdrawName::Id(WithdrawId(7));
    let found = client(address).withdrawal(name).await.unwrap().unwrap();
    assert_eq!(found.withdraw_status.number(), 9);
    assert!(found.withdraw_amount.to_string().ends_with("639935"));
    assert_eq!(found.fields()["novel"].get(), "1e400");
}

#[tokio::test]
async fn a_link_is_given_whole_and_never_to_another_host() {
    let request = LinkRequest {
        chain_id: ChainId(1),
        plan_id: PlanId(2),
        external_user_id: "u".to_owned(),
        redirection_url: "https://shop.example/back".to_owned(),
        notify_url: "https://shop.example/hook".to_owned(),
    };
    let path = "/api/mer/subscribe/payment/create";
    let body = r#"{"code":200,"data":{"subscriptionId":5,"paymentUrl":"/p?apiSign=x","expiration":1795306800}}"#;
    let (_, address) = peer(&[(path, ok(body))]).await;
    let link = client(address).create_link(&request).await.unwrap();
    assert_eq!(link.url, format!("http://{address}/p?apiSign=x"));
    let body = r#"{"code":200,"data":{"paymentUrl":"//evil.example/p","expiration":1}}"#;
    let (_, address) = peer(&[(path, ok(body))]).await;
    assert!(client(address).create_link(&request).await.is_err());
}

const CURRENCIES: &str = r#"{"code":200,"data":[{"currencyId":2,"chainId":1,"decimals":6}]}"#;
const NONE: &str = r#"{"code":404,"msg":"no such withdrawal"}"#;

fn withdrawal(amount: &str) -> WithdrawRequest {
    WithdrawRequest {
        chain_id: ChainId(1),
        currency_id: CurrencyId(2),
        withdraw_address: "0xAbC".to_owned(),
        withdraw_amount: amount.parse().unwrap(),
        out_trade_no: "w-1".to_owned(),
        notify_url: None,
    }
}

async fn apply(detail: Answer, answer: Answer) -> (Result<(i64, bool), WithdrawError>, usize) {
    let (peer, address) = peer(&[
        ("/api/mer/conf/list/currency", ok(CURRENCIES)),
        ("/api/mer/withdraw/detail", detail),
        ("/api/mer/withdraw/apply", answer),
    ])
    .await;
    let applied = client(address).withdraw_apply(&withdrawal("10.5")).await;
    let applied = applied.map(|applied| (applied.withdraw_id.0, applied.found));
    (applied, peer.posts.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_withdrawal_is_applied_for_once() {
    let taken = r#"{"code":200,"data":{"withdrawId":9}}"#;
    let (applied, posts) = apply(ok(NONE), ok(taken)).await;
    assert_eq!((applied.unwrap(), posts), ((9, false), 1));
}

#[tokio::test]
async fn a_withdrawal_that_is_there_is_found_or_is_another() {
    let there = r#"{"code":200,"data":{"withdrawId":9,"chainId":1,"currencyId":2,"withdrawAddress":"0xabc","withdrawAmount":"10500000","withdrawStatus":1,"outTradeNo":"w-1"}}"#;
    let (applied, posts) = apply(ok(there), ok("{}")).await;
    assert_eq!((applied.unwrap(), posts), ((9, true), 0));
    let other = r#"{"code":200,"data":{"withdrawId":9,"chainId":1,"currencyId":2,"withdrawAddress":"0xabc","withdrawAmount":"10500001","withdrawStatus":1,"outTradeNo":"w-1"}}"#;
    let (applied, posts) = apply(ok(other), ok("{}")).await;
    let conflict = applied.unwrap_err();
    assert!(matches!(conflict, WithdrawError::Conflict { difference: "withdrawAmount", .. }));
    assert_eq!(posts, 0);
}

#[tokio::test]
async fn without_a_look_nothing_is_applied_for() {
    let broken = Answer {
        status: 500,
        headers: vec![],
        body: r#"{"code":500,"msg":"oops"}"#,
        signed: false,
    };
    let (applied, posts) = apply(broken, ok("{}")).await;
    assert!(matches!(applied, Err(WithdrawError::LookUp(_))));
    assert_eq!(posts, 0);
}

#[tokio::test]
async fn an_application_without_answer_is_neither_repeated_nor_called_a_failure() {
    let broken = Answer { status: 502, headers: vec![], body: "<html>", signed: false };
    let (applied, posts) = apply(ok(NONE), broken).await;
    assert!(matches!(applied, Err(WithdrawError::Unknown(_))));
    assert_eq!(posts, 1);
}

#[tokio::test]
async fn a_look_that_proves_nothing_is_no_licence_to_apply() {
    let page = Answer { status: 404, body: "<html>Not Found</html>", ..ok("") };
    let another = r#"{"code":200,"data":{"withdrawId":8,"chainId":1,"currencyId":2,"withdrawAddress":"0xabc","withdrawAmount":"10500000","withdrawStatus":1,"outTradeNo":"w-2"}}"#;
    let nameless = r#"{"code":200,"data":{"withdrawId":8,"chainId":1,"currencyId":2,"withdrawAddress":"0xabc","withdrawAmount":"10500000","withdrawStatus":1}}"#;
    for look in [page, ok(another), ok(nameless)] {
        let (applied, posts) = apply(look, ok("{}")).await;
        assert!(matches!(applied, Err(WithdrawError::LookUp(_))), "{applied:?}");
        assert_eq!(posts, 0);
    }
}

async fn bill(answer: Answer) -> Result<Verdict, CallError> {
    let path = "/PayTool/EVM/subscribe/signProcessSubscribePlan";
    let (_, address) = peer(&[(path, answer)]).await;
    let signer = SignerClient::new(&format!("http://{address}"), Credentials::new("k", "secret"));
    signer.unwrap().bill(Family::Evm, "{}").await
}

#[tokio::test]
async fn the_signers_answers_are_exact() {
    let bill = |body| bill(Answer { signed: true, ..ok(body) });
    let sent = r#"{"code":1,"msg":"","description":null,"data":{"address":"0x1","chainId":139,"gasRequired":"21000","signedTransactionData":"0x","subscriptionIds":[9223372036854775807],"txHash":"0xab"}}"#;
    let Verdict::Sent(sent) = bill(sent).await.unwrap() else { panic!() };
    assert_eq!(sent.subscription_ids[0].0, i64::MAX);
    let refused = r#"{"code":2,"msg":"success","data":[{"subscribeId":1,"amount":115792089237316195423570985008687907853269984665640564039457584007913129639935,"failReason":"Not due yet","failCode":"NOT_DUE_YET","retry":"SOON","tokenAllowance":null}]}"#;
    let Verdict::Refused(failures, _) = bill(refused).await.unwrap() else { panic!() };
    assert!(failures[0].amount.unwrap().to_string().ends_with("639935"));
    assert_eq!(failures[0].retry.as_ref().unwrap().word(), "SOON");
    assert!(bill(r#"{"code":0,"msg":"no verdict","data":null}"#).await.is_err());
    assert!(bill(r#"{"code":200,"msg":"another peer","data":{}}"#).await.is_err());
}

#[tokio::test]
async fn what_the_signer_has_not_signed_is_no_answer() {
    let sent = r#"{"code":1,"msg":"","data":{"subscriptionIds":[1],"txHash":"0xab"}}"#;
    let code_2 =
        r#"{"code":2,"msg":"","data":[{"subscribeId":1,"failReason":"no","retry":"STOP"}]}"#;
    let refused = r#"{"code":0,"msg":"signature or key is wrong","data":null}"#;
    for (status, body) in
        [(200, sent), (200, code_2), (401, refused), (502, "<html>"), (404, refused)]
    {
        let error = bill(Answer { status, ..ok(body) }).await.unwrap_err();
        assert!(
            matches!(&error, CallError::Unproven { http_status, .. } if *http_status == status),
            "{error}"
        );
        assert!(error.may_have_happened() && error.refusal().is_none(), "{error}");
        assert_eq!(error.passes(), matches!(status, 200 | 502), "{error}");
        assert_eq!(error.to_string().contains("It says: signature or key"), body == refused);
    }
    let (_, address) =
        peer(&[("/PayTool/billings/0xab", Answer { status: 404, ..ok(refused) })]).await;
    let signer = SignerClient::new(&format!("http://{address}"), Credentials::new("k", "secret"));
    let error = signer.unwrap().billings("0xab").await.unwrap_err();
    assert!(
        matches!(error, CallError::Unproven { .. }),
        "a billing that nobody denies may be there: {error}"
    );
}
