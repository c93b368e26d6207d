//! A copy of the journal in another directory, kept at most a second behind by a thread of its own, which
//! asks the journal for nothing: however slow that directory is, no commit waits for it.
//!
//! Each start makes a copy from the beginning under a name of its own; the one before it goes when the new one
//! is whole, unless it knows something that the journal does not.

use super::backup::{NotCopied, at, remove};
use super::duplicate::{Duplicate, Original, sync_directory};
use super::files::{Files, beside};
use super::seen::SeenCopy;
use super::wal::LogEnd;
use super::writer::{Figures, Job};
use super::{Journal, history, open};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{info, warn};

/// How often what was committed is copied.
const EVERY: Duration = Duration::from_millis(250);

/// How long to wait after something went wrong.
const AGAIN: Duration = Duration::from_secs(5);

/// How long a process that ends waits for the last of its commits to be copied.
const PATIENCE: Duration = Duration::from_secs(10);

/// The ending of a copy that is not whole yet.
const PART: &str = ".part";

/// The thread that keeps a copy of a journal.
#[derive(Debug)]
pub struct Copier {
    stop: SyncSender<()>,
    ended: oneshot::Receiver<()>,
}

impl Copier {
    /// Copies what is still to be copied, and ends. Does not wait for ever.
    pub async fn finish(self) {
        self.stop.try_send(()).ok();
        if timeout(PATIENCE, self.ended).await.is_err() {
            warn!("the copy of the journal was not finished: journal.copy_dir does not answer");
        }
    }
}

impl Journal {
    /// Keeps a copy of the journal in `directory` until told to finish, at most a second behind while
    /// both disks keep up.
    pub fn keep_copy(&self, directory: &Path) -> io::Result<Copier> {
        let (stop, stopping) = sync_channel(1);
        let (tell, ended) = oneshot::channel();
        let (journal, directory) = (self.clone(), directory.to_owned());
        let figures = Arc::clone(&self.figures);
        figures.copied_ms.store(self.now_ms(), Ordering::Relaxed);
        let keeper = Keeper { journal, directory, figures, stopping, held: None, failing: None };
        let thread = std::thread::Builder::new().name("copy".to_owned());
        thread.spawn(move || {
            keeper.run();
            drop(tell);
        })?;
        Ok(Copier { stop, ended })
    }
}

/// What the thread has.
struct Keeper {
    journal: Journal,
    directory: PathBuf,
    figures: Arc<Figures>,
    stopping: Receiver<()>,
    /// The directory, which is this process's alone, and the journal's file.
    held: Option<(File, Original)>,
    /// What was said last about what is wrong.
    failing: Option<String>,
}

/// A copy under its name.
struct KeptCopy {
    path: PathBuf,
    copy: Duplicate,
    /// Up to where its log is durable.
    synced: Option<LogEnd>,
}

impl Keeper {
    fn run(mut self) {
        let mut kept = None;
        let mut wait = Duration::ZERO;
        loop {
            let over = match self.stopping.recv_timeout(wait) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                Err(RecvTimeoutError::Timeout) => false,
            };
            if over && kept.is_none() {
                return;
            }
            let now_ms = self.journal.now_ms();
            match self.tend(kept.take()) {
                Ok(None) => return,
                Ok(Some(tended)) => {
                    self.figures.copied_ms.store(now_ms, Ordering::Relaxed);
                    self.failing = None;
                    (kept, wait) = (Some(tended), EVERY);
                }
                Err(problem) => {
                    self.complain(problem.to_string());
                    wait = AGAIN;
                }
            }
            if over {
                return;
            }
        }
    }

    /// Brings the copy up to now; none where the process ends before there is one.
    fn tend(&mut self, kept: Option<KeptCopy>) -> Result<Option<KeptCopy>, NotCopied> {
        let Some(mut kept) = kept else { return self.begin() };
        kept.copy.catch_up()?;
        if !kept.copy.is_at(&kept.path) {
            return Err(at(&kept.path)(io::Error::other("the copy was taken away")));
        }
        let end = kept.copy.logged();
        if kept.synced != end {
            kept.copy.sync_log()?;
            kept.synced = end;
        }
        Ok(Some(kept))
    }

    fn begin(&mut self) -> Result<Option<KeptCopy>, NotCopied> {
        let original = self.hold()?;
        let path = self.directory.join(format!("journal-{}.sqlite", self.journal.now_ms()));
        let (part, log) = (beside(&path, PART), beside(&path, "-wal"));
        let made = self.read(&original, &part, &log);
        let Ok(Some(copy)) = made else {
            remove(&part);
            remove(&log);
            return made.map(|_| None);
        };
        std::fs::rename(&part, &path).map_err(at(&path))?;
        sync_directory(&path).map_err(at(&path))?;
        info!(copy = %path.display(), "a copy of the journal is kept");
        self.clear_away(&path)?;
        let synced = copy.logged();
        Ok(Some(KeptCopy { path, copy, synced }))
    }

    /// A whole copy; none where the process ends meanwhile.
    fn read(
        &self,
        original: &Original,
        part: &Path,
        log: &Path,
    ) -> Result<Option<Duplicate>, NotCopied> {
        let mut copy = Duplicate::begin(original, part, log)?;
        while !copy.read_on()? {
            if !matches!(self.stopping.try_recv(), Err(TryRecvError::Empty)) {
                return Ok(None);
            }
        }
        copy.sync()?;
        Ok(Some(copy))
    }

    /// The journal's file, once the directory is this process's alone.
    fn hold(&mut self) -> Result<Original, NotCopied> {
        if let Some((_, original)) = &self.held {
            return Ok(original.clone());
        }
        let failed = || at(&self.directory);
        let directory = File::open(&self.directory).map_err(failed())?;
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let problem = io::Error::other("another Signer keeps its copy here");
                return Err(failed()(problem));
            }
            Err(other) => return Err(failed()(other.into())),
        }
        let Some(files) = &self.journal.files else {
            return Err(failed()(io::Error::other("a journal on a server is copied there")));
        };
        let path = files.path();
        let original = Original::open(path, beside(path, "-wal")).map_err(at(path))?;
        self.held = Some((directory, original.clone()));
        Ok(original)
    }

    /// Takes away what earlier processes have left here and nobody needs any more.
    fn clear_away(&self, newest: &Path) -> Result<(), NotCopied> {
        for path in listed(&self.directory)? {
            if path.extension().is_some_and(|ending| ending == "part") {
                remove(&path);
                remove(&beside(&path.with_extension(""), "-wal"));
            } else if path != newest && self.knows_all_of(&path) {
                remove(&path);
                remove(&beside(&path, "-wal"));
                remove(&beside(&path, "-shm"));
            } else if path != newest {
                let copy = path.display();
                warn!(%copy, "an earlier copy may know what this journal does not, and is kept");
            }
        }
        Ok(())
    }

    /// Whether the newest row of an earlier copy is one of the journal.
    fn knows_all_of(&self, copy: &Path) -> bool {
        let Ok(head) = open::read(&Files::at(copy)).map(|conn| history::head(&conn)) else {
            return false;
        };
        let Ok(head) = head else { return false };
        let (tell, told) = oneshot::channel();
        let look = Job::Read(Box::new(move |conn| {
            let held = history::holds(conn, &head);
            Box::new(move || drop(tell.send(held)))
        }));
        let asked = self.journal.jobs.blocking_send(look).is_ok();
        asked && matches!(told.blocking_recv(), Ok(Ok(true)))
    }

    fn complain(&mut self, problem: String) {
        if self.failing.as_ref() != Some(&problem) {
            warn!(%problem, "the copy of the journal is not kept up; it is begun anew");
            self.failing = Some(problem);
        }
    }
}

/// Copies in a directory, whole and in the making.
fn listed(directory: &Path) -> Result<Vec<PathBuf>, NotCopied> {
    let ours = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| {
            let name = name.strip_suffix(PART).unwrap_or(&name);
            name.starts_with("journal-") && name.ends_with(".sqlite")
        })
    };
    let found = || {
        let all = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
        all.collect::<io::Result<Vec<_>>>()
    };
    Ok(found().map_err(at(directory))?.into_iter().filter(ours).collect())
}

/// The one copy in a directory.
pub(super) fn only_copy(directory: &Path) -> Result<PathBuf, NotCopied> {
    let mut whole = listed(directory)?;
    whole.retain(|path| path.extension().is_some_and(|ending| ending == "sqlite"));
    whole.sort();
    match whole.pop() {
        None => Err(NotCopied::None(directory.to_owned())),
        Some(only) if whole.is_empty() => Ok(only),
        Some(newest) => {
            whole.push(newest);
            let mut seen: Vec<SeenCopy> = whole.into_iter().map(SeenCopy::of).collect();
            seen.sort_by_key(|copy| std::cmp::Reverse(copy.rows()));
            Err(NotCopied::Several(seen))
        }
    }
}
