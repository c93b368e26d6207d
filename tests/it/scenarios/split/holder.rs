//! The process that holds the keys of a Signer, as the system shows it to root.

use crate::world::signer::Signer;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};

/// A process that holds keys.
pub(super) struct Holder {
    pub(super) process: u32,
}

impl Holder {
    /// The one that this Signer has started.
    pub(super) fn of(signer: &Signer) -> Self {
        let found = Self::all(signer);
        let [process] = found[..] else { panic!("not one process of this Signer: {found:?}") };
        Self { process }
    }

    /// All that it has started and that run.
    pub(super) fn all(signer: &Signer) -> Vec<u32> {
        let parent = format!("PPid:\t{}\n", signer.process.id());
        let ours = |process: &u32| {
            let status = fs::read_to_string(format!("/proc/{process}/status"));
            status.is_ok_and(|status| status.contains(&parent) && !status.contains("State:\tZ"))
        };
        let all = fs::read_dir("/proc").unwrap();
        let all = all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        all.filter(ours).collect()
    }

    fn read(&self, what: &str) -> String {
        let bytes = fs::read(format!("/proc/{}/{what}", self.process)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(super) fn status(&self) -> String {
        self.read("status")
    }

    pub(super) fn environment(&self) -> String {
        self.read("environ")
    }

    /// The soft and the hard limit of core files.
    pub(super) fn core_limit(&self) -> [String; 2] {
        let limits = self.read("limits");
        let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        [words[4].to_owned(), words[5].to_owned()]
    }

    /// What is open in it.
    pub(super) fn files(&self) -> Vec<String> {
        let open = fs::read_dir(format!("/proc/{}/fd", self.process)).unwrap();
        let named = |entry: std::io::Result<fs::DirEntry>| fs::read_link(entry.unwrap().path());
        open.map(|entry| named(entry).unwrap().display().to_string()).collect()
    }

    pub(super) fn runs(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process));
        status.is_ok_and(|status| !status.contains("State:\tZ"))
    }

    pub(super) fn send(&self, signal: Signal) {
        let process = i32::try_from(self.process).unwrap();
        kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
    }
}

/// Which of these are anywhere in the memory that a process may write.
pub(super) fn found<const N: usize>(process: u32, wanted: &[Vec<u8>; N]) -> [bool; N] {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let mut memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let (mut found, mut looked) = ([false; N], 0);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, may) = (words.next().unwrap(), words.next().unwrap());
        if !may.starts_with("rw") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(to - from).unwrap()];
        memory.seek(SeekFrom::Start(from)).unwrap();
        // What the process gave back in the meantime cannot be read.
        if memory.read_exact(&mut bytes).is_err() {
            continue;
        }
        looked += bytes.len();
        for (found, wanted) in found.iter_mut().zip(wanted) {
            *found |= bytes.windows(wanted.len()).any(|place| place == wanted);
        }
    }
    assert!(looked > 1 << 20, "only {looked} bytes of it can be read");
    found
}
