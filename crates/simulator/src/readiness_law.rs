//! I9: health does not say "ready" while every request hears 503.

use crate::callers::{Heard, Refusal};
use crate::process::Health;
use crate::seed_settings::Shape;
use crate::world::Side;

/// For so long (s) a chain has to be called ready throughout, from the first that heard 503 to the last.
const LONG: u64 = 20;

/// So many requests in that time have to hear 503, and none anything else but what the journal answers alone.
const MANY: u64 = 4;

/// The state that one chain was called, and the answers that its callers heard meanwhile.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// The first of them heard 503 then.
    since: Option<u64>,
    /// And the last one.
    until: u64,
    refused: u64,
}

/// Both chains.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readiness([Stretch; 2]);

impl Readiness {
    /// A process begins: what was said before does not count.
    pub(crate) fn begin(&mut self) {
        *self = Self::default();
    }

    /// Somebody hears something. With look-ups, every request needs two nodes.
    pub(crate) fn hears(&mut self, side: Side, shape: Shape, heard: &Heard, second: u64) {
        let stretch = &mut self.0[side.place()];
        let mut refused = || {
            stretch.since.get_or_insert(second);
            (stretch.until, stretch.refused) = (second, stretch.refused + 1);
        };
        match heard {
            Heard::NothingDone(503) => refused(),
            // Without look-ups, a customer who can be charged is charged on one node's word.
            Heard::TooFew if shape == Shape::Lookup => refused(),
            Heard::TooFew
            | Heard::Disagreed
            | Heard::TooMany
            | Heard::Sent { repeated: true, .. } => {}
            Heard::Refused(list) if list.iter().all(Refusal::is_from_the_journal) => {}
            Heard::Sent { .. } | Heard::Refused(_) | Heard::NothingDone(_) => {
                *stretch = Stretch::default();
            }
        }
    }

    /// Returns true if health is asked in this second: every five seconds, and whenever a caller heard 503, since a
    /// chain can be called closed for less than that.
    pub(crate) fn asks(&self, second: u64) -> bool {
        second.is_multiple_of(5) || self.0.iter().any(|stretch| stretch.until == second)
    }

    /// Records the present health. An error is the law that it breaks.
    pub(crate) fn told(&mut self, health: Option<&Health>) -> Result<(), String> {
        for (side, stretch) in Side::ALL.into_iter().zip(&mut self.0) {
            let id = u64::from(side.platform_id());
            let ready = health
                .is_some_and(|health| health.status.get(&id).is_some_and(|status| status == "ok"));
            if !ready {
                *stretch = Stretch::default();
            }
            let Stretch { since: Some(since), until, refused } = *stretch else { continue };
            if until >= since + LONG && refused >= MANY {
                let (name, length) = (side.name(), until - since);
                return Err(format!(
                    "I9: {name} is called ready for {length} s, and all of {refused} requests heard 503"
                ));
            }
        }
        Ok(())
    }
}
