//! The programs: each is killed as a power cut would, and started again at once.

use super::place::Place;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Part {
    /// The platform, which holds both chains and their nodes.
    Platform,
    Signer,
    Scheduler,
    Inbox,
}

impl Part {
    pub(crate) const ALL: [Self; 4] = [Self::Platform, Self::Signer, Self::Scheduler, Self::Inbox];

    fn index(self) -> usize {
        Self::ALL.iter().position(|part| *part == self).unwrap()
    }
}

/// All of them.
pub(crate) struct Cast {
    place: Place,
    children: [Mutex<Option<Child>>; 4],
    /// Who is being started.
    missing: [AtomicBool; 4],
    /// How often each was killed.
    kills: Mutex<BTreeMap<Part, u32>>,
    /// Why one of them did not start again.
    fault: Mutex<Option<String>>,
    /// The play is over: whoever starts now ends at once.
    over: AtomicBool,
}

impl Cast {
    /// Starts nobody yet.
    pub(crate) fn new(place: Place) -> Arc<Self> {
        Arc::new(Self {
            place,
            children: Default::default(),
            missing: Default::default(),
            kills: Mutex::default(),
            fault: Mutex::default(),
            over: AtomicBool::new(false),
        })
    }

    /// Starts a program, and returns when it is there: the platform when it listens.
    pub(crate) fn start(&self, part: Part) {
        let mut child = self.place.command(part).spawn().unwrap();
        if part == Part::Platform {
            let mut line = String::new();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            output.read_line(&mut line).unwrap();
            match serde_json::from_str(&line) {
                Ok(addresses) => self.place.lead(&addresses),
                Err(_) => *self.fault.lock() = Some(format!("the platform says {line:?}")),
            }
        }
        *self.children[part.index()].lock() = Some(child);
        if self.over.load(Ordering::SeqCst) {
            self.end(part);
        }
    }

    /// Nobody ended who was not killed, and whoever was killed came back.
    pub(crate) fn assert_well(&self) {
        let (fault, ended) = (self.fault.lock().clone(), self.gave_up());
        assert!(fault.is_none() && ended.is_empty(), "ended by themselves: {ended:?}, {fault:?}");
    }

    /// Ends everybody for good.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::SeqCst);
        for part in Part::ALL {
            self.end(part);
        }
    }

    /// Ends a program.
    pub(crate) fn end(&self, part: Part) {
        if let Some(mut child) = self.children[part.index()].lock().take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Kills a program; it is started again meanwhile. False if it is being started anyway.
    pub(crate) fn kill(self: &Arc<Self>, part: Part) -> bool {
        if self.missing[part.index()].swap(true, Ordering::SeqCst) {
            return false;
        }
        self.end(part);
        *self.kills.lock().entry(part).or_default() += 1;
        let cast = Arc::clone(self);
        std::thread::spawn(move || {
            cast.start(part);
            cast.missing[part.index()].store(false, Ordering::SeqCst);
        });
        true
    }

    /// How often each was killed.
    pub(crate) fn kills(&self) -> BTreeMap<Part, u32> {
        self.kills.lock().clone()
    }

    /// Whether everybody runs.
    pub(crate) fn is_whole(&self) -> bool {
        self.missing.iter().all(|missing| !missing.load(Ordering::SeqCst))
    }

    /// Who ended without having been killed.
    fn gave_up(&self) -> Vec<Part> {
        let ended = |part: &Part| {
            let mut child = self.children[part.index()].lock();
            child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_some())
        };
        Part::ALL.into_iter().filter(ended).collect()
    }

    /// What the scheduler says when it runs once. Its daemon must have been ended.
    pub(crate) fn run_once(&self) -> String {
        let mut command = self.place.scheduler(&["--once"]);
        let output = command.stdout(Stdio::piped()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Ends the Signer, and does with its journal what a merchant does on the day when it is lost.
    pub(crate) fn close_books(&self) {
        self.end(Part::Signer);
        for step in [
            vec!["audit"],
            vec!["backup", "backup.sqlite"],
            vec!["restore", "backup.sqlite"],
            vec!["totals", "--prove"],
        ] {
            let mut command = self.place.signer(&step);
            if step.contains(&"restore") {
                command.env("SIGNER__JOURNAL__PATH", "restored.sqlite");
            }
            let well = command.status().unwrap().success();
            assert!(well, "merchant-signer {step:?}\n{}", self.place.last_words());
        }
    }

    /// What the inbox has kept.
    pub(crate) fn events(&self) -> Vec<Value> {
        let mut list = self.place.merchant(&["events", "list", "--limit", "1000000", "--json"]);
        let output = list.stdout(Stdio::piped()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Where the programs are: those of `LOOP_PROGRAMS`, or as they are built for this test.
pub(crate) fn programs() -> std::path::PathBuf {
    if let Some(told) = std::env::var_os("LOOP_PROGRAMS") {
        return std::fs::canonicalize(told).expect("LOOP_PROGRAMS is a directory");
    }
    // The selection has the features of `cargo test --workspace`, so that nothing is built twice.
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "-q", "--workspace", "--bins", "--test", "whole_loop"]);
    assert!(build.status().unwrap().success());
    // target/debug/deps/whole_loop-…
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}
