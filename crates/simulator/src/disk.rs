//! The disk under the journal: real files of the real database, that can be full, end a commit with neither
//! yes nor no, and come back as copies when nobody expects them.

use crate::attempts::{NewestAttempts, attempts};
use crate::decision_laws;
use crate::dice::Fault;
use crate::genesis::biller;
use crate::mutants::Mutant;
use crate::world::{Kind, Shared, Side, World};
use alloy::primitives::B256;
use journal::Disk;
use rusqlite::Connection;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

const NAMES: [&str; 3] = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite.mark"];

/// The files of one seed after the other.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    backup: bool,
    synced: bool,
    /// True if an old copy runs, and the journal that it replaced was kept.
    newer: bool,
}

/// The mark beside a journal, when the journal is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// It is copied too.
    Copied,
    /// It is left as it is.
    Left,
}

impl Files {
    /// Files below `root`, with a new journal among them that every seed begins with.
    pub(crate) fn new(root: &Path) -> Self {
        let files = Self { root: root.to_owned(), backup: false, synced: false, newer: false };
        for name in ["new", "live", "backup", "crash", "synced", "newer", "look"] {
            fs::create_dir_all(root.join(name)).expect("the directory is ours");
        }
        journal::Journal::initialise(&root.join("new").join(NAMES[0])).expect("a new journal");
        files
    }

    /// Returns the path of the journal of the process that runs.
    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("live").join(NAMES[0])
    }

    /// A file that nothing else is called.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.join("look").join(name)
    }

    /// As if nothing had ever been written.
    pub(crate) fn wipe(&mut self) {
        (self.backup, self.synced, self.newer) = (false, false, false);
        self.copy("new", "live", Mark::Copied);
    }

    fn copy(&self, from: &str, to: &str, mark: Mark) {
        let names = match mark {
            Mark::Copied => &NAMES[..],
            Mark::Left => &NAMES[..2],
        };
        for name in names {
            let (from, to) = (self.root.join(from).join(name), self.root.join(to).join(name));
            match fs::copy(&from, &to) {
                Ok(_) => {}
                // Nothing of that name: then there must be none there either.
                Err(_) => fs::remove_file(&to).unwrap_or_default(),
            }
        }
    }

    /// Leaves the files that are open to whoever has them open, and others of the same content in their place.
    pub(crate) fn part(&self) {
        self.copy("live", "look", Mark::Copied);
        for name in NAMES.into_iter().chain(["journal.sqlite-shm"]) {
            fs::remove_file(self.root.join("live").join(name)).unwrap_or_default();
        }
        self.copy("look", "live", Mark::Copied);
    }

    /// Makes a copy of the journal while it is in use. One that no process has begun on is no copy, but as new
    /// as the one that `init` makes.
    pub(crate) fn back_up(&mut self) {
        self.copy("live", "backup", Mark::Copied);
        let begun = "SELECT count(*) > 1 FROM boot";
        let begun = self.copied("backup").query_row(begun, [], |row| row.get(0));
        self.backup = begun.expect("the schema has it");
    }

    /// Keeps the files as they are on disk at this moment, which is all that is left of a process that is killed.
    pub(crate) fn freeze(&self) {
        self.copy("live", "crash", Mark::Copied);
    }

    /// Puts the kept files back for the next process to find.
    pub(crate) fn thaw(&self) {
        self.copy("crash", "live", Mark::Copied);
    }

    /// Keeps the files as they have reached the disk, for commits that do not wait for it.
    pub(crate) fn sync(&mut self) {
        self.copy("live", "synced", Mark::Copied);
        self.synced = true;
    }

    /// Before a start: what is found may be older than what was left.
    pub(crate) fn before_start(&mut self, world: &mut World) {
        if self.synced && world.breaks(Mutant::NormalSync) && world.dice.one_in(2) {
            self.copy("synced", "live", Mark::Copied);
        }
        if self.newer && self.can_be_learnt("newer", world) && world.fault("both", Fault::NewerBack)
        {
            self.newer = false;
            // The transactions that the copy has sent meanwhile may wait in the place of a batch that the newer
            // journal has open.
            let alone =
                self.attempts("live").iter().all(|one| self.attempts("newer").contains(one));
            let mark = chosen_mark(world);
            self.put_back("newer", if alone { mark } else { Mark::Left }, world);
        } else if self.backup
            && self.can_be_learnt("backup", world)
            && world.fault("both", Fault::OldCopy)
        {
            self.copy("live", "newer", Mark::Copied);
            self.newer = true;
            let trusted = world.breaks(Mutant::TrustOldCopy);
            let mark = if trusted { Mark::Copied } else { chosen_mark(world) };
            self.put_back("backup", mark, world);
            world.hold_what_waits();
        }
    }

    /// Returns true if a Signer can learn what a copy has forgotten: on EVM everybody can see it, and nothing of it
    /// waits behind a gap. The accounts that signed are named.
    fn can_be_learnt(&self, copy: &str, world: &mut World) -> bool {
        if !world.dice.knows(Fault::OldCopy) {
            return false;
        }
        world.keep_in_sight(&self.signed("live"));
        world.waits_without_a_gap()
            && (!world.scene.changes_key() || self.names_every_account(copy))
    }

    /// The bytes of everything that a journal has signed.
    fn signed(&self, of: &str) -> Vec<Vec<u8>> {
        let conn = self.copied(of);
        let sql = "SELECT raw FROM attempt WHERE raw IS NOT NULL";
        let mut select = conn.prepare(sql).expect("the schema has it");
        let rows = select.query_map([], |row| row.get(0)).expect("it is read");
        rows.map(|row| row.expect("a row")).collect()
    }

    /// Returns true if a copy names every account that has signed. The transactions of an account that neither the
    /// copy nor the configuration names are unknown to every Signer.
    fn names_every_account(&self, copy: &str) -> bool {
        let named = |of| {
            let conn = self.copied(of);
            let mut lanes = conn.prepare("SELECT chain, signer FROM lane").expect("it is there");
            let lanes = lanes.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
            let lanes: Vec<(i64, Vec<u8>)> =
                lanes.expect("it is read").collect::<Result<_, _>>().expect("rows");
            lanes
        };
        let known = named(copy);
        named("live").iter().all(|lane| known.contains(lane))
    }

    /// Puts another journal in place of the one that is there, with its mark or without.
    fn put_back(&self, from: &str, mark: Mark, world: &mut World) {
        let before = self.attempts("live");
        world.bury_what_no_node_shows();
        self.copy(from, "live", mark);
        let found = fs::read_to_string(self.root.join("live").join(NAMES[2])).ok();
        world.watch.put_back(&self.copied("live"), found.as_deref());
        let after = self.attempts("live");
        for (hash, _) in before.into_iter().filter(|one| !after.contains(one)) {
            world.note("both", "forgotten by the restored journal", u64::from(hash[0]));
            world.forgotten.insert(hash);
            world.ever_forgotten += 1;
        }
        for (hash, _) in after {
            world.forgotten.remove(&hash);
        }
    }

    /// Returns true if the journal remembers which chain the usual number stands for.
    pub(crate) fn know_number(&self, side: Side) -> bool {
        let sql = "SELECT count(*) FROM chain WHERE id = ?1";
        let known = self.open().query_row(sql, [side.platform_id()], |row| row.get::<_, i64>(0));
        known.is_ok_and(|rows| rows > 0)
    }

    pub(crate) fn open(&self) -> Connection {
        Connection::open(self.journal()).expect("nobody holds the file")
    }

    fn attempts(&self, of: &str) -> Vec<(B256, Kind)> {
        attempts(&self.copied(of), NewestAttempts::default())
    }

    /// A copy of one of the journals, to look at.
    fn copied(&self, of: &str) -> Connection {
        self.copy(of, "look", Mark::Left);
        Connection::open(self.root.join("look").join(NAMES[0])).expect("a copy opens")
    }

    /// The journal after the last process has ended.
    pub(crate) fn rest(&self) -> Connection {
        self.open()
    }
}

/// The mark of a journal that is put back: copied in half of the cases, as in a snapshot of the whole disk.
fn chosen_mark(world: &mut World) -> Mark {
    if !world.dice.one_in(2) {
        return Mark::Left;
    }
    world.note("both", "restored together with its mark", 0);
    Mark::Copied
}

/// Every claim at the end, for people.
pub(crate) fn claims(conn: &Connection) -> Vec<String> {
    let sql =
        "SELECT printf('claim: chain %d batch %d (%s) subscription %d period %s live %d %s %s',
                      batch.chain, batch, state, subscribe_id, claim.period, live,
                      coalesce(outcome, nullif(state, 'open'), '-'), coalesce(code, ''))
                 FROM claim JOIN batch ON batch.id = batch ORDER BY batch, item";
    let mut select = conn.prepare(sql).expect("the schema has it");
    let rows = select.query_map([], |row| row.get(0)).expect("it is read");
    rows.map(|row| row.expect("a row")).collect()
}

/// The disk as the journal's writer meets it.
pub(crate) struct SimDisk {
    pub(crate) world: Shared,
    pub(crate) life: u64,
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDisk").field("life", &self.life).finish_non_exhaustive()
    }
}

fn dead() -> rusqlite::Error {
    rusqlite::Error::InvalidQuery
}

impl Disk for SimDisk {
    /// Returns false: a process that takes over takes the files away from under any process that has them open, as
    /// a server does.
    fn tells_files_apart(&self) -> bool {
        false
    }

    fn begin(&self, conn: &Connection) -> rusqlite::Result<()> {
        let mut world = self.world.lock();
        let world = &mut *world;
        if !world.writes(self.life) {
            return Err(dead());
        }
        let most = if world.fault("both", Fault::DiskFull) { 1 } else { 1_000_000 };
        let _: i64 =
            conn.query_row(&format!("PRAGMA max_page_count = {most}"), [], |row| row.get(0))?;
        world.known_attempts = NewestAttempts::of(conn);
        conn.execute_batch("BEGIN IMMEDIATE")?;
        world.watch.begin(conn, world.known_attempts);
        misbehave(world, conn)
    }

    fn boot_id(&self) -> std::io::Result<[u8; 16]> {
        let dice = &mut self.world.lock().dice;
        let halves = [dice.next().to_be_bytes(), dice.next().to_be_bytes()];
        let mut id = [0; 16];
        id.iter_mut().zip(halves.as_flattened()).for_each(|(to, from)| *to = *from);
        Ok(id)
    }

    fn commit(&self, conn: &Connection) -> rusqlite::Result<()> {
        let mut world = self.world.lock();
        let world = &mut *world;
        if !world.writes(self.life) {
            return Err(dead());
        }
        let signed = attempts(conn, world.known_attempts);
        if let Err(law) = decision_laws::of_a_commit(world, conn) {
            world.broken.get_or_insert(law);
        }
        if world.breaks(Mutant::BroadcastBeforePersist) {
            send_now(world, conn, &signed);
        }
        let unclear = world.fault("both", Fault::CommitUnclear);
        if unclear && world.breaks(Mutant::AnswerFailOnAmbiguousCommit) {
            return shrug_off(world, conn, signed);
        }
        if unclear && world.dice.one_in(2) {
            world.kill();
            return Err(dead());
        }
        conn.execute_batch("COMMIT")?;
        world.log.mix(u64::try_from(signed.len()).unwrap_or(u64::MAX));
        world.note_signed(signed);
        note_lanes(world, conn);
        world.committed = true;
        if unclear {
            world.kill();
            return Err(dead());
        }
        Ok(())
    }
}

/// Writes the additional changes of a process with a broken rule.
fn misbehave(world: &mut World, conn: &Connection) -> rusqlite::Result<()> {
    for hash in &world.released {
        let sql = "UPDATE claim SET live = 0
                    WHERE batch = (SELECT batch FROM tx WHERE hash = ?1)";
        conn.execute(sql, [hash.as_slice()])?;
    }
    Ok(())
}

/// The first accounts that a journal knows from now on.
fn note_lanes(world: &mut World, conn: &Connection) {
    let sql = "SELECT count(*) FROM lane WHERE chain = ?1 AND signer = ?2";
    for side in [Side::Evm, Side::Tron] {
        let since_ms = &mut world.known_since_ms[side.place()];
        let lane = (side.platform_id(), biller(0).address());
        let known = || conn.query_row(sql, (lane.0, lane.1.as_slice()), |row| row.get::<_, i64>(0));
        if since_ms.is_none() && known().is_ok_and(|count| count > 0) {
            *since_ms = Some(world.now_ms);
        }
    }
}

/// Plays a process that takes an error from COMMIT for a no: its callers hear that nothing was done, while the
/// signed transactions are on disk, and the next process that reads them offers them.
fn shrug_off(
    world: &mut World,
    conn: &Connection,
    signed: Vec<(B256, Kind)>,
) -> rusqlite::Result<()> {
    conn.execute_batch("COMMIT")?;
    world.denied |= !signed.is_empty();
    world.note_signed(signed);
    Ok(())
}

/// Sends at once, as a process does that does not wait for its disk.
fn send_now(world: &mut World, conn: &Connection, signed: &[(B256, Kind)]) {
    for (hash, _) in signed {
        let sql = "SELECT attempt.raw, chain FROM attempt JOIN batch ON batch.id = attempt.batch
                    WHERE attempt.hash = ?1";
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, u32>(1)?))
        };
        let (raw, chain) = conn.query_row(sql, [hash.as_slice()], row).expect("it was written");
        // A transaction that was learnt from the chain has no bytes here.
        let Some(raw) = raw else { continue };
        let side = if chain == Side::Evm.platform_id() { Side::Evm } else { Side::Tron };
        world.offered(side, *hash);
        world.send_straight(side, &raw);
    }
}
