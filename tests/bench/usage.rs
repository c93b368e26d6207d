//! What processes use: processor time, memory, allocations.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Clock ticks in a second: Linux tells processor time in them.
const TICKS: f64 = 100.0;

/// Processor time that a process has used so far, ms: its own and the kernel's for it.
pub(crate) fn processor_ms(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field is a name in brackets, in which anything may stand.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok());
    ticks.sum::<u64>() as f64 * 1000.0 / TICKS
}

/// The node's process: a child of this one.
pub(crate) fn node() -> Option<u32> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let me = std::process::id().to_string();
    ids.find(|id| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().unwrap_or_default().split_whitespace().nth(1);
        stat.contains("(anvil") && parent == Some(&*me)
    })
}

/// A process that this one has started.
pub(crate) fn child_of(process: u32) -> Option<u32> {
    let parent = format!("PPid:\t{process}\n");
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.find(|id| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status"));
        status.is_ok_and(|status| status.contains(&parent))
    })
}

/// Memory that a process holds, MiB.
pub(crate) fn resident_mib(process: u32) -> f64 {
    status(process, "VmRSS:")
}

/// The part of it that is the process's own and no page of a file, MiB. The system takes pages of the program
/// back when it needs them, and processes of one program share them.
pub(crate) fn own_mib(process: u32) -> f64 {
    status(process, "RssAnon:")
}

/// The most that it ever held, MiB.
pub(crate) fn peak_mib(process: u32) -> f64 {
    status(process, "VmHWM:")
}

fn status(process: u32, name: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// Counts what a process asks of the allocator of the C library. One that brings an allocator of its own
/// is not counted.
pub(crate) struct Allocations {
    room: tempfile::TempDir,
}

impl Allocations {
    /// None where there is no C compiler.
    pub(crate) fn counter() -> Option<Self> {
        let room = tempfile::tempdir().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bench/allocations.c");
        let library = room.path().join("allocations.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(library).args([source, "-ldl"]);
        let made = compiler.status().ok()?;
        made.success().then_some(Self { room })
    }

    /// The variables of the environment that have a process counted.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        let at = |name: &str| self.room.path().join(name);
        [("LD_PRELOAD", at("allocations.so")), ("ALLOCATIONS", at("count"))]
    }

    /// How many there were so far; none where nothing counts.
    pub(crate) fn so_far(&self) -> Option<u64> {
        read(&self.room.path().join("count"))
    }
}

fn read(path: &Path) -> Option<u64> {
    Some(u64::from_ne_bytes(std::fs::read(path).ok()?.try_into().ok()?))
}

/// Counts the system calls of a process with all of its threads.
pub(crate) struct SystemCalls {
    watcher: Child,
    counts: tempfile::NamedTempFile,
}

impl SystemCalls {
    /// Counts the calls that `which` names, as strace takes it. None where strace is not installed.
    pub(crate) fn of(process: u32, which: &str) -> Option<Self> {
        let counts = tempfile::NamedTempFile::new().unwrap();
        let mut watcher = Command::new("strace")
            .args(["-f", "-c", "-U", "calls,name", "-e", &format!("trace={which}"), "-o"])
            .arg(counts.path())
            .args(["-p", &process.to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        // It says so once it is attached.
        let mut line = String::new();
        BufReader::new(watcher.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.contains("attached").then_some(Self { watcher, counts })
    }

    /// The number of calls until now, by name.
    pub(crate) fn stop(mut self) -> BTreeMap<String, u64> {
        let id = rustix::process::Pid::from_child(&self.watcher);
        rustix::process::kill_process(id, rustix::process::Signal::INT).ok();
        self.watcher.wait().unwrap();
        let table = std::fs::read_to_string(self.counts.path()).unwrap();
        let rows = table.lines().filter_map(|line| line.trim().split_once(' '));
        let rows = rows.filter_map(|(calls, name)| Some((name.trim(), calls.parse().ok()?)));
        let rows = rows.filter(|(name, _)| *name != "total");
        rows.map(|(name, calls)| (name.to_owned(), calls)).collect()
    }
}
