//! The callback router over a real socket: what is not verified is not passed on, and every sender
//! hears a clear answer.

use axum::Router;
use merchant::callback::{Callback, Event, Receiver, web};
use merchant::clock::{Clock, MovableClock, SystemClock};
use merchant::sign::{Credentials, Signable, sign};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

const BILLING: &str = r#"{"subscriptionType":"SubscriptionBilling", "outTradeNo":"t-1","chainId":139,"amount":"18446744073709551617","transferHash":"0xab","novel":1e400}"#;
const PATH: &str = "/hooks/pay?shop=7";

/// A shop: the address of its router, what was passed on, and its switches.
struct Shop {
    address: SocketAddr,
    passed_on: mpsc::Receiver<Callback>,
    clock: Arc<MovableClock>,
    full: Arc<AtomicBool>,
}

fn credentials() -> Credentials {
    Credentials::new("mer", "a secret of the merchant")
}

async fn shop(signed_path: Option<&str>) -> Shop {
    let clock = Arc::new(MovableClock::default());
    let receivers: Arc<dyn Clock> = Arc::<MovableClock>::clone(&clock);
    let mut receiver = Receiver::new([credentials()]).with_clock(receivers);
    if let Some(path) = signed_path {
        receiver = receiver.with_signed_path(path);
    }
    let (pass_on, passed_on) = mpsc::channel(100);
    let full = Arc::new(AtomicBool::new(false));
    let is_full = Arc::clone(&full);
    let keep = move |callback| {
        let (pass_on, full) = (pass_on.clone(), is_full.load(Ordering::SeqCst));
        async move { if full { Err(()) } else { pass_on.send(callback).await.map_err(drop) } }
    };
    let router: Router = web::router("/hooks/pay", receiver, keep);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    Shop { address, passed_on, clock, full }
}

/// The header lines of a request signed now.
fn signed(timestamp: i64, path: &str, body: &str) -> String {
    let timestamp = timestamp.to_string();
    let what = Signable {
        timestamp: &timestamp,
        method: "POST",
        path_and_query: path,
        body: body.as_bytes(),
    };
    let sign = sign(&credentials().secret, &what);
    format!("X-PAY-KEY: mer\r\nX-PAY-TIMESTAMP: {timestamp}\r\nX-PAY-SIGN: {sign}\r\n")
}

fn now() -> i64 {
    SystemClock.now().0
}

impl Shop {
    /// The status and body that the sender of these bytes hears.
    async fn hears(&self, headers: &str, body: &[u8]) -> (u16, String) {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let length = body.len();
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nHost: shop\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(body).await.unwrap();
        heard(socket).await
    }

    async fn hears_now(&self, body: &str) -> (u16, String) {
        self.hears(&signed(now(), PATH, body), body.as_bytes()).await
    }

    fn nothing_passed_on(&mut self) {
        assert!(self.passed_on.try_recv().is_err(), "passed on without a signature that holds");
    }
}

async fn heard(mut socket: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[tokio::test]
async fn a_genuine_callback_is_passed_on_whole_and_answered_success() {
    let mut shop = shop(None).await;
    assert_eq!(shop.hears_now(BILLING).await, (200, "success".to_owned()));
    let callback = shop.passed_on.recv().await.unwrap();
    assert_eq!(callback.event.raw().get(), BILLING);
    let Event::Subscription(event) = callback.event else { panic!("{callback:?}") };
    assert_eq!(event.amount.unwrap().to_string(), "18446744073709551617");
    assert_eq!(event.fields()["novel"].get(), "1e400");
}

#[tokio::test]
async fn what_is_not_signed_is_refused_and_not_passed_on() {
    let mut shop = shop(None).await;
    let good = signed(now(), PATH, BILLING);
    let twice = format!("{good}X-PAY-KEY: mer\r\n");
    let elsewhere = signed(now(), "/hooks/other", BILLING);
    let stranger = good.replace("X-PAY-KEY: mer", "X-PAY-KEY: somebody");
    for headers in ["", &twice, &elsewhere, &stranger] {
        assert_eq!(shop.hears(headers, BILLING.as_bytes()).await.0, 401, "{headers}");
    }
    let changed = BILLING.replace("t-1", "t-2");
    assert_eq!(shop.hears(&good, changed.as_bytes()).await.0, 401);
    let respaced = BILLING.replace(", ", ",");
    assert_eq!(shop.hears(&good, respaced.as_bytes()).await.0, 401, "raw bytes are signed");
    shop.nothing_passed_on();
}

#[tokio::test]
async fn a_captured_copy_is_the_same_event_within_sixty_seconds_and_refused_after() {
    let mut shop = shop(None).await;
    let copy = signed(now(), PATH, BILLING);
    assert_eq!(shop.hears(&copy, BILLING.as_bytes()).await.0, 200);
    shop.clock.set(SystemClock.now().plus(50));
    assert_eq!(shop.hears(&copy, BILLING.as_bytes()).await.0, 200);
    let (first, second) =
        (shop.passed_on.recv().await.unwrap(), shop.passed_on.recv().await.unwrap());
    assert_eq!(first.event.key(), second.event.key(), "a replay is told by its key");
    shop.clock.set(SystemClock.now().plus(62));
    let (status, words) = shop.hears(&copy, BILLING.as_bytes()).await;
    assert_eq!(status, 401);
    assert!(words.contains("at most 60 s"), "{words}");
    shop.nothing_passed_on();
}

#[tokio::test]
async fn every_try_of_the_platform_verifies_and_order_does_not_matter() {
    let mut shop = shop(None).await;
    let cancel = BILLING.replace("Billing", "Cancel");
    for (pause, body) in [(0, cancel.as_str()), (15, BILLING), (45, BILLING), (225, BILLING)] {
        shop.clock.set(SystemClock.now().plus(pause));
        let headers = signed(now() + pause, PATH, body);
        assert_eq!(shop.hears(&headers, body.as_bytes()).await.0, 200);
        assert_eq!(shop.passed_on.recv().await.unwrap().event.raw().get(), body);
    }
}

#[tokio::test]
async fn ten_megabytes_hear_413_and_are_not_kept() {
    let mut shop = shop(None).await;
    let body = "x".repeat(10 << 20);
    let headers = signed(now(), PATH, &body);
    assert_eq!(shop.hears(&headers, body.as_bytes()).await.0, 413);
    shop.nothing_passed_on();
}

#[tokio::test]
async fn a_sender_that_stalls_hears_408() {
    let mut shop = shop(None).await;
    let mut socket = TcpStream::connect(shop.address).await.unwrap();
    let headers = signed(now(), PATH, BILLING);
    let head =
        format!("POST {PATH} HTTP/1.1\r\nHost: shop\r\n{headers}Content-Length: 99\r\n\r\n{{");
    socket.write_all(head.as_bytes()).await.unwrap();
    let heard = tokio::time::timeout(web::BODY_TIMEOUT * 2, heard(socket)).await.unwrap();
    assert_eq!(heard.0, 408);
    shop.nothing_passed_on();
}

#[tokio::test]
async fn an_event_that_was_not_kept_is_asked_for_again() {
    let mut shop = shop(None).await;
    shop.full.store(true, Ordering::SeqCst);
    let (status, words) = shop.hears_now(BILLING).await;
    assert_eq!(status, 503);
    assert!(!words.contains("success"));
    shop.full.store(false, Ordering::SeqCst);
    assert_eq!(shop.hears_now(BILLING).await.0, 200);
    assert!(shop.passed_on.recv().await.is_some());
}

#[tokio::test]
async fn signed_text_that_is_no_object_hears_400_and_an_unknown_object_success() {
    let mut shop = shop(None).await;
    assert_eq!(shop.hears_now("[1]").await.0, 400);
    shop.nothing_passed_on();
    assert_eq!(shop.hears_now(r#"{"refundId":1}"#).await.0, 200);
    let callback = shop.passed_on.recv().await.unwrap();
    assert!(matches!(callback.event, Event::Unknown { .. }));
}

#[tokio::test]
async fn behind_a_proxy_the_signed_path_is_the_one_that_was_given_out() {
    let mut shop = shop(Some("/public/hooks")).await;
    assert_eq!(shop.hears_now(BILLING).await.0, 401);
    shop.nothing_passed_on();
    let headers = signed(now(), "/public/hooks", BILLING);
    assert_eq!(shop.hears(&headers, BILLING.as_bytes()).await.0, 200);
}
