//! The proof of final blocks by those who make the chain, where one is configured: by Ethereum's sync committees or by the
//! validators of BNB Smart Chain.

use crate::committees::{self, Committees};
use crate::progress::{Progress, ProvenFinal};
use crate::proven_blocks::{NotBelow, ProvenBlocks};
use crate::seals::{self, Seals};
use crate::witnesses::{Need, NewestFinal};
use ::node::{Fleet, JsonRpc, NodeView, State as NodeState};
use evm_proofs::block_id::BlockId;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::Mutex as Turn;
use tracing::error;

/// The proof of final blocks.
#[derive(Debug)]
pub(crate) struct FinalityProof {
    by: By,
    fleet: Arc<Fleet<JsonRpc>>,
    /// The blocks below the newest one that is proven.
    below: Turn<ProvenBlocks>,
    finding: Mutex<Finding>,
}

/// Those who prove.
#[derive(Debug)]
pub(crate) enum By {
    /// Sync committees sign final blocks.
    Committees(Box<Committees>),
    /// Validators seal on top of final blocks.
    Seals(Box<Seals>),
}

#[derive(Debug, Default)]
struct Finding {
    newest: Option<ProvenFinal>,
    /// Why the last block in question is not proven.
    objection: Option<NotProven>,
}

/// Why a block is not proven final.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum NotProven {
    #[error(transparent)]
    Committees(committees::NotProven),
    #[error(transparent)]
    Seals(seals::NotProven),
    /// The newest block that is proven does not stand on the block.
    #[error(transparent)]
    Below(NotBelow),
}

impl Finding {
    /// Returns the use that may be made of those who prove.
    fn state(&self) -> NodeState {
        let silent = committees::NotProven::is_silence;
        match (self.newest, &self.objection) {
            (_, Some(NotProven::Committees(why))) if silent(why) => NodeState::Silent,
            (None, _) => NodeState::Unverified,
            // An old proof is no sign of life while newer blocks are not proven.
            (Some(_), Some(NotProven::Committees(_) | NotProven::Seals(_))) => NodeState::Silent,
            (Some(_), None | Some(NotProven::Below(_))) => NodeState::Alive,
        }
    }
}

impl FinalityProof {
    /// Nothing was asked yet. The headers between come from the nodes of `fleet`.
    pub(crate) fn of(fleet: Arc<Fleet<JsonRpc>>, by: By) -> Self {
        Self { by, fleet, below: Turn::default(), finding: Mutex::default() }
    }

    /// Returns true if the block, by which something is to be decided, is proven final. No newer block is proven for it:
    /// [`Self::ask_for_newest`] does that, and nothing is called final above the newest one.
    pub(crate) async fn bears_out(&self, block: BlockId) -> bool {
        let objection = self.judge(block).await.err();
        let before = std::mem::replace(&mut self.finding.lock().objection, objection.clone());
        if let Some(why @ NotProven::Below(NotBelow::Another { .. })) = &objection
            && before.as_ref() != Some(why)
        {
            error!("nothing is decided by a block: {why}");
        }
        objection.is_none()
    }

    /// The same of a block by which nothing is decided.
    pub(crate) async fn has_proven(&self, block: BlockId) -> bool {
        self.judge(block).await.is_ok()
    }

    async fn judge(&self, block: BlockId) -> Result<(), NotProven> {
        let newest = {
            let finding = self.finding.lock();
            let early = NotBelow::Early { number: block.number, newest: 0 };
            let none = || finding.objection.clone().unwrap_or(NotProven::Below(early));
            finding.newest.ok_or_else(none)?.block
        };
        let mut below = self.below.lock().await;
        below.judge(&self.fleet, newest, block).await.map_err(NotProven::Below)
    }

    /// Goes on to prove a newer block, while nodes call `told` final, if that is due.
    pub(crate) async fn ask_for_newest(&self, told: u64, need: Need) {
        let known = self.finding.lock().newest.map(|newest| newest.block.number);
        if known.is_some_and(|known| known >= told) {
            return;
        }
        let progress = match &self.by {
            By::Committees(committees) => committees.go_on().await.map_err(NotProven::Committees),
            By::Seals(seals) => seals.go_on(told, need).await.map_err(NotProven::Seals),
        };
        let mut finding = self.finding.lock();
        match progress {
            Ok(Progress::NotDue) => return,
            Ok(Progress::Proven(newest)) => finding.newest = Some(newest),
            // A run that goes on is an objection only while nothing is proven at all.
            Err(NotProven::Seals(seals::NotProven::Short { .. })) if finding.newest.is_some() => {}
            Err(why) => {
                finding.objection = Some(why);
                return;
            }
        }
        // Answers came. The next look at a block tells anew why that is not proven.
        if !matches!(finding.objection, Some(NotProven::Below(_))) {
            finding.objection = None;
        }
    }

    /// Returns the newest block that is proven final; block 0 before one is.
    pub(crate) fn newest(&self) -> NewestFinal {
        let newest = self.finding.lock().newest;
        newest.map_or_else(NewestFinal::default, |ProvenFinal { block, time }| NewestFinal {
            number: block.number,
            time,
        })
    }

    /// Returns the proof as people see it: beside the witnesses.
    pub(crate) fn view(&self) -> NodeView {
        let finding = self.finding.lock();
        let (label, provider, old_pin) = match &self.by {
            By::Committees(by) => {
                (format!("beacon {}", by.host()), "sync committees", by.old_pin())
            }
            By::Seals(by) => ("seals of validators".to_owned(), "validators", by.old_pin()),
        };
        NodeView {
            label,
            provider: provider.to_owned(),
            state: finding.state(),
            head: finding.newest.map(|newest| newest.block.number),
            send_only: false,
            reproach: old_pin.map(ToString::to_string),
        }
    }

    /// Returns why the last block that was to decide something is not proven; none if it is.
    pub(crate) fn objection(&self) -> Option<String> {
        self.finding.lock().objection.as_ref().map(ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::B256;

    const PROVEN: ProvenFinal =
        ProvenFinal { block: BlockId { number: 90, hash: B256::repeat_byte(9) }, time: 7 };

    #[test]
    fn a_proof_that_stops_is_silent_however_many_blocks_it_has_proven() {
        let unheard = committees::NotProven::Silent { question: "update", why: "gone".to_owned() };
        let ahead = NotProven::Committees(committees::NotProven::Future);
        let unsealed = seals::NotProven::Overdue { number: 99, sealers: 1, needed: 15, blocks: 64 };
        let early = NotProven::Below(NotBelow::Early { number: 99, newest: 90 });
        let cases = [
            (None, NodeState::Unverified, NodeState::Alive),
            (Some(early), NodeState::Unverified, NodeState::Alive),
            (Some(NotProven::Committees(unheard)), NodeState::Silent, NodeState::Silent),
            (Some(ahead), NodeState::Unverified, NodeState::Silent),
            (Some(NotProven::Seals(unsealed)), NodeState::Unverified, NodeState::Silent),
        ];
        for (objection, before, after) in cases {
            let found = [None, Some(PROVEN)].map(|newest| {
                let objection = objection.clone();
                Finding { newest, objection }.state()
            });
            assert_eq!(found, [before, after], "{objection:?}");
        }
    }
}
