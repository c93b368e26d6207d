//! What a standby passes on arrives as it was, and what comes back is told as it is. When nothing comes back, no
//! more is said than is known.

use super::*;
use config::Peers;
use host::tls::{Tls, TlsFiles};
use rcgen::{CertificateParams, KeyPair};
use std::collections::BTreeMap;
use std::future::pending;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;

const BILL: &str = "/PayTool/EVM/subscribe/signProcessSubscribePlan";
const SAID: &str = "standing by: first (1f0c2d3e) serves";

/// Passes on to somebody called `first`.
fn forwarder(port: u16) -> Forwarder {
    let urls = BTreeMap::from([("first".to_owned(), format!("http://127.0.0.1:{port}"))]);
    Forwarder::new(&Peers { urls, authorities: None }, &limits()).unwrap()
}

fn asked(method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path)
}

/// Hears one request with a body of two bytes, answers it with these words, and tells what it heard.
async fn answer_once(listener: &TcpListener, words: &str) -> String {
    answer_on(listener.accept().await.unwrap().0, words).await
}

async fn answer_on(mut stream: impl AsyncRead + AsyncWrite + Unpin, words: &str) -> String {
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).ends_with("\r\n\r\n[]") {
        let mut some = [0; 1024];
        let read = stream.read(&mut some).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&some[..read]);
    }
    stream.write_all(words.as_bytes()).await.unwrap();
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn it_arrives_as_it_was_and_so_does_the_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let forwarder = forwarder(listener.local_addr().unwrap().port());
    let request = asked(Method::POST, "/PayTool/x%2Fy?a=%7B&b=1,2")
        .header("x-pay-key", "who")
        .header("x-pay-sign", "one")
        .header("x-pay-sign", "two")
        .header("cookie", "of nobody's business")
        .header("origin", "https://elsewhere.example")
        .header("traceparent", "00-a-b-01")
        .body(Body::from("[]"))
        .unwrap();
    let answer = "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 7\r\n\
        x-pay-sign: proof\r\nx-trace-id: abc\r\nset-cookie: a=b\r\ncontent-length: 4\r\n\r\n{\"\"}";
    let (heard, told) = tokio::join!(
        answer_once(&listener, answer),
        forwarder.pass_on("first", SAID.to_owned(), pending(), request)
    );
    assert!(heard.starts_with("POST /PayTool/x%2Fy?a=%7B&b=1,2 HTTP/1.1\r\n"), "{heard}");
    for line in ["x-pay-key: who", "x-pay-sign: one", "x-pay-sign: two", "traceparent: 00-a-b-01"] {
        assert!(heard.contains(&format!("{line}\r\n")), "{line}: {heard}");
    }
    assert!(heard.contains("x-pay-forwarded: 1\r\n"), "{heard}");
    assert!(!heard.contains("cookie") && !heard.contains("origin"), "{heard}");
    let named = |name: &str| told.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((named("retry-after"), named("x-pay-sign")), ("7".to_owned(), "proof".to_owned()));
    assert_eq!((named("x-trace-id"), named("content-type").len()), ("abc".to_owned(), 16));
    assert!(!told.headers().contains_key("set-cookie"), "{told:?}");
    assert_eq!(text(told).await, (StatusCode::TOO_MANY_REQUESTS, "{\"\"}".to_owned()));
}

#[tokio::test]
async fn what_may_not_go_on_stays_and_nobody_is_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let forwarder = forwarder(listener.local_addr().unwrap().port());
    for (name, path, forwarded) in [
        ("first", "/PayTool/charges", true),
        ("second", "/PayTool/charges", false),
        ("first", "/PayTool/control/reload", false),
        ("first", "/page/numbers", false),
        ("first", "/metrics", false),
        ("first", "/PayTool/../metrics", false),
        ("first", "/PayTool/%2e%2e/metrics", false),
        ("first", "/PayTool/charges?wallet='", false),
    ] {
        let mut request = asked(Method::GET, path).body(Body::empty()).unwrap();
        if forwarded {
            request.headers_mut().insert(FORWARDED, "1".parse().unwrap());
        }
        let told = tokio::select! {
            told = forwarder.pass_on(name, SAID.to_owned(), pending(), request) => told,
            _ = listener.accept() => panic!("{path} was passed on"),
        };
        let (status, body) = text(told).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {body}");
        assert!(body.contains(SAID) && body.contains("\"code\":0"), "{path}: {body}");
    }
}

#[tokio::test]
async fn no_answer_is_told_as_none_and_no_connection_as_nothing_done() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let forwarder = forwarder(listener.local_addr().unwrap().port());
    let ask = |path: &str| {
        let request = asked(Method::POST, path).body(Body::from("[]")).unwrap();
        forwarder.pass_on("first", SAID.to_owned(), pending(), request)
    };
    // Half an answer is none.
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"code\":1";
    let (_, told) = tokio::join!(answer_once(&listener, half), ask(BILL));
    assert_eq!(told.headers()["retry-after"], "1");
    let (status, body) = text(told).await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT, "{body}");
    assert!(body.contains("is not known here: post it again"), "{body}");
    // As many as there are places, and one more.
    let waiting = async {
        let (held, _) = listener.accept().await.unwrap();
        let (status, body) = text(ask(BILL).await).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{body}");
        drop(held);
    };
    let (told, ()) = tokio::join!(ask(BILL), waiting);
    assert_eq!(told.status(), StatusCode::GATEWAY_TIMEOUT);
    drop(listener);
    let (status, body) = text(ask(BILL).await).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    assert!(body.contains("nothing was passed on"), "{body}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_brought_back_by_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let forwarder = forwarder(listener.local_addr().unwrap().port());
    for (length, wanted) in
        [(32 << 20, StatusCode::OK), ((32 << 20) + 1, StatusCode::GATEWAY_TIMEOUT)]
    {
        let head =
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
        let words = head + &" ".repeat(length);
        let request = asked(Method::POST, BILL).body(Body::from("[]")).unwrap();
        let (_, told) = tokio::join!(
            answer_once(&listener, &words),
            forwarder.pass_on("first", SAID.to_owned(), pending(), request)
        );
        assert_eq!(told.status(), wanted);
        if wanted != StatusCode::OK {
            assert!(text(told).await.1.contains("its answer is too long"));
        }
    }
}

#[tokio::test]
async fn who_takes_unsigned_requests_takes_none_from_another_signer() {
    let house = House::new();
    let request = asked(Method::GET, "/PayTool/charges").header("host", "127.0.0.1:9980");
    let (plain, forwarded) =
        (request, asked(Method::GET, "/PayTool/charges").header(FORWARDED, "1"));
    for (request, wanted) in [(plain, StatusCode::OK), (forwarded, StatusCode::FORBIDDEN)] {
        let request = request.body(Body::empty()).unwrap();
        let router = TowerToHyperService::new(router(&house.door));
        let (status, body) = text(router.call(request).await.unwrap()).await;
        assert_eq!(status, wanted, "{body}");
    }
}

/// Listens by TLS with a certificate for `host` that is good until the end of this year; tells that as well.
async fn by_tls(room: &Path, host: &str, last_year: i32) -> (TcpListener, Arc<Tls>, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
    let certificate = params.self_signed(&key).unwrap().pem();
    let file = |ending: &str, text: &str| {
        let path = room.join(format!("{host}-{last_year}.{ending}"));
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    };
    let files = TlsFiles {
        certificate: file("pem", &certificate),
        key: file("key", &key.serialize_pem()),
        client_ca: None,
        identity: None,
    };
    // As if it had been started when 2020 began.
    let tls = Tls::read(files, 1_577_836_800).unwrap();
    (TcpListener::bind("127.0.0.1:0").await.unwrap(), tls, certificate)
}

#[tokio::test]
async fn by_tls_it_goes_to_whom_the_authority_knows_and_to_nobody_else() {
    let room = tempfile::tempdir().unwrap();
    let good = by_tls(room.path(), "127.0.0.1", 4000).await;
    let elsewhere = by_tls(room.path(), "elsewhere.example", 4000).await;
    let ended = by_tls(room.path(), "127.0.0.1", 2020).await;
    for (there, authority, told_why) in [
        (&good, &good.2, None),
        (&good, &ended.2, Some("not proven by journal.peers_authority_file")),
        (&elsewhere, &elsewhere.2, Some("not for the host that journal.peers names it by")),
        (&ended, &ended.2, Some("has ended by the clock of this machine")),
    ] {
        let (listener, tls, _) = there;
        let authorities = reqwest::Certificate::from_pem_bundle(authority.as_bytes()).unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let urls = BTreeMap::from([("first".to_owned(), url)]);
        let peers = Peers { urls, authorities: Some(authorities) };
        let forwarder = Forwarder::new(&peers, &limits()).unwrap();
        let request = asked(Method::POST, BILL).body(Body::from("[]")).unwrap();
        let (heard, told) = tokio::join!(
            async {
                let stream = listener.accept().await.unwrap().0;
                match tls.acceptor().accept(stream).await {
                    Ok(stream) => answer_on(stream, "HTTP/1.1 204 No Content\r\n\r\n").await,
                    Err(_) => String::new(),
                }
            },
            forwarder.pass_on("first", SAID.to_owned(), pending(), request)
        );
        let (status, body) = text(told).await;
        let wanted = told_why.map_or(StatusCode::NO_CONTENT, |_| StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!((status, heard.is_empty()), (wanted, told_why.is_some()), "{body}");
        assert!(told_why.is_none_or(|why| body.contains(why)), "{body}");
    }
}

#[tokio::test]
async fn whoever_waits_is_answered_when_the_one_that_was_asked_serves_no_more() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let forwarder = forwarder(listener.local_addr().unwrap().port());
    let request = asked(Method::POST, BILL).body(Body::from("[]")).unwrap();
    let ended = async { drop(listener.accept().await.unwrap().0.readable().await) };
    let begun = Instant::now();
    let told = forwarder.pass_on("first", SAID.to_owned(), ended, request).await;
    assert!(begun.elapsed() < limits().request_deadline, "{:?}", begun.elapsed());
    let (status, body) = text(told).await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT, "it may have been signed: {body}");
    assert!(body.contains("does not serve any more") && body.contains("\"code\":0"), "{body}");
}
