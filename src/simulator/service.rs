//! One process: the product's own lane, watcher and requests, polled in turns. It can be killed
//! wherever one of them waits for a node or for the disk, which is everywhere.
//!
//! The order of things is the engine's: nothing here repeats it. Only the start is this file's
//! (`app::start`: resume, look once, then take requests).

use super::adapter::{Shared, SimChain};
use super::clients::Request;
use super::disk::{Disk, Fared};
use super::faults::Fault;
use super::mutants::Mutant;
use super::simulated_ms;
use crate::billing::{Again, Rules};
use crate::clock::Clock;
use crate::engine::bill::bill;
use crate::engine::{Answer, Gate, Lane, NoVerdict, Watcher};
use crate::journal::seam::{Job, handle};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

/// How long a caller waits for an answer.
const DEADLINE: Duration = Duration::from_secs(25);

type Running<T> = Pin<Box<dyn Future<Output = T>>>;

/// A process at work.
pub(super) struct Process {
    pub(super) lane: Arc<Lane>,
    queue: Receiver<Job>,
    starting: bool,
    look: Option<Running<()>>,
    requests: Vec<(u64, Running<Result<Answer, NoVerdict>>)>,
}

/// What a turn of a process came to.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) answers: Vec<(u64, Result<Answer, NoVerdict>)>,
    pub(super) died: bool,
}

impl Process {
    /// Starts on what is on the disk.
    pub(super) fn start(world: &Shared, disk: &mut Disk) -> Self {
        let old_copy = disk.boot(world);
        let (journal, queue) = handle(old_copy, Clock::telling(simulated_ms));
        let chain = Arc::new(SimChain::new(Arc::clone(world)));
        let guard = Duration::from_hours(1);
        let lane = Arc::new(Lane::new(chain, journal, rules(world), guard));
        let taking_up = Arc::clone(&lane);
        let first = async move {
            // A start that fails ends the process, and whoever supervises it starts it again.
            while taking_up.resume().await.is_err() {}
            look(taking_up).await;
        };
        let mut world = world.lock();
        world.note("started", u64::from(old_copy), 0);
        Self { lane, queue, starting: true, look: Some(Box::pin(first)), requests: vec![] }
    }

    /// Takes a request, once it has started.
    pub(super) fn take(&mut self, request: &Request) -> bool {
        if self.starting {
            return false;
        }
        let (lane, order) = (Arc::clone(&self.lane), request.order());
        let deadline = Instant::now() + DEADLINE;
        let running = async move { bill(&lane, order, deadline).await };
        self.requests.push((request.number, Box::pin(running)));
        true
    }

    /// Begins to look, unless it does.
    pub(super) fn begin_look(&mut self) {
        if self.look.is_none() {
            self.look = Some(Box::pin(look(Arc::clone(&self.lane))));
        }
    }

    /// Whether no caller waits.
    pub(super) fn has_no_requests(&self) -> bool {
        self.requests.is_empty()
    }

    pub(super) fn is_open(&self) -> bool {
        self.lane.gate() == Gate::Open
    }

    /// Lets everybody take a step, in an order that the dice choose, and then the disk.
    pub(super) fn turn(&mut self, world: &Shared, disk: &mut Disk) -> Turn {
        let mut turn = Turn::default();
        let mut context = Context::from_waker(Waker::noop());
        if !self.requests.is_empty() {
            let first = world.lock().dice.below(self.requests.len() as u64);
            self.requests.rotate_left(usize::try_from(first).unwrap());
        }
        let mut place = 0;
        while place < self.requests.len() {
            let (number, running) = &mut self.requests[place];
            match running.as_mut().poll(&mut context) {
                Poll::Ready(answer) => {
                    turn.answers.push((*number, answer));
                    drop(self.requests.remove(place));
                }
                Poll::Pending => place += 1,
            }
            if world.lock().fault(Fault::Kill) {
                turn.died = true;
                return turn;
            }
        }
        if let Some(running) = &mut self.look {
            if running.as_mut().poll(&mut context).is_ready() {
                (self.look, self.starting) = (None, false);
            }
            if world.lock().fault(Fault::Kill) {
                turn.died = true;
                return turn;
            }
        }
        if !world.lock().fault(Fault::SlowJournal) {
            turn.died = disk.serve(&mut self.queue, world) == Fared::Died;
        }
        turn
    }
}

async fn look(lane: Arc<Lane>) {
    let watcher = Watcher { lane, every: Duration::from_secs(2) };
    watcher.look().await;
}

fn rules(world: &Shared) -> Rules {
    let deaf = world.lock().breaks(Mutant::NoRebroadcast);
    Rules {
        offer_again_ms: if deaf { u64::MAX } else { 4_000 },
        again: Again::Replace { after_ms: 5_000, most: 6, cancel_after_ms: Some(60_000) },
    }
}
