//! Configurations that are others from one start to the next.

use crate::Simulation;
use crate::seed_settings::Change;
use crate::setup;
use crate::world::Side;

impl Simulation<'_> {
    /// The configuration may change between two starts. A number that is another, and a chain that is not
    /// there, are mended at the next one.
    pub(crate) fn reconfigure(&mut self) {
        let mut world = self.world.lock();
        let before = self.wanted.changed;
        let mended = |change: Change| change.is_refused() || change == Change::Removed;
        let stays = before.is_some_and(|(_, change)| !mended(change));
        if !stays {
            let first = world.life == 0;
            let now = world.scene.change.filter(|_| !first && world.dice.faults);
            let now = now.filter(|_| before.is_none() && world.dice.one_in(2));
            // A setting that no process has written down yet may have any value.
            let known = |(side, what): &(Side, Change)| {
                !(what.is_refused() || *what == Change::Contract) || self.files.know_number(*side)
            };
            self.wanted.changed = now.filter(known);
        }
        if self.wanted.changed == before {
            return;
        }
        world.changed = self.wanted.changed;
        if let Some((side, change)) = self.wanted.changed {
            world.note(side.name(), change.word(), 0);
        }
        self.config = setup::config(self.towns, &self.files.journal(), &self.wanted);
    }

    /// Returns the change of the configuration, if no start may take it.
    pub(crate) fn refused(&self) -> Option<(Side, Change)> {
        let untold = |change: Change| change == Change::Contract && !self.accepted;
        self.wanted.changed.filter(|(_, change)| change.is_refused() || untold(*change))
    }
}
