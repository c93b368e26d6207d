//! Bodies that never end, beside such as do.

use super::*;
use futures_util::future::join_all;
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A body that sends so many bytes and then nothing more.
fn unfinished(bytes: usize) -> Body {
    let first = stream::iter([Ok::<_, Infallible>(vec![b' '; bytes])]);
    Body::from_stream(futures_util::StreamExt::chain(first, stream::pending()))
}

fn stranger(from: u8) -> Owner {
    Owner::Unproven(Ipv4Addr::new(from, 0, 0, 1).into())
}

fn soon() -> Instant {
    Instant::now().checked_add(Duration::from_mins(1)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn whoever_sends_in_one_piece_is_let_in_between_those_that_never_end() {
    let bodies = PendingBodies::holding(2, 1000);
    let stuck = |from| bodies.read_of(stranger(from), unfinished(1), 5000, soon());
    let whole = async {
        tokio::task::yield_now().await;
        bodies.read_of(stranger(3), Body::from("{}"), 10, soon()).await
    };
    let (first, second, whole) = tokio::join!(stuck(1), stuck(1), whole);
    assert_eq!(whole.unwrap(), "{}");
    let gone =
        [&first, &second].into_iter().filter(|end| **end == Err(NotRead::Evicted(stranger(1))));
    assert_eq!(gone.count(), 1, "of whoever has two one had to go: {first:?} {second:?}");
    assert!(bodies.pending.lock().bodies.len() == 0);
    assert_eq!(bodies.pending.lock().bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_unfinished_bodies_are_bounded() {
    let bodies = PendingBodies::holding(9, 1000);
    let stuck = |from, bytes| bodies.read_of(stranger(from), unfinished(bytes), 5000, soon());
    let (first, second) = tokio::join!(stuck(1, 500), stuck(2, 700));
    assert_eq!(first, Err(NotRead::Slow), "it has less");
    assert_eq!(second, Err(NotRead::Evicted(stranger(2))));
    let large = bodies.read_of(stranger(1), unfinished(600), 599, soon()).await;
    assert!(matches!(large, Err(NotRead::TooLarge { limit: 599 })), "{large:?}");
}

#[tokio::test(start_paused = true)]
async fn there_is_room_for_so_many_bodies_and_bytes_and_no_more() {
    for (many, bytes) in [(257, 1), (17, 2 << 20)] {
        let bodies = PendingBodies::new(1 << 20, TaskTracker::new());
        let stuck =
            (0..many).map(|_| bodies.read_of(stranger(1), unfinished(bytes), 4 << 20, soon()));
        let ends = join_all(stuck).await;
        let evicted = ends.iter().filter(|end| matches!(end, Err(NotRead::Evicted(_))));
        assert_eq!(evicted.count(), 1, "{many} of {bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_what_is_thrown_away_so_much_is_read_and_no_more() {
    let bodies = PendingBodies::new(1 << 20, TaskTracker::new());
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let pieces = (0..100).map(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(vec![0; 1 << 20])
    });
    bodies.discard(Body::from_stream(stream::iter(pieces)));
    bodies.tasks.close();
    bodies.tasks.wait().await;
    assert_eq!(read.load(Ordering::Relaxed), 64);
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_body_takes_long_is_in_no_strangers_way() {
    let bodies = PendingBodies::holding(8, 1 << 20);
    let caller = || Owner::Caller("scheduler".into());
    let slow = async {
        let pieces = stream::unfold(0, |sent| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            (sent < 6).then(|| (Ok::<_, Infallible>(vec![b' ']), sent + 1))
        });
        bodies.read_of(caller(), Body::from_stream(pieces), 10, soon()).await
    };
    let strangers = join_all((0..2000_u16).map(|place| {
        let [high, low] = place.to_be_bytes();
        let at = Owner::Unproven(Ipv4Addr::new(127, high, low, 1).into());
        let bodies = &bodies;
        async move {
            tokio::time::sleep(Duration::from_micros(300 * u64::from(place))).await;
            bodies.read_of(at, unfinished(1), 10, soon()).await
        }
    }));
    let (slow, strangers) = tokio::join!(slow, strangers);
    assert_eq!(slow.unwrap().len(), 6);
    assert!(strangers.iter().all(Result::is_err));
}
