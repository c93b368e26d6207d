//! The space of states: what can happen in each, and the laws.

use super::broken::BrokenRule;
use super::signer::Signer;
use super::testimony::{Nodes, Pools, Word};
use super::world::{Batch, Budget, Kind, Used, World};
use crate::process::{GateState, Mark, Mood, Setting, spend};
use crate::subscriptions::{Subscriptions, Wanted};
use crate::transactions::{Ending, Landing, TxId};
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
    /// The newest attempt of this batch is offered.
    Delivered(usize),
    /// The Signer looks at the chain.
    Looked(Look),
    /// A sent transaction lands.
    Landed(Landing),
    /// The next block becomes final.
    Finalized,
    /// The newest block is undone.
    Undone,
    /// An authorization uses the next nonce up.
    UsedUp,
    /// The process ends without warning, and another starts.
    Crashed,
    /// The process ends, and another starts with another setting.
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
            Event::Finalized,
            Event::Undone,
            Event::UsedUp,
            Event::Crashed,
            Event::Reconfigured,
            Event::Copied,
            Event::PutBack(Mark::Stays),
            Event::PutBack(Mark::PutBackToo),
        ]);
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
        Property::sometimes("a batch is given up", |_: &Space, world: &World| {
            world.journal.batches.iter().any(|b| b.state == BatchState::Cancelled)
        }),
    ]
}

impl Space {
    fn happen(self, world: &mut World, event: Event) -> Option<()> {
        match event {
            Event::Asked(wanted) => {
                let wanted = wanted.subscriptions();
                self.signer(world, 0, Word::Honest).bill(wanted)?;
            }
            Event::Delivered(at) => self.signer(world, 0, Word::Honest).deliver(at)?,
            Event::Looked(Look { lag, word, mood }) => self.signer(world, lag, word).look(mood),
            Event::Landed(Landing { tx, ending }) => {
                let landing = *world.tx(tx)?;
                let can = landing.nonce == world.height();
                can.then(|| world.blocks.push(Used::By { tx, ending }))?;
            }
            Event::Finalized => {
                let more = world.final_blocks < world.height();
                more.then(|| world.final_blocks = world.final_blocks.saturating_add(1))?;
            }
            Event::Undone => {
                (world.final_blocks < world.height()).then_some(())?;
                spend(&mut world.left.reorganisations)?;
                world.blocks.pop()?;
            }
            Event::UsedUp => {
                spend(&mut world.left.authorizations)?;
                world.blocks.push(Used::UpByNone);
            }
            Event::Crashed => {
                spend(&mut world.left.crashes)?;
                world.gate = GateState::Opening;
                world.journal.begin();
            }
            Event::Reconfigured => {
                spend(&mut world.left.changes)?;
                (world.gate, world.setting) = (GateState::Opening, Setting::SignsOnce);
                world.journal.begin();
            }
            Event::Copied => {
                world.copy.is_none().then_some(())?;
                spend(&mut world.left.copies)?;
                world.copy = Some(world.journal.clone());
            }
            Event::PutBack(mark) => self.put_back(world, mark)?,
        }
        Some(())
    }

    fn put_back(self, world: &mut World, mark: Mark) -> Option<()> {
        world.journal = world.copy.take()?;
        world.journal.begin();
        world.gate = GateState::Opening;
        world.journal.in_doubt |= mark == Mark::Stays;
        if self.broken == Some(BrokenRule::OldCopyIsTrusted) {
            world.journal.next = world.journal.next.max(world.height());
            (world.journal.in_doubt, world.gate) = (false, GateState::Open);
        }
        Some(())
    }

    fn signer(self, world: &mut World, lag: u8, word: Word) -> Signer<'_> {
        let newest_is_final = self.broken == Some(BrokenRule::NewestIsFinal);
        Signer {
            world,
            nodes: Nodes { lag, word, newest_is_final, pools: self.pools },
            broken: self.broken,
        }
    }
}

/// Returns true if a batch is open, or final blocks hold what its state says.
fn ended_truly(world: &World, batch: &Batch) -> bool {
    let used = world.blocks.get(usize::from(batch.position));
    let used = used.filter(|_| batch.position < world.final_blocks);
    let ours = |tx: &TxId| batch.has(*tx);
    let bills = |tx: &TxId| world.tx(*tx).is_some_and(|tx| tx.kind == Kind::Bill);
    match (batch.state, used) {
        (BatchState::Open, _) | (BatchState::Usurped, Some(Used::UpByNone)) => true,
        (BatchState::Charged, Some(Used::By { tx, ending: Ending::Succeeded }))
        | (BatchState::Reverted, Some(Used::By { tx, ending: Ending::Reverted })) => {
            ours(tx) && bills(tx)
        }
        (BatchState::Cancelled, Some(Used::By { tx, .. })) => ours(tx) && !bills(tx),
        (BatchState::Usurped, Some(Used::By { tx, .. })) => !ours(tx),
        _ => false,
    }
}
