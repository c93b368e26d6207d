//! A second process takes the journal from one that goes on. The first may have been stopped in the middle of a
//! question: it speaks with nodes and callers until it notices, and can commit nothing. The journal that the second
//! finds may lack its last commits, as a failover's database does, and its configuration may be another.

use crate::Simulation;
use crate::dice::Fault;
use crate::disk::Files;
use crate::mutants::Mutant;
use crate::process::Process;
use crate::world::{Shared, World};

/// For how many seconds a process may be stopped that another one takes over from.
const STOPPED: u64 = 9;

/// For how many seconds it does not notice then, at most.
const MOMENT: u64 = 15;

/// A process that another one took over from, and that does not know it yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stale {
    /// Which one it is.
    pub(crate) life: u64,
    /// It hears no answer before (ms).
    pub(crate) wakes_ms: u64,
    /// When it notices (ms).
    notices_ms: u64,
}

impl Stale {
    fn of(process: &Process, world: &mut World) -> Self {
        let stopped = if world.dice.one_in(3) { 0 } else { world.dice.below(STOPPED) };
        let wakes_ms = world.now_ms + 1000 * stopped;
        let notices_ms = wakes_ms + 1000 * (1 + world.dice.below(MOMENT));
        Self { life: process.life, wakes_ms, notices_ms }
    }
}

/// The process that does not know it yet, while there is one.
#[derive(Default)]
pub(crate) struct Overtaken(Option<Process>);

impl Overtaken {
    /// Callers may still know that one.
    pub(crate) fn or<'a>(&'a self, process: &'a Process, world: &mut World) -> &'a Process {
        self.0.as_ref().filter(|_| world.dice.one_in(3)).unwrap_or(process)
    }

    /// It ends when it notices.
    pub(crate) fn notice(&mut self, world: &mut World) {
        if world.stale.is_some_and(|stale| stale.notices_ms <= world.now_ms) {
            world.stale = None;
            self.0 = None;
        }
    }

    /// Returns true if another process takes over now from one that is at work. Only one does at a time.
    pub(crate) fn is_due(&self, process: &Process, world: &mut World) -> bool {
        let may_be = process.is_at_work() && self.0.is_none() && !world.dead;
        may_be && world.fault("both", Fault::TakenOver)
    }

    /// Takes over from `process`; another one can be started then.
    async fn take(&mut self, process: Process, world: &Shared, files: &Files) {
        if world.lock().breaks(Mutant::LeaseOnly) {
            files.part();
        } else {
            process.cut_off().await;
        }
        let world = &mut *world.lock();
        world.stale = Some(Stale::of(&process, world));
        self.0 = Some(process);
    }
}

impl Simulation<'_> {
    /// The process that takes over.
    pub(crate) async fn take_over(
        &mut self,
        process: Process,
        overtaken: &mut Overtaken,
    ) -> Process {
        overtaken.take(process, &self.world, self.files).await;
        let known = self.world.lock().ever_forgotten;
        self.between_two_starts();
        let forgotten = self.world.lock().ever_forgotten - known;
        if forgotten > 0 {
            self.world.lock().note("both", "taken over without the last commits", forgotten.into());
        }
        self.readiness.begin();
        Process::start(&self.world, self.config.clone(), &self.answers)
    }
}
