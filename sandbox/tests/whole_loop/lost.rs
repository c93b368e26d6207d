//! The states of scheduler and inbox are lost, or older copies are put in their place: everybody pays once a month,
//! and the books agree again.

use super::PATIENCE;
use super::cast::Part;
use super::director::Director;
use super::world::{LOOK, World};
use std::time::Instant;

/// What happens between two months, to the state of whom.
#[derive(Clone, Copy, Debug)]
enum Misfortune {
    Lost(Part),
    /// The copy is from before the last billing.
    OlderCopy(Part),
    /// Another machine goes on with a state of its own: none at first, and later the one that it had then.
    OtherMachine(Part),
}

/// Those of the inbox come last: callbacks that it forgets are missed in the books from then on, and that is told.
const MISFORTUNES: [Misfortune; 7] = [
    Misfortune::OlderCopy(Part::Scheduler),
    Misfortune::OtherMachine(Part::Scheduler),
    Misfortune::Lost(Part::Scheduler),
    Misfortune::OtherMachine(Part::Scheduler),
    Misfortune::Lost(Part::Inbox),
    Misfortune::OlderCopy(Part::Inbox),
    Misfortune::OtherMachine(Part::Inbox),
];

/// What the files of its state begin with.
fn state(part: Part) -> &'static str {
    match part {
        Part::Scheduler => "schedule",
        Part::Inbox => "inbox",
        Part::Platform | Part::Signer => panic!("{part:?} has another kind of state"),
    }
}

impl Misfortune {
    fn of(self) -> Part {
        match self {
            Self::Lost(part) | Self::OlderCopy(part) | Self::OtherMachine(part) => part,
        }
    }
}

impl World {
    fn befall(&self, misfortune: Misfortune) {
        let (Misfortune::Lost(part) | Misfortune::OlderCopy(part) | Misfortune::OtherMachine(part)) =
            misfortune;
        let name = state(part);
        self.cast.end(part);
        match misfortune {
            Misfortune::Lost(_) => self.place.lose(name),
            Misfortune::OlderCopy(_) => self.place.put_back(name, "before"),
            Misfortune::OtherMachine(_) => {
                let other = format!("other {name}");
                self.place.keep(name, "here");
                self.place.put_back(name, &other);
                self.place.keep_as("here", &other);
            }
        }
        self.cast.start(part);
    }

    /// Keeps copies of both states as they are before a month is billed.
    fn copy(&self) {
        for part in [Part::Scheduler, Part::Inbox] {
            self.cast.end(part);
            self.place.keep(state(part), "before");
            self.cast.start(part);
        }
    }

    /// Runs the scheduler until nothing is left to do, and with a whole inbox nothing differs.
    async fn settle(&self, inbox_is_whole: bool) {
        self.cast.end(Part::Scheduler);
        let began = Instant::now();
        loop {
            let line = self.cast.run_once();
            let is_done =
                line.contains(" 0 accepted, 0 declined, 0 without a verdict; 0 transactions open");
            if is_done && (!inbox_is_whole || line.contains(" 0 differences\n")) {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "the books differ: {line}");
            tokio::time::sleep(LOOK).await;
        }
        self.cast.start(Part::Scheduler);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn states_are_lost_and_put_back_and_everybody_pays_every_month() {
    let world = World::new(Director::new(0, 0, 0), 3).await;
    let mut period = 1;
    world.everybody_pays(period, PATIENCE).await;
    let mut inbox_is_whole = true;
    for misfortune in MISFORTUNES {
        world.rest().await;
        world.settle(inbox_is_whole).await;
        world.befall(misfortune);
        println!("{misfortune:?} after period {period}");
        inbox_is_whole &= misfortune.of() == Part::Scheduler;
        world.copy();
        world.month().await;
        period += 1;
        world.everybody_pays(period, PATIENCE).await;
    }
    world.rest().await;
    world.settle(inbox_is_whole).await;
    world.compare_income(period).await;
}
