//! The space of states: what can happen in each, and the laws.

use super::broken::BrokenRule;
use super::nodes::{Nodes, Pools, Word};
use super::past::Past;
use super::signer::Signer;
use super::world::{Batch, Budget, EndBefore, World};
use crate::process::{GateState, Mark, Mood, QUORUM, Setting, spend};
use crate::subscriptions::{Subscriptions, Wanted};
use crate::transactions::{Ending, Landing};
use billing::BatchState;
use stateright::{Model, Property};
use strum::IntoEnumIterator as _;

/// The states that are reachable within a budget, by rules of which one may be broken.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// The events at most.
    pub budget: Budget,
    /// The requests that callers make.
    pub requests: &'static [Wanted],
    /// The marks beside a journal that is put back.
    pub marks: &'static [Mark],
    /// The words of honest nodes about their pools.
    pub pools: Pools,
    /// The rule that is broken; none in the product.
    pub broken: Option<BrokenRule>,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A caller posts these subscriptions.
    Asked(Wanted),
    /// The newest attempt of this batch, signed just now, is sent.
    Delivered(usize),
    /// The Signer looks at the chain.
    Looked(Look),
    /// A sent transaction lands in the next block.
    Landed(Landing),
    /// The next block is empty.
    Passed,
    /// The next block becomes irrevocable.
    Solidified,
    /// The newest block is undone.
    Undone,
    /// The process ends without warning, and another starts.
    Crashed,
    /// The process closes the journal, and another starts with another setting.
    Reconfigured,
    /// The journal is copied.
    Copied,
    /// The copy is put in the journal's place.
    PutBack(Mark),
}

/// A look: the nodes' words, and what is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    lag: u8,
    word: Word,
    mood: Mood,
}

impl Model for Space {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.budget)]
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        events.extend(self.requests.iter().copied().map(Event::Asked));
        events.extend(world.journal.open().map(Event::Delivered));
        for word in Word::iter() {
            for mood in Mood::iter() {
                events.extend([0, 1].map(|lag| Event::Looked(Look { lag, word, mood })));
            }
        }
        for tx in &world.sent {
            events.extend(Landing::each(*tx).map(Event::Landed));
        }
        events.extend([
            Event::Passed,
            Event::Solidified,
            Event::Undone,
            Event::Crashed,
            Event::Reconfigured,
            Event::Copied,
        ]);
        events.extend(self.marks.iter().copied().map(Event::PutBack));
    }

    fn next_state(&self, before: &World, event: Event) -> Option<World> {
        let mut world = before.clone();
        self.happen(&mut world, event)?;
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        // A broken rule need not leave every state within reach.
        let laws = laws();
        if self.broken.is_some() { laws } else { laws.into_iter().chain(reached()).collect() }
    }
}

/// The laws, of every state.
fn laws() -> Vec<Property<Space>> {
    vec![
        Property::always("nobody is charged twice", |_: &Space, world: &World| {
            Subscriptions::EACH.iter().all(|one| world.times_charged(*one) <= 1)
        }),
        Property::always("an end is what a final block holds", |_: &Space, world: &World| {
            world.journal.batches.iter().all(|batch| ended_truly(world, batch))
        }),
    ]
}

/// The states that some history must reach: laws over an empty world prove nothing.
fn reached() -> Vec<Property<Space>> {
    vec![
        Property::sometimes("all that is asked for is charged", |space: &Space, world: &World| {
            Wanted::union(space.requests).each().all(|one| world.times_charged(one) == 1)
        }),
        Property::sometimes("a batch is charged", |_: &Space, world: &World| {
            world.journal.batches.iter().any(|b| b.state == BatchState::Charged && !b.learnt)
        }),
        Property::sometimes("a batch reverts", |_: &Space, world: &World| {
            world.journal.batches.iter().any(|b| b.state == BatchState::Reverted && !b.learnt)
        }),
        Property::sometimes("a batch dies", |_: &Space, world: &World| {
            world.journal.batches.iter().any(|b| b.state == BatchState::Expired)
        }),
        Property::sometimes("a renewed batch is charged", |_: &Space, world: &World| {
            let renewed = |b: &Batch| b.state == BatchState::Charged && !b.later.is_empty();
            world.journal.batches.iter().any(renewed)
        }),
    ]
}

impl Space {
    fn happen(self, world: &mut World, event: Event) -> Option<()> {
        match event {
            Event::Asked(wanted) => {
                self.signer(world, 0, Word::Honest).bill(wanted.subscriptions())?;
            }
            Event::Delivered(at) => self.signer(world, 0, Word::Honest).deliver(at)?,
            Event::Looked(Look { lag, word, mood }) => self.signer(world, lag, word).look(mood),
            Event::Landed(landing) => {
                let lives = world.tx(landing.tx)?.expires > world.height();
                let can = lives && world.block_of(landing.tx).is_none();
                can.then_some(())?;
                make_block(world, Some(landing))?;
            }
            Event::Passed => make_block(world, None)?,
            Event::Solidified => {
                let more = world.solid < world.height();
                more.then(|| world.solid = world.solid.saturating_add(1))?;
            }
            Event::Undone => {
                (world.solid < world.height()).then_some(())?;
                spend(&mut world.left.reorganisations)?;
                world.blocks.pop()?;
            }
            Event::Crashed => {
                spend(&mut world.left.crashes)?;
                world.begin(EndBefore::Killed, world.now_ms());
            }
            Event::Reconfigured => {
                spend(&mut world.left.changes)?;
                world.setting = Setting::SignsOnce;
                world.begin(EndBefore::Closed, world.now_ms());
            }
            Event::Copied => {
                world.copy.is_none().then_some(())?;
                spend(&mut world.left.copies)?;
                world.copy = Some((world.journal.clone(), world.now_ms()));
            }
            Event::PutBack(mark) => self.put_back(world, mark)?,
        }
        Some(())
    }

    fn put_back(self, world: &mut World, mark: Mark) -> Option<()> {
        let (journal, copied_ms) = world.copy.take()?;
        world.journal = journal;
        world.journal.in_doubt |= mark == Mark::Stays;
        // Its newest row may be older: the later the journal seems to have been left, the less is read.
        world.begin(EndBefore::Killed, copied_ms);
        if self.broken == Some(BrokenRule::OldCopyIsTrusted) {
            (world.journal.in_doubt, world.journal.unreconciled) = (false, None);
            (world.process.past, world.process.gate) = (Past::default(), GateState::Open);
        }
        Some(())
    }

    fn signer(self, world: &mut World, lag: u8, word: Word) -> Signer<'_> {
        let newest_is_solid = self.broken == Some(BrokenRule::NewestIsSolid);
        let quorum = if self.broken == Some(BrokenRule::OneNodeQuorum) { 1 } else { QUORUM };
        Signer {
            world,
            nodes: Nodes { lag, word, newest_is_solid, quorum, pools: self.pools },
            broken: self.broken,
        }
    }
}

fn make_block(world: &mut World, content: Option<Landing>) -> Option<()> {
    spend(&mut world.left.blocks)?;
    world.blocks.push(content);
    world.process.past.forget_when();
    Some(())
}

/// Returns true if a batch is open, or irrevocable blocks hold what its state says.
fn ended_truly(world: &World, batch: &Batch) -> bool {
    let landed = |ending: Ending| {
        world.landed(1..=world.solid).any(|(_, landing)| {
            landing.ending == ending && batch.attempts().any(|a| a == landing.tx)
        })
    };
    let is_dead = |tx| {
        let over = world.tx(tx).is_some_and(|tx| world.solid >= tx.expires);
        over && world.block_of(tx).is_none()
    };
    match batch.state {
        BatchState::Open => true,
        BatchState::Charged => landed(Ending::Succeeded),
        BatchState::Reverted => landed(Ending::Reverted),
        BatchState::Expired => batch.attempts().all(is_dead),
        BatchState::Cancelled | BatchState::Usurped => false,
    }
}
