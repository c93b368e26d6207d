//! The line of those who sign for the positions of a lane.
//!
//! A signature holds for one position, and may take a while. So each is made for the position that is
//! expected when all before it are committed, several at once, and they are handed in in that order. This
//! is a guess, and only saves work: what commits compares the position by itself, and what was signed for
//! another one is dropped there.

use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// The positions of a lane that are being signed for.
#[derive(Debug, Default)]
pub(super) struct SigningLine {
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

/// A position that somebody signs for. Dropped, it is given up, and whoever signed for a later one did so
/// in vain.
#[derive(Debug)]
pub(super) struct SigningTicket<'l> {
    line: &'l SigningLine,
    number: u64,
    /// The position.
    pub(super) position: u64,
    /// The number of positions before this one that are being signed for.
    pub(super) ahead: usize,
}

impl SigningLine {
    /// Takes the position behind all that are being signed for; `next` is the first that is not committed.
    pub(super) fn join(&self, next: u64) -> SigningTicket<'_> {
        let mut waiting = self.waiting.lock();
        let (number, ahead) = (waiting.next, waiting.tickets.len());
        waiting.next = number.wrapping_add(1);
        let last = waiting.tickets.back().map_or(0, |last| last.position.saturating_add(1));
        let position = last.max(next);
        waiting.tickets.push_back(Waits { number, position, handed_in: false });
        SigningTicket { line: self, number, position, ahead }
    }
}

impl SigningLine {
    /// Returns the number of positions that are being signed for.
    pub(super) fn length(&self) -> usize {
        self.waiting.lock().tickets.len()
    }
}

impl SigningTicket<'_> {
    /// Waits until all before it are handed in, or it is known that one of them was given up.
    pub(super) async fn turn(&self) {
        loop {
            let moved = self.line.moved.notified();
            if self.is_next() {
                return;
            }
            moved.await;
        }
    }

    fn is_next(&self) -> bool {
        let waiting = self.line.waiting.lock();
        let mut before = waiting.tickets.iter().take_while(|one| one.number != self.number);
        let in_vain = !waiting.tickets.iter().any(|one| one.number == self.number);
        in_vain || before.all(|one| one.handed_in)
    }

    /// The journal will look at it before any that comes later.
    pub(super) fn handed_in(&self) {
        let mut waiting = self.line.waiting.lock();
        if let Some(mine) = waiting.tickets.iter_mut().find(|one| one.number == self.number) {
            mine.handed_in = true;
        }
        drop(waiting);
        self.line.moved.notify_waiters();
    }

    /// Its position is committed.
    pub(super) fn committed(self) {
        self.line.waiting.lock().tickets.retain(|one| one.number != self.number);
    }
}

impl Drop for SigningTicket<'_> {
    fn drop(&mut self) {
        let mut waiting = self.line.waiting.lock();
        if let Some(place) = waiting.tickets.iter().position(|one| one.number == self.number) {
            waiting.tickets.truncate(place);
        }
        drop(waiting);
        self.line.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn waits(ticket: &SigningTicket<'_>) -> bool {
        ticket.turn().now_or_never().is_none()
    }

    #[test]
    fn each_gets_the_position_behind_the_last_and_is_handed_in_behind_it() {
        let line = SigningLine::default();
        let (first, second, third) = (line.join(7), line.join(7), line.join(7));
        assert_eq!([first.position, second.position, third.position], [7, 8, 9]);
        assert_eq!([first.ahead, second.ahead, third.ahead], [0, 1, 2]);
        assert!(!waits(&first) && waits(&second) && waits(&third));
        second.handed_in();
        assert!(waits(&third), "the first is not");
        first.handed_in();
        assert!(!waits(&second) && !waits(&third));
        // The second is told first that it is committed.
        second.committed();
        assert_eq!(line.join(9).position, 10, "behind the third");
        first.committed();
        third.committed();
        assert_eq!(line.join(12).position, 12, "somebody else took two");
    }

    #[test]
    fn who_signed_behind_one_that_was_given_up_is_held_up_by_nobody_and_holds_up_nobody() {
        let line = SigningLine::default();
        let (first, second, third) = (line.join(0), line.join(0), line.join(0));
        first.handed_in();
        assert!(waits(&third));
        drop(second);
        assert!(!waits(&third), "it is in vain, and the journal says so");
        let again = line.join(0);
        assert_eq!((again.position, again.ahead), (1, 1));
        assert!(!waits(&again), "it does not wait for the third");
        drop(third);
        assert!(!waits(&again));
        assert_eq!(line.join(0).position, 2, "the third took nothing with it");
    }
}
