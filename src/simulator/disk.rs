//! The disk under the journal: a database in memory that can fail as a disk does, and copies of it
//! that come back when nobody expects them. `serve` stands where `journal::writer::run` and `commit`
//! stand in a process: reads first, then all waiting writes in one transaction, and answers only after
//! COMMIT.

use super::adapter::Shared;
use super::faults::Fault;
use super::mutants::Mutant;
use super::nodes::short;
use crate::journal::seam::{self, Job, Progress};
use alloy::primitives::B256;
use rusqlite::Connection;
use tokio::sync::mpsc::Receiver;

/// What became of a process that used the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fared {
    Well,
    /// It ended in the middle of it.
    Died,
}

/// Which copy of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// A backup, made some time ago.
    Backup,
    /// What a failed COMMIT may have left on disk.
    Zombie,
    /// What an unfinished commit started from.
    Before,
    /// What has really reached the disk where commits do not wait for it.
    Synced,
}

impl Kept {
    const ALL: [(Self, &str); 4] = [
        (Self::Backup, "backup"),
        (Self::Zombie, "zombie"),
        (Self::Before, "before"),
        (Self::Synced, "synced"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(copy, _)| *copy == self).map_or("", |(_, name)| name)
    }
}

/// Parents before children: they are filled in this order, and emptied in the opposite one.
const TABLES: [&str; 14] = [
    "boot",
    "restored",
    "chain",
    "pause",
    "lane",
    "doubt",
    "history",
    "batch",
    "attempt",
    "claim",
    "spend",
    "counted",
    "request",
    "request_batch",
];

/// The database, and what is known of its copies.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) conn: Connection,
    /// How far the journal had come when its mark was written last.
    mark: Option<Progress>,
    /// Whether the process that runs has found an old copy: it leaves the mark alone.
    old: bool,
    /// How many processes were started.
    boots: u128,
    backup: bool,
    zombie: bool,
}

impl Disk {
    /// A disk on which nothing was ever written. One serves many seeds, one after the other.
    pub(super) fn new() -> Self {
        let conn = seam::memory();
        for (_, copy) in Kept::ALL {
            conn.execute_batch(&format!("ATTACH ':memory:' AS {copy}")).unwrap();
            for table in TABLES {
                let sql = format!("CREATE TABLE {copy}.{table} AS SELECT * FROM main.{table}");
                conn.execute_batch(&sql).unwrap();
            }
        }
        Self { conn, mark: None, old: false, boots: 0, backup: false, zombie: false }
    }

    /// Empties it.
    pub(super) fn wipe(&mut self, mutant: Option<Mutant>) {
        (self.mark, self.backup, self.zombie, self.old) = (None, false, false, false);
        self.run("DROP TRIGGER IF EXISTS temp.broken");
        for table in TABLES.iter().rev() {
            self.run(&format!("DELETE FROM main.{table}"));
        }
        self.boots = 0;
        seam::boot(&self.conn, 0);
        if let Some(sql) = mutant.and_then(Mutant::sql) {
            self.conn.execute_batch(sql).unwrap();
        }
        self.save(Kept::Synced);
    }

    fn run(&self, sql: &str) {
        self.conn.prepare_cached(sql).unwrap().execute([]).unwrap();
    }

    fn save(&self, copy: Kept) {
        for table in TABLES {
            self.run(&format!("DELETE FROM {}.{table}", copy.name()));
            let sql = format!("INSERT INTO {}.{table} SELECT * FROM main.{table}", copy.name());
            self.run(&sql);
        }
    }

    fn load(&self, copy: Kept) {
        for table in TABLES.iter().rev() {
            self.run(&format!("DELETE FROM main.{table}"));
        }
        for table in TABLES {
            let sql = format!("INSERT INTO main.{table} SELECT * FROM {}.{table}", copy.name());
            self.run(&sql);
        }
    }

    /// Makes a backup.
    pub(super) fn back_up(&mut self) {
        self.save(Kept::Backup);
        self.backup = true;
    }

    /// What a new process finds, and whether it is an old copy. Counts the start, as `open` does.
    pub(super) fn boot(&mut self, world: &Shared) -> bool {
        if std::mem::take(&mut self.zombie) {
            world.lock().note("a zombie commit is found at the start", 0, 0);
            self.load(Kept::Zombie);
            let found = self.attempts();
            world.lock().durable.extend(found);
        }
        let (lazy, restored) = {
            let mut world = world.lock();
            let lazy = world.breaks(Mutant::NormalSync) && world.dice.one_in(2);
            (lazy, self.backup && world.fault(Fault::OldCopy))
        };
        if lazy {
            self.load(Kept::Synced);
        }
        if restored {
            self.restore(world);
        }
        let old = self.is_old();
        self.old = old;
        self.boots += 1;
        seam::boot(&self.conn, self.boots);
        if !old {
            self.mark = Some(seam::progress_of(&self.conn));
        }
        old && !world.lock().breaks(Mutant::TrustOldCopy)
    }

    fn is_old(&self) -> bool {
        self.mark.is_some_and(|mark| seam::is_old(&self.conn, mark))
    }

    /// Puts an old copy in the journal's place. What it forgot is still in the pools. A copy that was
    /// made in the very second before the mark was moved last cannot be told: it is not restored.
    fn restore(&mut self, world: &Shared) {
        let before = self.attempts();
        self.save(Kept::Before);
        self.load(Kept::Backup);
        if !self.is_old() {
            self.load(Kept::Before);
        }
        let after = self.attempts();
        let mut world = world.lock();
        for hash in before.into_iter().filter(|hash| !after.contains(hash)) {
            world.note("forgotten by the restored journal", short(hash), 0);
            world.forget(hash);
        }
    }

    fn attempts(&self) -> Vec<B256> {
        let mut select = self.conn.prepare_cached("SELECT hash FROM attempt").unwrap();
        let rows = select.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        rows.map(|hash| B256::from_slice(&hash.unwrap())).collect()
    }

    /// Whether a transaction is on disk.
    pub(super) fn holds(&self, hash: B256) -> bool {
        let sql = "SELECT 1 FROM attempt WHERE hash = ?1";
        self.conn.prepare_cached(sql).unwrap().exists([hash.as_slice()]).unwrap()
    }

    /// Serves what waits in the journal's queue.
    pub(super) fn serve(&mut self, queue: &mut Receiver<Job>, world: &Shared) -> Fared {
        let mut writes = vec![];
        while let Ok(job) = queue.try_recv() {
            match job {
                Job::Read(read) => read(&self.conn),
                Job::Write(write) => writes.push(write),
                // Nobody shuts down here: processes are killed.
                Job::Close(_) => {}
            }
        }
        if writes.is_empty() {
            return Fared::Well;
        }
        if writes.len() > 1 {
            world.lock().note("writes shared a commit", writes.len() as u64, 0);
        }
        if world.lock().fault(Fault::KillInCommit) {
            return Fared::Died;
        }
        let full = world.lock().fault(Fault::DiskFull);
        let unclear = !full && world.lock().fault(Fault::CommitUnclear);
        if unclear && world.lock().breaks(Mutant::AnswerFailOnAmbiguousCommit) {
            return self.shrug_off(writes, world);
        }
        self.commit(writes, (full, unclear), world)
    }

    /// One transaction for all of them, on a disk that may be `full`, with a COMMIT that may be
    /// `unclear`.
    fn commit(
        &mut self,
        writes: Vec<seam::Write>,
        (full, unclear): (bool, bool),
        world: &Shared,
    ) -> Fared {
        if full && world.lock().dice.one_in(2) {
            return Fared::Well;
        }
        if full {
            let pages = self.number("page_count");
            self.number(&format!("max_page_count = {pages}"));
        }
        let ran = seam::run(&self.conn, writes);
        if full {
            self.number("max_page_count = 1000000");
        }
        let Some(ran) = ran else {
            world.lock().note("a full disk took the transaction back", 0, 0);
            world.lock().signed.clear();
            return Fared::Well;
        };
        if !ran.iter().any(|ran| ran.keep) {
            self.conn.execute_batch("ROLLBACK").unwrap();
            world.lock().signed.clear();
        } else if unclear || world.lock().fault(Fault::KillInCommit) {
            let there = world.lock().dice.one_in(2);
            self.conn.execute_batch(if there { "COMMIT" } else { "ROLLBACK" }).unwrap();
            self.settle_down(there, world);
            if there && unclear {
                world.lock().note("an unclear commit is on disk", 0, 0);
            }
            return Fared::Died;
        } else {
            self.conn.execute_batch("COMMIT").unwrap();
            self.settle_down(true, world);
            self.zombie = false;
            self.sync(world);
            if world.lock().fault(Fault::KillAfterCommit) {
                return Fared::Died;
            }
        }
        for one in ran {
            (one.reply)();
        }
        Fared::Well
    }

    /// Remembers what is on disk now, and moves the mark as a running process does.
    fn settle_down(&mut self, committed: bool, world: &Shared) {
        let signed = std::mem::take(&mut world.lock().signed);
        for hash in signed {
            if committed && self.holds(hash) {
                let mut world = world.lock();
                world.durable.insert(hash);
                world.note("durable", short(hash), 0);
            }
        }
        if committed && !self.old && world.lock().dice.one_in(2) {
            self.mark = Some(seam::progress_of(&self.conn));
        }
    }

    fn sync(&self, world: &Shared) {
        let lazy = world.lock().breaks(Mutant::NormalSync);
        if lazy && world.lock().dice.one_in(8) {
            self.save(Kept::Synced);
        }
    }

    /// Asks or sets a pragma. No page more than there are, and the database finds its disk full in the
    /// middle of a statement.
    fn number(&self, pragma: &str) -> i64 {
        let sql = format!("PRAGMA main.{pragma}");
        self.conn.prepare_cached(&sql).unwrap().query_row([], |row| row.get(0)).unwrap()
    }

    /// What a process does that takes an error from COMMIT for a no: it goes on with what it had, while
    /// the row may be on disk and come back.
    fn shrug_off(&mut self, writes: Vec<seam::Write>, world: &Shared) -> Fared {
        self.save(Kept::Before);
        if let Some(ran) = seam::run(&self.conn, writes) {
            self.conn.execute_batch("COMMIT").unwrap();
            drop(ran);
        }
        self.save(Kept::Zombie);
        self.load(Kept::Before);
        world.lock().signed.clear();
        self.zombie = world.lock().dice.one_in(2);
        Fared::Well
    }
}
