//! The simulator: the product's own engine and journal in a world where everything goes wrong, from
//! one seed and therefore again.
//!
//! What runs is the service itself: `engine::bill`, `Lane` and `Watcher` as they are, the journal's
//! statements on the real schema, `billing`'s decisions, the error table, `conclude`, bids. What is
//! simulated stands outside of it: callers, disk, three nodes of which one may lie, the chain, and a
//! contract that enforces nothing. Time is a counter; nothing runs beside anything else.
//!
//! One seed is some steps of chaos, and then steps in which nothing fails any more, at whose end the
//! laws are asked. `mutants` breaks rules on purpose: laws that notice none of it prove nothing.

mod adapter;
mod chain;
mod clients;
mod disk;
mod faults;
mod laws;
mod messages;
mod misjudged;
mod mutants;
mod nodes;
mod report;
mod service;
mod testimony;
#[cfg(test)]
mod tests;
mod words;

use adapter::Shared;
use clients::Clients;
use disk::Disk;
use mutants::Mutant;
use nodes::World;
use parking_lot::Mutex;
use report::Log;
use service::Process;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// Steps in which everything may go wrong. One step is a second.
const CHAOS: u64 = 140;

/// Steps in which nothing goes wrong any more, at most.
const HEALING: u64 = 400;

thread_local! {
    /// The time of the simulated machine, Unix ms. Each thread of the tests simulates one.
    static NOW_MS: Cell<i64> = const { Cell::new(0) };
}

fn simulated_ms() -> i64 {
    NOW_MS.get()
}

/// What one seed came to.
#[derive(Debug)]
struct Outcome {
    /// The law that was broken, if one was.
    broken: Option<String>,
    log: Log,
}

/// Everything of one seed.
struct Simulation<'a> {
    world: Shared,
    disk: &'a mut Disk,
    clients: Clients,
    process: Option<Process>,
    /// When the next process starts.
    starts_at: u64,
}

/// Plays one seed. The disk is wiped first.
fn play(seed: u64, mutant: Option<Mutant>, disk: &mut Disk) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    disk.wipe(mutant);
    let world = Arc::new(Mutex::new(World::new(seed, mutant)));
    let (process, clients) = (None, Clients::default());
    let mut simulation =
        Simulation { world: Arc::clone(&world), disk, clients, process, starts_at: 0 };
    // Everything is polled by hand, within one task: a task's budget would run out.
    let broken = runtime.block_on(tokio::task::unconstrained(simulation.run())).err();
    simulation.process = None;
    drop(simulation);
    NOW_MS.set(0);
    let log = std::mem::take(&mut world.lock().log);
    Outcome { broken, log }
}

impl Simulation<'_> {
    async fn run(&mut self) -> Result<(), String> {
        for _ in 0..CHAOS {
            self.step(true).await?;
        }
        self.world.lock().heal();
        let mut quiet = 0;
        for _ in 0..HEALING {
            self.step(false).await?;
            quiet = if self.is_quiet() { quiet + 1 } else { 0 };
            if quiet > 12 {
                break;
            }
        }
        let open = self.process.as_ref().is_some_and(Process::is_open);
        let mut world = self.world.lock();
        for edge in laws::edges(self.disk) {
            world.note(edge, 0, 0);
        }
        let lane = self.process.as_ref().map(|process| &process.lane);
        let stands = || format!("; {:?}", lane.map(|lane| (lane.gate(), lane.trouble())));
        laws::at_the_end(&world, self.disk, &self.clients).map_err(|law| law + &stands())?;
        if open { Ok(()) } else { Err(format!("I3: the lane does not open again{}", stands())) }
    }

    /// Whether nothing is left to do.
    fn is_quiet(&self) -> bool {
        let idle = self.process.as_ref().is_some_and(|process| {
            process.is_open() && process.lane.undecided() == 0 && process.has_no_requests()
        });
        idle && laws::stands_where_the_account_stands(&self.world.lock(), self.disk).is_ok()
    }

    /// One second.
    async fn step(&mut self, chaos: bool) -> Result<(), String> {
        let (now, turns) = self.begin_step(chaos);
        self.start_if_due(now);
        if chaos {
            self.post();
        }
        for _ in 0..turns {
            self.turn()?;
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let broken = self.world.lock().broken.take();
        broken.map_or(Ok(()), Err)
    }

    /// The world moves on. Tells the step, and how much the process gets done in it.
    fn begin_step(&mut self, chaos: bool) -> (u64, u64) {
        let mut world = self.world.lock();
        world.log.step += 1;
        world.turn();
        NOW_MS.set(i64::try_from(world.now() * 1000).unwrap());
        let back_up = chaos && world.dice.one_in(30);
        let turns = if chaos { 1 + world.dice.below(14) } else { 24 };
        let (step, due) = (world.log.step, world.log.step.is_multiple_of(2));
        drop(world);
        if back_up {
            self.disk.back_up();
        }
        if let Some(process) = self.process.as_mut().filter(|_| due) {
            process.begin_look();
        }
        (step, turns)
    }

    fn start_if_due(&mut self, now: u64) {
        if self.process.is_none() && now >= self.starts_at {
            self.process = Some(Process::start(&self.world, self.disk));
        }
    }

    fn post(&mut self) {
        let mut world = self.world.lock();
        if !world.dice.one_in(4) {
            return;
        }
        let request = self.clients.post(&mut world);
        let ignored = world.breaks(Mutant::NoClaimKey) && self.clients.known(&request.lines);
        drop(world);
        if let Some(process) = self.process.as_mut().filter(|_| !ignored) {
            process.take(&request);
        }
    }

    /// Lets the process do a little.
    fn turn(&mut self) -> Result<(), String> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let turn = process.turn(&self.world, self.disk);
        for (number, answer) in turn.answers {
            let request = self.clients.hear(number, answer);
            laws::of_an_answer(request, self.disk)?;
            let mut world = self.world.lock();
            if let Some(heard) = &request.heard {
                world.note(clients::word(heard), number, 0);
                if let clients::Heard::Sent { hash, .. } = heard {
                    world.answered.push(*hash);
                }
            }
        }
        if turn.died {
            self.process = None;
            let mut world = self.world.lock();
            world.signed.clear();
            let (step, pause) = (world.log.step, 1 + world.dice.below(12));
            self.starts_at = step + pause;
            world.note("died", pause, 0);
        }
        Ok(())
    }
}
