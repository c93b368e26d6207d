//! Strangers from many addresses of this machine, who come and come, and a line on which every byte takes long.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// How many connections of strangers are held open here at once.
const HELD: usize = 3000;

/// One of the many addresses of this machine, another for each number.
pub(crate) fn somewhere(number: u64) -> Ipv4Addr {
    let [_, a, b, c, ..] = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254))
}

/// Connects from a certain address and says `words`.
pub(crate) async fn comes(from: Ipv4Addr, to: SocketAddr, words: &[u8]) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).ok()?;
    let mut stream = socket.connect(to).await.ok()?;
    stream.write_all(words).await.ok()?;
    Some(stream)
}

/// So many strangers a second come, each from somewhere else, say `words` and no more, until it is dropped.
pub(crate) fn churn(to: SocketAddr, words: Vec<u8>, a_second: u32) -> DropGuard {
    let stop = CancellationToken::new();
    let (began, stopped) = (Instant::now(), stop.clone());
    TaskTracker::new().spawn(async move {
        let mut held = VecDeque::new();
        for number in 0_u32.. {
            let due = began + Duration::from_secs(1) * number / a_second;
            if due > Instant::now() {
                sleep_until(due.into()).await;
            }
            if stopped.is_cancelled() {
                return;
            }
            held.extend(comes(somewhere(number.into()), to, &words).await);
            if held.len() > HELD {
                held.pop_front();
            }
        }
    });
    stop.drop_guard()
}

/// The address of a line to `to` on which every byte takes so long, either way.
pub(crate) async fn far_away(to: SocketAddr, delay: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let lines = TaskTracker::new();
    lines.clone().spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let Ok(far) = TcpStream::connect(to).await else { continue };
            let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
            lines.spawn(carry(from_near, to_far, delay));
            lines.spawn(carry(from_far, to_near, delay));
        }
    });
    address
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sender, mut on_the_way) = mpsc::channel::<(Instant, Vec<u8>)>(1024);
    let reads = async move {
        let mut buffer = vec![0; 16 << 10];
        loop {
            let length = from.read(&mut buffer).await.unwrap_or(0);
            let due = Instant::now() + delay;
            if sender.send((due, buffer[..length].to_vec())).await.is_err() || length == 0 {
                return;
            }
        }
    };
    let writes = async move {
        while let Some((due, bytes)) = on_the_way.recv().await {
            sleep(due.saturating_duration_since(Instant::now())).await;
            if bytes.is_empty() || to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(reads, writes);
}
