//! When what a read saw may be told. Reads have a session of their own, and that may see what a COMMIT has done
//! whose answer is still on its way, or lost: until it is known what became of it, it is as if it were not there.

use journal::store::JobReply;
use parking_lot::Mutex;

/// The state of the writer's newest COMMIT.
#[derive(Default)]
enum NewestCommit {
    /// Its outcome is known.
    #[default]
    Known,
    /// It waits for its answer, and these wait for it.
    UnderWay(Vec<JobReply>),
    /// Its answer is lost, and has to be asked for.
    Lost,
}

/// Holds back what reads saw while it may be undone.
#[derive(Default)]
pub(crate) struct PendingReplies(Mutex<(NewestCommit, u64)>);

impl std::fmt::Debug for PendingReplies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PendingReplies").finish_non_exhaustive()
    }
}

impl PendingReplies {
    /// A COMMIT is on its way.
    pub(crate) fn under_way(&self) {
        self.0.lock().0 = NewestCommit::UnderWay(Vec::new());
    }

    /// It is known what became of the newest COMMIT: who waited for that is told what was seen.
    pub(crate) fn known(&self) {
        let before = std::mem::take(&mut self.0.lock().0);
        if let NewestCommit::UnderWay(waiting) = before {
            for reply in waiting {
                reply();
            }
        }
    }

    /// The answer to a COMMIT is lost: what was seen since is told nobody.
    pub(crate) fn lost(&self) {
        let (newest, losses) = &mut *self.0.lock();
        *newest = NewestCommit::Lost;
        *losses = losses.wrapping_add(1);
    }

    /// Returns the number of answers lost so far; asked before anything is read.
    pub(crate) fn losses(&self) -> u64 {
        self.0.lock().1
    }

    /// Tells what was read after `losses` were counted: now, when it is known what became of a COMMIT, or never,
    /// which says that it was not read.
    pub(crate) fn tell(&self, losses: u64, reply: JobReply) {
        let (newest, now) = &mut *self.0.lock();
        match newest {
            NewestCommit::Known if losses == *now => reply(),
            NewestCommit::UnderWay(waiting) if losses == *now => waiting.push(reply),
            NewestCommit::Known | NewestCommit::UnderWay(_) | NewestCommit::Lost => {}
        }
    }
}
