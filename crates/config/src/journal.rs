//! `[journal]`: where every charge is remembered, in a file or on a server.

use super::faults::Reported;
use super::kinds::{optional_time, path, size, text, time, whole};
use super::reader::TableReader;
use super::{DatabaseUrl, millis, seconds, secret};
use secrecy::{ExposeSecret as _, SecretString};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of the journal when none is stated.
pub(super) const USUAL_FILE: &str = "data/journal.sqlite";

/// Time to wait for a server's answer when none is stated.
const USUAL_TIMEOUT: Duration = seconds(10);

/// After how long a Signer that says nothing is taken for gone when nothing is said.
const USUAL_TAKEOVER: Duration = seconds(10);

/// The most letters of a name of an instance.
const LONGEST_NAME: usize = 60;

/// The form that `journal.url` must have.
const URL: &str = "the URL of a PostgreSQL database: postgresql://role:password@host/database";

/// The place of the journal.
#[derive(Debug, Clone)]
pub enum JournalPlace {
    /// In a file of this machine.
    File(JournalConfig),
    /// On a PostgreSQL server.
    Server(JournalServer),
}

/// A journal in a file.
#[derive(Debug, Clone)]
pub struct JournalConfig {
    /// The file. It is never created unless asked for.
    pub path: PathBuf,
    /// File of the journal's mark; none if it is `<path>.mark`.
    pub mark_path: Option<PathBuf>,
    /// Backups that are made of the journal while a Signer runs; none if none are made.
    pub backups: Option<BackupPlan>,
    /// No new work is accepted with less than this free on its disk, in bytes: 1 MiB to 1 TiB.
    pub min_free_bytes: u64,
    /// Most commits that may wait for the writer: 1 to 100000.
    pub queue_length: usize,
    /// Time for which refusals are kept, an hour to ten years; none if they are not kept.
    pub keep_refusals: Option<Duration>,
}

/// Backups that a running Signer makes by itself.
#[derive(Debug, Clone)]
pub struct BackupPlan {
    /// The directory that they are in.
    pub directory: PathBuf,
    /// Time from one backup to the next: 1 s to 30 days.
    pub every: Duration,
    /// Number of backups that are kept: 1 to 10000.
    pub keep: usize,
}

impl BackupPlan {
    /// None where no directory is named.
    fn read(reader: &mut TableReader<'_>) -> Result<Option<Self>, Reported> {
        let directory = reader.optional("backup_dir", &path("the path of a directory for backups"));
        let every = reader.get("backup_every", &time(seconds(1)..=seconds(30 * 86_400)));
        let keep = reader.get("backup_keep", &whole(1..=10_000));
        let (directory, every, keep) = (directory?, every?, keep?);
        Ok(directory.map(|directory| Self { directory, every, keep }))
    }
}

/// A journal on a PostgreSQL server.
#[derive(Debug, Clone)]
pub struct JournalServer {
    /// The server, the database, and the role that it is used as.
    pub url: DatabaseUrl,
    /// Authority that signs the certificate of the server, in PEM; none for the authorities that this machine
    /// trusts.
    pub authority_file: Option<PathBuf>,
    /// The file of the mark, on this machine. Refusals and the webhook's place are beside it.
    pub mark_path: PathBuf,
    /// After how long an answer of the server is taken for lost: 1 s to 1 min.
    pub timeout: Duration,
    /// Name of this Signer among those that share the journal; none for the machine's name.
    pub instance: Option<String>,
    /// After how long another Signer that says nothing is taken for gone: 3 s to 10 min.
    pub takeover_after: Duration,
    /// No refusals are kept with less than this free on the disk of the mark, in bytes: 1 MiB to 1 TiB.
    pub min_free_bytes: u64,
    /// Most commits that may wait for the writer: 1 to 100000.
    pub queue_length: usize,
    /// Time for which refusals are kept, an hour to ten years; none if they are not kept.
    pub keep_refusals: Option<Duration>,
}

/// The endings of the journal and of the files that go with it: SQLite's, and [`JournalPlace::beside`]'s.
const OWN_ENDINGS: [&str; 9] =
    ["", "-wal", "-shm", "-journal", ".part", ".refusals", ".handover", ".webhook", ".signed"];

/// Returns true if a mark at this path would be written over the journal or a file that goes with it.
fn is_of_the_journal(mark: &Path, journal: &Path) -> bool {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (mark, journal) = (whole(mark).into_os_string(), whole(journal).into_os_string());
    let (mark, journal) = (mark.as_encoded_bytes(), journal.as_encoded_bytes());
    let ending = mark.strip_prefix(journal);
    ending.is_some_and(|ending| OWN_ENDINGS.iter().any(|own| own.as_bytes() == ending))
}

/// Keys of earlier versions, and what is set instead.
const REMOVED: [(&str, &str); 3] = [
    (
        "copy_dir",
        "set journal.backup_dir, where a whole backup is made every journal.backup_every; a journal that must \
         not lose a second is kept by a PostgreSQL server (docs/postgres.md)",
    ),
    ("peers", NOT_PASSED_ON),
    ("peers_authority_file", NOT_PASSED_ON),
];

const MARK_OF_THE_JOURNAL: &str = "is the journal, or a name that the journal's other files have: the mark would be \
    written over it; give the mark a name of its own";

const NOT_PASSED_ON: &str = "a Signer that stands by passes nothing on. A load balancer, or the caller itself, finds \
    the one that serves by /health/serving (docs/postgres.md)";

impl JournalPlace {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let removed = refuse_removed(reader);
        let file = reader.optional("path", &path("the path of the journal file"));
        let mark = reader.optional("mark_path", &path("the path of the mark's file"));
        let backups = BackupPlan::read(reader);
        let min_free_bytes = reader.get("min_free", &size(1 << 20..=1 << 40));
        let queue_length = reader.get("queue_length", &whole(1..=100_000));
        let times = seconds(3_600)..=seconds(3_650 * 86_400);
        let keep_refusals = reader.get("keep_refusals", &optional_time("never", times));
        let url = read_url(reader);
        let authority_file = path("the path of the certificate of an authority, in PEM");
        let authority_file = reader.optional("authority_file", &authority_file);
        let timeout = reader.optional("timeout", &time(millis(1_000)..=seconds(60)));
        let instance = reader.optional("instance", &text("a short name", LONGEST_NAME));
        let takeover = reader.optional("takeover_after", &time(seconds(3)..=seconds(600)));
        if !reader.has("url") && !reader.has("url_file") {
            removed?;
            only_with_a_url(reader)?;
            let path = file?.unwrap_or_else(|| USUAL_FILE.into());
            let mark_path = mark?;
            if mark_path.as_ref().is_some_and(|mark| is_of_the_journal(mark, &path)) {
                return Err(reader.fault("mark_path", MARK_OF_THE_JOURNAL));
            }
            return Ok(Self::File(JournalConfig {
                path,
                mark_path,
                backups: backups?,
                min_free_bytes: min_free_bytes?,
                queue_length: queue_length?,
                keep_refusals: keep_refusals?,
            }));
        }
        removed?;
        let fits = fits_a_url(reader);
        let mark = mark.and_then(|mark| mark.ok_or_else(|| no_mark(reader)));
        let url = url.and_then(|url| url.ok_or_else(|| reader.fault("url", "missing")));
        fits?;
        Ok(Self::Server(JournalServer {
            url: url?,
            authority_file: authority_file?,
            mark_path: mark?,
            timeout: timeout?.unwrap_or(USUAL_TIMEOUT),
            instance: instance?,
            takeover_after: takeover?.unwrap_or(USUAL_TAKEOVER),
            min_free_bytes: min_free_bytes?,
            queue_length: queue_length?,
            keep_refusals: keep_refusals?,
        }))
    }

    /// After how long another Signer that says nothing is taken for gone, where several share the journal.
    pub fn takeover_after(&self) -> Option<Duration> {
        match self {
            Self::File(_) => None,
            Self::Server(server) => Some(server.takeover_after),
        }
    }

    /// The journal in a file, where it is in one.
    pub fn file(&self) -> Option<&JournalConfig> {
        match self {
            Self::File(file) => Some(file),
            Self::Server(_) => None,
        }
    }

    /// A file of this machine that goes with the journal: `<journal><ending>`, and of one on a server the
    /// mark's name with another ending.
    pub fn beside(&self, ending: &str) -> PathBuf {
        let mut name = match self {
            Self::File(file) => OsString::from(&file.path),
            Self::Server(server) => server.mark_path.with_extension("").into(),
        };
        name.push(ending);
        name.into()
    }

    /// Below how many free bytes nothing more is written where the journal, or its mark, is.
    pub fn min_free_bytes(&self) -> u64 {
        match self {
            Self::File(file) => file.min_free_bytes,
            Self::Server(server) => server.min_free_bytes,
        }
    }

    /// Returns how long refusals are kept; none if they are not kept.
    pub fn keep_refusals(&self) -> Option<Duration> {
        match self {
            Self::File(file) => file.keep_refusals,
            Self::Server(server) => server.keep_refusals,
        }
    }

    /// Returns true if the URL of the journal has a password in it.
    pub(super) fn has_password(&self) -> bool {
        match self {
            Self::File(_) => false,
            Self::Server(server) => server.url.has_password(),
        }
    }

    /// Returns the kind of the journal, in a word: `file` or `server`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Server(_) => "server",
        }
    }
}

impl From<JournalConfig> for JournalPlace {
    fn from(file: JournalConfig) -> Self {
        Self::File(file)
    }
}

/// Without anything secret.
impl fmt::Display for JournalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => Path::new(&file.path).display().fmt(f),
            Self::Server(server) => server.url.fmt(f),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it is read as a URL that shows no secret")]
fn read_url(reader: &mut TableReader<'_>) -> Result<Option<DatabaseUrl>, Reported> {
    let fits = |text: &str| {
        let parsed = DatabaseUrl::parse(text).map(|_| SecretString::from(text));
        parsed.map_err(|why| why.to_string())
    };
    let read = secret::read(reader, "url", "url_file", URL, fits)?;
    // It was parsed before, or it would not be here.
    Ok(read.and_then(|text| DatabaseUrl::parse(text.expose_secret()).ok()))
}

/// Reports every key of `REMOVED` that the file sets.
fn refuse_removed(reader: &mut TableReader<'_>) -> Result<(), Reported> {
    let mut refused = Ok(());
    for (key, instead) in REMOVED {
        if reader.has(key) {
            reader.know(&[key]);
            refused = Err(reader.fault(key, format!("not understood any more: {instead}")));
        }
    }
    refused
}

/// Refuses keys that say nothing of a journal in a file.
fn only_with_a_url(reader: &TableReader<'_>) -> Result<(), Reported> {
    let of_a_server = ["authority_file", "instance", "takeover_after", "timeout"];
    let stated = of_a_server.into_iter().filter(|key| reader.has(key));
    let faults: Vec<Reported> =
        stated.map(|key| reader.fault(key, "goes with journal.url alone")).collect();
    faults.into_iter().try_for_each(Err)
}

/// Refuses keys that go with a journal in a file alone.
fn fits_a_url(reader: &TableReader<'_>) -> Result<(), Reported> {
    let mut fits = Ok(());
    if reader.has("path") {
        let problem =
            "set beside journal.url; keep one of the two: a journal is in a file or on a server";
        fits = Err(reader.fault("path", problem));
    }
    if reader.has("backup_dir") {
        let problem = "goes with a journal in a file: leave it out, and have the server backed up and \
                       followed by a standby";
        fits = Err(reader.fault("backup_dir", problem));
    }
    fits
}

fn no_mark(reader: &TableReader<'_>) -> Reported {
    let problem = "missing; with journal.url it names the file, on a disk of this machine, that tells an \
                   old copy of the database from the newest: \"/var/lib/signer/journal.mark\"";
    reader.fault("mark_path", problem)
}
