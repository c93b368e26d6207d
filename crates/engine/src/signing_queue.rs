//! The queue of those who sign for the positions of a lane.
//!
//! A signature holds for one position, and may take a while. So each is made for the position that is
//! expected when all before it are committed, several at once, and they are handed in in that order. This
//! is a guess, and only saves work: the commit compares the position by itself, and drops a transaction that
//! was signed for another one.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// The positions of a lane that are being signed for.
#[derive(Debug, Default)]
pub(super) struct SigningQueue {
    /// The first position that is not committed, as far as is known.
    next: AtomicU64,
    waiting: Mutex<Tickets>,
    moved: Notify,
}

#[derive(Debug, Default)]
struct Tickets {
    /// The number of the next ticket.
    next: u64,
    /// In the order of their positions, which have no gaps.
    tickets: VecDeque<Waits>,
}

#[derive(Clone, Copy, Debug)]
struct Waits {
    number: u64,
    position: u64,
    handed_in: bool,
}

/// A position that somebody signs for. A dropped ticket is given up, and everything that was signed for later
/// positions was signed in vain.
#[derive(Debug)]
pub(super) struct SigningTicket<'q> {
    queue: &'q SigningQueue,
    number: u64,
    /// The position.
    pub(super) position: u64,
    /// The number of positions before this one that are being signed for.
    pub(super) ahead: usize,
}

impl SigningQueue {
    /// Returns the first position that is not committed, as far as is known.
    pub(super) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Remembers that all positions below `next` are committed, and returns the first that is not, as far as is known.
    pub(super) fn advance_to(&self, next: u64) -> u64 {
        self.next.fetch_max(next, Ordering::Relaxed).max(next)
    }

    /// Takes the position behind all that are being signed for.
    pub(super) fn join(&self) -> SigningTicket<'_> {
        let next = self.next();
        let mut waiting = self.waiting.lock();
        let (number, ahead) = (waiting.next, waiting.tickets.len());
        waiting.next = number.wrapping_add(1);
        let last = waiting.tickets.back().map_or(0, |last| last.position.saturating_add(1));
        let position = last.max(next);
        waiting.tickets.push_back(Waits { number, position, handed_in: false });
        SigningTicket { queue: self, number, position, ahead }
    }

    /// Returns the number of positions that are being signed for.
    pub(super) fn length(&self) -> usize {
        self.waiting.lock().tickets.len()
    }
}

impl SigningTicket<'_> {
    /// Waits until all before it are handed in, or it is known that one of them was given up.
    pub(super) async fn turn(&self) {
        loop {
            let moved = self.queue.moved.notified();
            if self.is_next() {
                return;
            }
            moved.await;
        }
    }

    fn is_next(&self) -> bool {
        let waiting = self.queue.waiting.lock();
        let mut before = waiting.tickets.iter().take_while(|one| one.number != self.number);
        let in_vain = !waiting.tickets.iter().any(|one| one.number == self.number);
        in_vain || before.all(|one| one.handed_in)
    }

    /// The journal will look at it before any that comes later.
    pub(super) fn handed_in(&self) {
        let mut waiting = self.queue.waiting.lock();
        if let Some(mine) = waiting.tickets.iter_mut().find(|one| one.number == self.number) {
            mine.handed_in = true;
        }
        drop(waiting);
        self.queue.moved.notify_waiters();
    }

    /// Its position is committed.
    pub(super) fn committed(self) {
        self.queue.waiting.lock().tickets.retain(|one| one.number != self.number);
    }
}

impl Drop for SigningTicket<'_> {
    fn drop(&mut self) {
        let mut waiting = self.queue.waiting.lock();
        if let Some(place) = waiting.tickets.iter().position(|one| one.number == self.number) {
            waiting.tickets.truncate(place);
        }
        drop(waiting);
        self.queue.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn waits(ticket: &SigningTicket<'_>) -> bool {
        ticket.turn().now_or_never().is_none()
    }

    fn join(queue: &SigningQueue, next: u64) -> SigningTicket<'_> {
        queue.advance_to(next);
        queue.join()
    }

    #[test]
    fn each_gets_the_position_behind_the_last_and_is_handed_in_behind_it() {
        let queue = SigningQueue::default();
        let (first, second, third) = (join(&queue, 7), join(&queue, 7), join(&queue, 7));
        assert_eq!([first.position, second.position, third.position], [7, 8, 9]);
        assert_eq!([first.ahead, second.ahead, third.ahead], [0, 1, 2]);
        assert!(!waits(&first) && waits(&second) && waits(&third));
        second.handed_in();
        assert!(waits(&third), "the first is not");
        first.handed_in();
        assert!(!waits(&second) && !waits(&third));
        // The second is told first that it is committed.
        second.committed();
        assert_eq!(join(&queue, 9).position, 10, "behind the third");
        first.committed();
        third.committed();
        assert_eq!(join(&queue, 12).position, 12, "somebody else took two");
    }

    #[test]
    fn who_signed_behind_one_that_was_given_up_is_held_up_by_nobody_and_holds_up_nobody() {
        let queue = SigningQueue::default();
        let (first, second, third) = (join(&queue, 0), join(&queue, 0), join(&queue, 0));
        first.handed_in();
        assert!(waits(&third));
        drop(second);
        assert!(!waits(&third), "it is in vain, and the journal says so");
        let again = join(&queue, 0);
        assert_eq!((again.position, again.ahead), (1, 1));
        assert!(!waits(&again), "it does not wait for the third");
        drop(third);
        assert!(!waits(&again));
        assert_eq!(join(&queue, 0).position, 2, "the third took nothing with it");
    }
}
