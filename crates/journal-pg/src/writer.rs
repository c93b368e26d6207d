//! The thread that writes a journal on a server: one transaction for all who wait together, and nobody hears of
//! a write before it is known what became of its COMMIT.

use crate::job_wait::JobWait;
use crate::lost::Lost;
use crate::mark::{Known, LastSeen, MarkFile};
use crate::pending_replies::PendingReplies;
use crate::server_line::{ServerLine, say_why};
use crate::session::{Committed, Session};
use crate::token::Token;
use journal::sql::{Database as _, SqlResult};
use journal::store::{ClosedSignal, GROUP, Job, RanWrite, Write};
use journal::{Figures, Served};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{error, info, warn};

/// Greatest age of the mark while the journal is written.
const MARK_EVERY: Duration = Duration::from_secs(1);

/// Interval at which a server that refuses what is written is tried again.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// Writes a journal that a server keeps.
#[derive(Debug)]
pub(crate) struct ServerWriter {
    pub(crate) line: ServerLine,
    pub(crate) jobs: mpsc::Receiver<Job>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) mark: Following,
    pub(crate) unanswered: Option<LostCommit>,
    pub(crate) pending: Arc<PendingReplies>,
}

/// A COMMIT whose answer is lost, and who waits for it.
pub(crate) struct LostCommit {
    token: Token,
    waiting: Vec<RanWrite>,
    begun: Instant,
    written: Instant,
}

impl std::fmt::Debug for LostCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LostCommit").field("token", &self.token).finish_non_exhaustive()
    }
}

/// The file that says what the process knows of its database.
#[derive(Debug)]
pub(crate) struct Following {
    file: MarkFile,
    /// The process's knowledge of its database, shared with the threads that open sessions.
    seen: Arc<Mutex<LastSeen>>,
    written: Option<Instant>,
    /// True if the database holds more than the file says.
    behind: bool,
}

impl Following {
    /// Writes the mark for the first time.
    pub(crate) fn begin(file: MarkFile, seen: Arc<Mutex<LastSeen>>) -> Self {
        let mut new = Self { file, seen, written: None, behind: true };
        new.write();
        new
    }

    /// The database holds this much; the file says so now, or soon.
    fn reached(&mut self, known: Known) {
        self.seen.lock().known = known;
        self.behind = true;
        self.catch_up();
    }

    /// Writes the mark, unless it was written a moment ago. A commit in that moment may be the last for long, so
    /// the mark is also brought up to date when no work comes.
    fn catch_up(&mut self) {
        if self.behind && self.written.is_none_or(|then| then.elapsed() >= MARK_EVERY) {
            self.write();
        }
    }

    /// One that could not be written is tried again, and no reason to stop.
    fn write(&mut self) {
        self.written = Some(Instant::now());
        let seen = self.seen.lock().clone();
        let written = self.file.write(&seen);
        self.behind = written.is_err();
        if let Err(problem) = written {
            warn!(%problem, "the mark beside the journal could not be written");
        }
    }
}

impl ServerWriter {
    /// Works until it is told to close, or the last handle is gone. Blocks the thread.
    pub(crate) fn run(mut self, beat: &JobWait) {
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let count = beat.receive(&mut self.jobs, &mut group, GROUP);
            match self.serve(count, &mut group) {
                Served::Going => {}
                Served::Closed => return,
                Served::Unknown => std::process::abort(),
            }
        }
    }

    fn serve(&mut self, count: Option<usize>, group: &mut Vec<Job>) -> Served {
        if let Err(lost) = self.line.renew().and_then(|()| self.ask()) {
            // The next process on this machine has to know what the database lacks.
            self.mark.write();
            say_why(&lost);
            return Served::Unknown;
        }
        let (mut writes, mut closed) = (Vec::new(), None);
        for job in group.drain(..) {
            match (job, self.line.session()) {
                (Job::Read(read), Some(session)) => read(session)(),
                (Job::Write(write), Some(_)) => writes.push(write),
                (Job::Close(close), _) => closed = Some(close),
                // A dropped job has changed nothing, and its waiter learns so.
                (Job::Read(_) | Job::Write(_), None) => {}
            }
        }
        // While it is not known what became of a COMMIT, nothing else is written.
        if !writes.is_empty() && self.unanswered.is_none() {
            self.commit(writes);
        }
        self.mark.catch_up();
        if count.is_none() {
            self.line.prove();
            self.try_again();
        }
        if count == Some(0) || closed.is_some() { self.end(closed) } else { Served::Going }
    }

    /// Those who still wait for a COMMIT are told nothing, since nobody knows: the next process reads what is
    /// there.
    fn end(&mut self, closed: Option<ClosedSignal>) -> Served {
        std::mem::forget(self.unanswered.take());
        self.mark.write();
        self.line.leave();
        drop(closed);
        Served::Closed
    }

    /// Finds out whether the server keeps what is written again, when nobody else does.
    fn try_again(&mut self) {
        if self.line.refuses_for(TRY_EVERY) && self.unanswered.is_none() {
            self.commit(vec![Box::new(|_| RanWrite { keep: true, reply: Box::new(|| {}) })]);
        }
    }

    fn commit(&mut self, writes: Vec<Write>) {
        self.write(writes);
        self.line.note_refusal();
    }

    fn write(&mut self, writes: Vec<Write>) {
        let begun = Instant::now();
        let Some(session) = self.line.session() else { return };
        let ran = Token::random()
            .and_then(|token| Ok((token, run_in_turn(session, token, writes)?)))
            .inspect_err(|failure| {
                error!(%failure, "the journal cannot be written; nothing of this group was");
                session.roll_back();
            });
        let Ok((token, waiting)) = ran else { return };
        if !waiting.iter().any(|ran| ran.keep) {
            session.roll_back();
            self.count_trips();
            return reply_to(waiting);
        }
        let written = Instant::now();
        self.pending.under_way();
        let ended = session.commit(token);
        self.count_trips();
        let unanswered = LostCommit { token, waiting, begun, written };
        match ended {
            Committed::Yes(known) => self.tell(unanswered, known),
            // A reply that is dropped says that its write did not happen.
            Committed::No => self.pending.known(),
            Committed::Unknown(lost) => {
                warn!(%lost, "the answer to a COMMIT is lost: nothing is written until it is known");
                // It is asked for on another connection: this one may still be at work.
                self.line.give_up("the answer to a COMMIT is lost");
                self.pending.lost();
                self.unanswered = Some(unanswered);
            }
        }
    }

    /// Tells all who waited for a COMMIT that it happened.
    fn tell(&mut self, LostCommit { waiting, begun, written, .. }: LostCommit, known: Known) {
        self.mark.reached(known);
        self.line.takes_writes();
        let kept = waiting.iter().filter(|ran| ran.keep).count();
        self.figures.committed(begun, written, kept);
        // Before whoever hears of it can ask: a read that is told nothing then would be refused for no reason.
        self.pending.known();
        reply_to(waiting);
    }

    /// Finds out what became of a COMMIT whose answer is lost, where there is one and a session to ask on.
    fn ask(&mut self) -> Result<(), Lost> {
        let (Some(open), Some(session)) = (&self.unanswered, self.line.session()) else {
            return Ok(());
        };
        match ask_for(session, open.token) {
            Ok(known) => {
                info!(happened = known.is_some(), "what became of the COMMIT is known");
                // If the COMMIT did not happen, the replies are dropped, and that tells the waiters.
                let open = self.unanswered.take();
                match (known, open) {
                    (Some(known), Some(open)) => self.tell(open, known),
                    (None, _) | (_, None) => self.pending.known(),
                }
            }
            Err(lost) if lost.is_final() => return Err(lost),
            Err(problem) => {
                warn!(%problem, "the server of the journal does not tell yet");
                self.line.give_up("it does not tell what became of a COMMIT");
            }
        }
        Ok(())
    }

    fn count_trips(&self) {
        let trips = self.line.session().map_or(0, Session::take_trips);
        self.figures.trips.fetch_add(trips, Ordering::Relaxed);
    }
}

fn reply_to(waiting: Vec<RanWrite>) {
    for RanWrite { reply, .. } in waiting {
        reply();
    }
}

/// Asks if the transaction of this name was committed, and returns the head of the history then. If it was not
/// committed, it never will be.
pub(crate) fn ask_for(session: &Session, token: Token) -> Result<Option<Known>, Lost> {
    if !session.void(token)? {
        return Ok(None);
    }
    // It is on this server's disk. A later commit that no standby lacks says that none lacks it.
    let later = Token::random()?;
    session.begin(later);
    match session.commit(later) {
        Committed::Yes(known) => Ok(Some(known)),
        Committed::No => Err(Lost::Follows),
        Committed::Unknown(lost) => Err(lost.into()),
    }
}

/// Runs writes in one transaction, when it is this session's turn.
fn run_in_turn(session: &Session, token: Token, writes: Vec<Write>) -> SqlResult<Vec<RanWrite>> {
    session.begin(token);
    let (alone, mut done) = (writes.len() == 1, Vec::with_capacity(writes.len()));
    for (nth, write) in writes.into_iter().enumerate() {
        if nth > 0 {
            session.release();
        }
        if !alone {
            session.save_point();
        }
        let ran = write(session);
        if ran.keep {
            // After the flush the waiter's reply is true of all of the write, and a later failure undoes nothing of
            // it.
            session.flush()?;
        } else if !alone {
            session.undo()?;
        }
        done.push(ran);
    }
    Ok(done)
}
