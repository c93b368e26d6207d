//! I9: health does not say "ready" while every request hears 503.

use crate::callers::{Heard, Refusal};
use crate::process::Health;
use crate::world::Side;

/// For so long (s) a chain has to be called ready throughout.
const LONG: u64 = 25;

/// So many requests in that time have to hear 503, and none anything else but what the journal answers alone.
const MANY: u64 = 4;

/// What one chain was called, and what its callers heard meanwhile.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    since: u64,
    refused: u64,
}

/// Both chains.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readiness([Stretch; 2]);

impl Readiness {
    /// A process begins: what was said before does not count.
    pub(crate) fn begin(&mut self, second: u64) {
        self.0 = [Stretch { since: second, refused: 0 }; 2];
    }

    /// Somebody hears something; `lookup` is whether every request there needs two nodes.
    pub(crate) fn hears(&mut self, (side, lookup): (Side, bool), heard: &Heard, second: u64) {
        let stretch = &mut self.0[usize::from(side == Side::Tron)];
        match heard {
            Heard::NothingDone(503) => stretch.refused += 1,
            // Where nothing is looked up, who can be charged is charged on one node's word.
            Heard::Unconfirmed if lookup => stretch.refused += 1,
            Heard::Unconfirmed => {}
            Heard::Sent { repeated: true, .. } => {}
            Heard::Refused(list) if list.iter().all(Refusal::is_from_the_journal) => {}
            Heard::Sent { .. } | Heard::Refused(_) | Heard::NothingDone(_) => {
                *stretch = Stretch { since: second, refused: 0 };
            }
        }
    }

    /// What health says now. An error is the law that it breaks.
    pub(crate) fn told(&mut self, health: Option<&Health>, second: u64) -> Result<(), String> {
        for (side, stretch) in Side::ALL.into_iter().zip(&mut self.0) {
            let id = u64::from(side.platform_id());
            let ready = health
                .is_some_and(|health| health.status.get(&id).is_some_and(|status| status == "ok"));
            if !ready {
                *stretch = Stretch { since: second, refused: 0 };
            } else if second >= stretch.since + LONG && stretch.refused >= MANY {
                return Err(format!(
                    "I9: {} is called ready for {} s, and all of {} requests heard 503",
                    side.name(),
                    second - stretch.since,
                    stretch.refused
                ));
            }
        }
        Ok(())
    }
}
