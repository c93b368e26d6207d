//! Strangers at both doors of `merchant inbox`: callbacks come in, and memory stays small.

use super::besiegers::{churn, comes, far_away, somewhere};
use super::inbox::{command, event, send};
use super::process::{KEY, RunningInbox, SECRET, start_inbox};
use merchant::clock::{Clock as _, SystemClock};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

/// How much memory the inbox may have taken at any time, KiB.
const MEMORY: u64 = 160 << 10;

/// How hard it is tried.
struct Force {
    held: u64,
    a_second: u32,
    lasts: Duration,
}

fn address(url: &str) -> SocketAddr {
    url.strip_prefix("http://").unwrap().parse().unwrap()
}

/// A head as somebody with the right key and no secret sends it, and nearly all of its body.
fn half_sent(path: &str, length: usize) -> Vec<u8> {
    let (now, sign) = (SystemClock.now().0, format!("{}=", "A".repeat(43)));
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-pay-key: {KEY}\r\nx-pay-timestamp: {now}\r\nx-pay-sign: {sign}\r\n\
         content-length: {length}\r\n\r\n"
    );
    [head.into_bytes(), vec![b' '; length - 10]].concat()
}

/// So many who say `words` to a door and stay.
async fn held(to: SocketAddr, words: &[u8], many: u64) -> Vec<TcpStream> {
    let mut held = vec![];
    for number in 0..many {
        held.extend(comes(somewhere(number), to, b"").await);
        if let Some(last) = held.last_mut() {
            // Those that are cut off meanwhile are cut off.
            drop(tokio::time::timeout(Duration::from_millis(200), last.write_all(words)).await);
        }
    }
    held
}

/// The most memory that the process has had, KiB.
fn peak(inbox: &RunningInbox) -> u64 {
    let path = format!("/proc/{}/status", inbox.program.child.id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Callbacks one after the other, each on a connection of its own over a long line, for as long as it lasts.
async fn callbacks_come_in(line: &str, lasts: Duration, name: &str) {
    let began = Instant::now();
    for number in 0.. {
        let body = event("SubscriptionApprove", &format!("{name}-{number}"), "0xab");
        let sent = tokio::time::timeout(Duration::from_secs(8), send(line, &body, SECRET, 0)).await;
        assert_eq!(sent.unwrap(), (200, "success".to_owned()), "{name}: callback {number}");
        if began.elapsed() > lasts && number > 1 {
            return;
        }
    }
}

async fn withstands(force: Force) {
    let folder = tempfile::tempdir().unwrap();
    let inbox = start_inbox(command(folder.path(), NOWHERE));
    let (callbacks, private) = (address(&inbox.callbacks), address(&inbox.feed));
    let line = format!("http://{}", far_away(callbacks, Duration::from_millis(200)).await);
    callbacks_come_in(&line, Duration::ZERO, "calm").await;
    let live = async || {
        let asked = reqwest::get(format!("{}/health/live", inbox.feed));
        tokio::time::timeout(Duration::from_secs(8), asked).await.unwrap().unwrap().status()
    };
    let halves = held(private, &half_sent("/notices", 2 << 20), force.held).await;
    assert_eq!(live().await, 200, "half-sent bodies at the private door");
    drop(halves);
    let halves = held(callbacks, &half_sent("/callbacks", 60_000), force.held).await;
    callbacks_come_in(&line, force.lasts, "half-sent bodies").await;
    drop(halves);
    let deaf = b"GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n".repeat(4000);
    let deaf = held(callbacks, &deaf, force.held).await;
    callbacks_come_in(&line, force.lasts, "deaf readers").await;
    drop(deaf);
    let silent = held(callbacks, b"", force.held).await;
    callbacks_come_in(&line, force.lasts, "silence").await;
    drop(silent);
    let strangers = churn(callbacks, vec![], force.a_second);
    tokio::time::sleep(Duration::from_secs(1)).await;
    callbacks_come_in(&line, force.lasts, "strangers who come and come").await;
    drop(strangers);
    let peak = peak(&inbox);
    assert!(peak < MEMORY, "{peak} KiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_keep_no_callback_out_and_take_no_memory() {
    withstands(Force { held: 560, a_second: 1500, lasts: Duration::from_secs(2) }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes, and a machine of its own: ./test --siege"]
async fn a_siege_of_the_inbox() {
    withstands(Force { held: 1000, a_second: 4000, lasts: Duration::from_secs(20) }).await;
}
