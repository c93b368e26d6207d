#![doc = include_str!("../README.md")]

mod attempts;
mod authorizations;
mod broken_journals;
mod callers;
mod chain_events;
mod clock;
mod config_changes;
mod decision_laws;
mod dice;
mod disk;
mod end_checks;
mod exchange;
mod false_answers;
mod false_records;
mod genesis;
mod key_stores;
mod laws;
mod made_up_blocks;
mod mutants;
mod narrowed_worlds;
mod net;
mod observations;
mod operator;
mod other_signers;
mod process;
mod readiness_law;
pub mod report;
mod restored_copies;
mod seed_settings;
mod setup;
mod takeover;
mod undone_receipts;
mod unproven_claims;
mod world;

#[cfg(test)]
mod tests;

use callers::Callers;
use config::Config;
use dice::{Fault, Log};
use disk::Files;
use genesis::Towns;
use mutants::Mutant;
use narrowed_worlds::Theme;
use operator::Books;
use parking_lot::Mutex;
use process::{Answers, Health, Process, Told};
use readiness_law::Readiness;
use seed_settings::Change;
use setup::Wanted;
use std::sync::Arc;
use std::time::Duration;
use takeover::Overtaken;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::sleep;
use world::{NODES, Shared, Side, World};

/// A copy is made about so often (s), so that it lacks what is not final yet as well as what is.
const COPIED_EVERY: u64 = 8;

/// Seconds in which nothing goes wrong any more, at most.
const HEALING: u64 = 560;

/// The result of one seed.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The law that was broken, if one was.
    pub(crate) broken: Option<String>,
    pub(crate) log: Log,
}

/// The special rules of a world: a rule that is broken, and a chain that alone is billed on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) mutant: Option<Mutant>,
    pub(crate) only: Option<Side>,
    /// The one thing that goes wrong.
    pub(crate) theme: Option<Theme>,
    /// True if all events are written down for people.
    pub(crate) talkative: bool,
}

/// The material with which one thread plays seeds: chains that are founded once, and a directory for journals.
#[derive(Debug)]
pub(crate) struct Bench {
    towns: Towns,
    files: Files,
    _room: TempDir,
}

impl Bench {
    /// A bench, in memory where there is a file system for that.
    pub(crate) fn new() -> Self {
        let fast = std::path::Path::new("/dev/shm");
        let room = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() };
        let room = room.expect("a directory for journals");
        Self { towns: Towns::found(), files: Files::new(room.path()), _room: room }
    }

    /// Plays one seed.
    pub(crate) fn play(&mut self, seed: u64, rules: Rules) -> Outcome {
        self.files.wipe();
        let Rules { mutant, only, .. } = rules;
        let world = World::new(seed, rules, &self.towns);
        let wanted = Wanted { scene: world.scene, mutant, only, changed: None };
        let config = setup::config(&self.towns, &self.files.journal(), &wanted);
        let world = Arc::new(Mutex::new(world));
        let mut simulation = Simulation {
            world: Arc::clone(&world),
            towns: &self.towns,
            files: &mut self.files,
            wanted,
            config,
            callers: Callers::default(),
            answers: Answers::default(),
            second: 0,
            starts_at: 0,
            quiet: 0,
            used_up: (0, 0),
            books: Books::default(),
            accepted: false,
            failed_starts: 0,
            last_health: None,
            readiness: Readiness::default(),
        };
        let broken = simulation.run().err();
        drop(simulation);
        let log = std::mem::take(&mut world.lock().log);
        Outcome { broken, log }
    }
}

/// Everything of one seed.
struct Simulation<'a> {
    world: Shared,
    towns: &'a Towns,
    files: &'a mut Files,
    /// The settings that the configuration follows from, and the configuration itself.
    wanted: Wanted,
    config: Config,
    callers: Callers,
    answers: Answers,
    /// Seconds that the simulation has gone on.
    second: u64,
    /// When the next process starts.
    starts_at: u64,
    /// For how long nothing has been left to do.
    quiet: u64,
    /// Number of places of accounts on EVM that the chain had used up at the last look, and number of transactions
    /// that waited.
    used_up: (u64, usize),
    books: Books,
    /// True if a person has said that another contract is meant.
    accepted: bool,
    failed_starts: u64,
    last_health: Option<Health>,
    readiness: Readiness,
}

/// Makes the runtime of one process.
fn runtime() -> Runtime {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("a runtime")
}

/// Why a process does not go on.
enum Stop {
    Died,
    Done,
    Broken(String),
}

impl Simulation<'_> {
    /// Ends a process. A killed process leaves what is on disk now, before its files are closed.
    fn end(&self, runtime: Runtime) {
        self.files.freeze();
        self.world.lock().dead = true;
        drop(runtime);
        self.files.thaw();
    }

    fn run(&mut self) -> Result<(), String> {
        loop {
            while self.second < self.starts_at {
                self.tick();
            }
            let mut runtime = runtime();
            self.between_two_starts();
            if self.asks_a_person() {
                let imported = operator::import(&self.world, &self.config, &self.callers);
                self.books.keep(runtime.block_on(imported))?;
            }
            let said = runtime.block_on(operator::accept(&self.world, &self.config));
            if said.is_none() {
                self.end(runtime);
                runtime = self::runtime();
            }
            self.accepted = said == Some(true);
            self.world.lock().stale = None;
            let stop = runtime.block_on(tokio::task::unconstrained(self.live()));
            self.end(runtime);
            match stop {
                Stop::Broken(law) => return Err(law),
                Stop::Done => return self.judge(),
                Stop::Died => {
                    let mut world = self.world.lock();
                    let pause = 1 + world.dice.below(12);
                    world.note("both", "died", pause);
                    self.starts_at = self.second + pause;
                }
            }
        }
    }

    /// Prepares the next start: the process may find another database, and another configuration.
    fn between_two_starts(&mut self) {
        self.files.before_start(&mut self.world.lock());
        self.reconfigure();
        self.files.forget_configuration(&self.world.lock());
        self.files.free_what_others_claimed(&self.world.lock());
    }

    /// Returns true if a person has to start it anew once nothing goes wrong any more: the configuration or the
    /// clock is mended, or too few providers are left of whom none was caught.
    fn needs_a_person(&self) -> bool {
        let few = |side| self.wanted.scene.nodes(side) < NODES;
        Side::ALL.into_iter().any(few)
            || self.wanted.scene.clock_ms != 0
            || self.wanted.changed.is_some_and(|(_, it)| it.is_refused() || it == Change::Removed)
    }

    /// Returns true if it is time that a person says what the journal has forgotten and nobody can learn.
    fn asks_a_person(&self) -> bool {
        self.books.are_due(self.second, self.chaos()) && operator::is_needed(&self.world.lock())
    }

    /// Seconds in which everything may go wrong.
    fn chaos(&self) -> u64 {
        self.wanted.scene.chaos
    }

    /// A second passes outside. Tells whether that was the last second of chaos.
    fn tick(&mut self) {
        self.second += 1;
        let mut world = self.world.lock();
        world.turn();
        if self.second == self.chaos() {
            world.heal();
            world.note("both", "healed", 0);
        }
        let back_up = world.dice.faults && !world.dead && world.dice.one_in(COPIED_EVERY);
        // A copy that is never put back would take a tenth of the time of a seed.
        let back_up = back_up && world.dice.knows(Fault::OldCopy);
        let lazy = std::mem::take(&mut world.committed) && world.breaks(Mutant::NormalSync);
        let sync = lazy && world.dice.one_in(4);
        drop(world);
        if back_up {
            self.files.back_up();
        }
        if sync {
            self.files.sync();
        }
    }

    /// The life of one process.
    async fn live(&mut self) -> Stop {
        let death = Arc::clone(&self.world.lock().death);
        let mut process = Process::start(&self.world, self.config.clone(), &self.answers);
        let mut overtaken = Overtaken::default();
        self.readiness.begin();
        loop {
            tokio::select! {
                biased;
                () = death.notified() => return Stop::Died,
                () = sleep(Duration::from_secs(1)) => {}
            }
            self.tick();
            if let Err(why) = process.settle_in().await {
                self.failed_starts += 1;
                self.world.lock().note("both", "does not start", 0);
                if let Some((side, _)) = self.refused() {
                    self.world.lock().note(side.name(), "refuses what has changed", 0);
                } else if self.second > self.chaos() + 60 {
                    return Stop::Broken(format!("I3: it does not start any more: {why}"));
                }
                return Stop::Died;
            }
            overtaken.notice(&mut self.world.lock());
            if overtaken.is_due(&process, &mut self.world.lock()) {
                process = self.take_over(process, &mut overtaken).await;
                continue;
            }
            if process.is_at_work()
                && let Some((side, change)) = self.refused()
            {
                let (name, word) = (side.name(), change.word());
                return Stop::Broken(format!("I10: {word} on {name}, and it started"));
            }
            self.hear();
            if (self.second == self.chaos() && self.needs_a_person()) || self.asks_a_person() {
                return Stop::Died;
            }
            if self.second < self.chaos() {
                self.post(&process, &overtaken);
                if self.readiness.asks(self.second) {
                    let health = process.health().await;
                    let told = self.readiness.told(health.as_ref());
                    let asked = self.wanted.mutant.is_none_or(|it| it == Mutant::AlwaysReady);
                    if let Some(law) = told.err().filter(|_| asked) {
                        return Stop::Broken(law);
                    }
                }
            } else if let Some(stop) = self.rest(&process).await {
                return stop;
            }
            if let Some(law) = self.world.lock().broken.take() {
                return Stop::Broken(law);
            }
        }
    }

    fn post(&mut self, process: &Process, overtaken: &Overtaken) {
        let mut world = self.world.lock();
        if world.dice.one_in(3) {
            let request = self.callers.post(&mut world, self.second);
            let to = overtaken.or(process, &mut world);
            drop(world);
            to.take(request);
        }
    }

    fn hear(&mut self) {
        for Told { number, heard, disturbed } in std::mem::take(&mut *self.answers.lock()) {
            // A question that went wrong by itself says nothing about readiness; a success does.
            let unlucky = disturbed && heard.is_no_verdict();
            if let Some(side) = self.callers.side_of(number).filter(|_| !unlucky) {
                let shape = self.wanted.scene.shape(side);
                self.readiness.hears(side, shape, &heard, self.second);
            }
            self.callers.hear(number, heard);
        }
    }

    /// Nothing fails any more: whether nothing is left to do, or will never be done.
    async fn rest(&mut self, process: &Process) -> Option<Stop> {
        if !self.second.is_multiple_of(3) {
            return None;
        }
        let health = process.health().await;
        let well = health.as_ref().is_some_and(|health| {
            health.undecided == 0
                && health.status.len() >= self.wanted.sides().len()
                && health.status.values().all(|status| status == "ok")
        });
        // Transactions that others sign may land when everything of the Signer's has come to rest.
        let used_up = std::mem::replace(&mut self.used_up, self.world.lock().used_up_on_evm());
        let still = used_up == self.used_up;
        self.quiet = if well && still { self.quiet + 1 } else { 0 };
        self.last_health = health;
        if self.quiet > 3 {
            return Some(Stop::Done);
        }
        // If nobody looks but at a start, nothing may come to rest by the next look.
        let idle = self.wanted.mutant == Some(Mutant::NobodyLooks);
        let late = self.second > self.chaos() + if idle { HEALING / 3 } else { HEALING };
        late.then(|| Stop::Broken(format!("I3: it never comes to rest: {:?}", self.last_health)))
    }

    /// The laws that are asked at the end.
    fn judge(&self) -> Result<(), String> {
        let conn = self.files.rest();
        let mut world = self.world.lock();
        for (at, edge) in laws::edges(&conn) {
            world.note(at, edge, 0);
        }
        if world.log.talkative {
            let charges = world.charges();
            let told = charges.iter().map(|(name, paid)| format!("on chain: {name:?} {paid:?}"));
            world.log.lines.extend(told.chain(disk::claims(&conn)));
        }
        laws::at_the_end(&world, &conn, &self.callers)?;
        let sums = end_checks::sums_are_true(&world, &conn);
        drop(conn);
        if self.wanted.mutant.is_some() {
            // A broken rule that writes into a journal behind the product's back is noticed by the journal's
            // history: no proof.
            return Ok(());
        }
        sums?;
        self.files.close(self.config.journal.file().expect("a simulated journal is a file"))
    }
}
