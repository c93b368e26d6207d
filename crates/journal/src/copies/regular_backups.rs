//! Backups that a running Signer makes of its journal by itself, by a thread of its own: every so often one, whole
//! and audited, in a directory of which the newest are kept.

use crate::copies::backup::{PAUSE, back_up_in_steps};
use crate::copies::backup_directory::{listed, made_ms, name};
use crate::copies::not_copied::{NotCopied, at, remove, remove_all};
use crate::figures::Figures;
use crate::job::Job;
use crate::sql::{Database, SqlResult};
use crate::sqlite::files::Files;
use crate::sqlite::open;
use crate::{Journal, history};
use config::BackupPlan;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{info, warn};

/// Longest wait after a backup was not made.
const AGAIN: Duration = Duration::from_mins(1);

/// Time that a process that ends waits for a backup to be given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The thread that makes backups of a journal.
#[derive(Debug)]
pub struct RegularBackups {
    stop: SyncSender<()>,
    ended: oneshot::Receiver<()>,
}

impl RegularBackups {
    /// Makes backups of a journal as planned until told to finish. The directory is used by the thread alone: one that
    /// hangs holds up no start.
    pub fn begin(journal: &Journal, plan: BackupPlan) -> io::Result<Self> {
        let (stop, stopping) = sync_channel(1);
        let (tell, ended) = oneshot::channel();
        let (journal, figures) = (journal.clone(), Arc::clone(&journal.figures));
        figures.backed_up_ms.store(journal.now_ms(), Ordering::Relaxed);
        let every_ms = i64::try_from(plan.every.as_millis()).unwrap_or(i64::MAX);
        figures.backup_every_ms.store(every_ms, Ordering::Relaxed);
        let keeper = BackupThread { journal, plan, figures, stopping, told: BTreeSet::new() };
        let thread = std::thread::Builder::new().name("backup".to_owned());
        thread.spawn(move || {
            keeper.run();
            drop(tell);
        })?;
        Ok(Self { stop, ended })
    }

    /// Gives up the backup that is being made, if one is. Does not wait for ever.
    pub async fn finish(self) {
        self.stop.try_send(()).ok();
        if timeout(PATIENCE, self.ended).await.is_err() {
            warn!("a backup of the journal was not given up: journal.backup_dir does not answer");
        }
    }
}

/// The state of the thread.
struct BackupThread {
    journal: Journal,
    plan: BackupPlan,
    figures: Arc<Figures>,
    stopping: Receiver<()>,
    /// The backups of which it was said that they are kept.
    told: BTreeSet<PathBuf>,
}

impl BackupThread {
    fn run(mut self) {
        if let Some(since_ms) = self.newest_ms().or_else(|| self.journal_begun_ms()) {
            self.figures.backed_up_ms.store(since_ms, Ordering::Relaxed);
        }
        let mut wait = self.due();
        while !self.is_stopped_within(wait) {
            let begun_ms = self.journal.now_ms();
            wait = match self.make(begun_ms) {
                Ok(()) => {
                    self.figures.backed_up_ms.store(begun_ms, Ordering::Relaxed);
                    self.due()
                }
                Err(NotCopied::Stopped) => return,
                Err(problem) => {
                    warn!(%problem, "the journal was not backed up; it is tried again");
                    self.plan.every.min(AGAIN)
                }
            };
        }
    }

    /// Returns the wait until the next backup is due. A clock that was set back makes no wait longer than usual.
    fn due(&self) -> Duration {
        let Some(newest_ms) = self.newest_ms() else { return Duration::ZERO };
        let age_ms = self.journal.now_ms().saturating_sub(newest_ms);
        let age = u64::try_from(age_ms).map_or(Duration::ZERO, Duration::from_millis);
        self.plan.every.saturating_sub(age)
    }

    /// When the newest backup was begun, Unix ms. A clock that was ahead made those of later times.
    fn newest_ms(&self) -> Option<i64> {
        let now_ms = self.journal.now_ms();
        let all = listed(&self.plan.directory).ok()?;
        all.iter().filter_map(|path| made_ms(path)).filter(|made_ms| *made_ms <= now_ms).max()
    }

    fn is_stopped_within(&self, wait: Duration) -> bool {
        !matches!(self.stopping.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
    }

    fn make(&mut self, now_ms: i64) -> Result<(), NotCopied> {
        let directory = &self.plan.directory;
        let Some(from) = self.journal.space.path() else {
            let problem = io::Error::other("a journal on a server is backed up there");
            return Err(at(directory)(problem));
        };
        for path in listed(directory)? {
            // One that a person makes here bears no time.
            let unfinished = path.extension().is_some_and(|ending| ending == "part");
            if unfinished && made_ms(&path.with_extension("")).is_some() {
                remove_all(&path);
            }
        }
        let pause = || {
            if self.is_stopped_within(PAUSE) { Err(NotCopied::Stopped) } else { Ok(()) }
        };
        let to = directory.join(name(now_ms));
        let audit = back_up_in_steps(from, &to, &mut |_, _| {}, &pause)?;
        info!(backup = %to.display(), head = %audit.head, "the journal was backed up");
        self.clear_away(now_ms)
    }

    /// Takes away all but the newest, unless they know what the journal does not. Those of later times than the one that
    /// was just made are by a clock that was ahead, and older.
    fn clear_away(&mut self, now_ms: i64) -> Result<(), NotCopied> {
        let mut backups = listed(&self.plan.directory)?;
        backups.retain(|path| made_ms(path).is_some());
        let age = |path: &PathBuf| {
            let made_ms = made_ms(path);
            (made_ms > Some(now_ms), std::cmp::Reverse(made_ms))
        };
        backups.sort_by_key(age);
        for path in backups.into_iter().skip(self.plan.keep) {
            if self.knows_all_of(&path) {
                remove(&path);
            } else if self.told.insert(path.clone()) {
                let backup = path.display();
                warn!(%backup, "an earlier backup may know what this journal does not, and is kept");
            }
        }
        Ok(())
    }

    /// Returns true if the newest row of a backup is one of the journal's.
    fn knows_all_of(&self, backup: &Path) -> bool {
        let Ok(head) = open::read(&Files::at(backup)).map(|conn| history::head(&*conn)) else {
            return false;
        };
        let Ok(head) = head else { return false };
        self.looked_up(move |conn| history::holds(conn, &head)) == Some(true)
    }

    /// The time of the first row of the journal, Unix ms: since then nothing of it is in a backup, if there is none.
    fn journal_begun_ms(&self) -> Option<i64> {
        self.looked_up(history::begun_ms).flatten()
    }

    fn looked_up<T: Send + 'static>(
        &self,
        look: impl FnOnce(&dyn Database) -> SqlResult<T> + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = oneshot::channel();
        let look = Job::Read(Box::new(move |conn| {
            let found = look(conn);
            Box::new(move || drop(tell.send(found)))
        }));
        if !self.journal.queue.put_blocking(look) {
            return None;
        }
        told.blocking_recv().ok()?.ok()
    }
}
