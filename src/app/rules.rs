//! The rules for open batches, from a chain's configuration.

use billing::{Again, Protection, Rules};
use config::{FamilyConfig, Replacement};
use std::time::Duration;

/// The rules by which open batches are treated.
pub(super) fn rules(family: &FamilyConfig) -> Rules {
    match family {
        FamilyConfig::Evm(evm) => {
            let again = match evm.replacement {
                Replacement::Off => Again::OnlyCancel,
                Replacement::On { after, most, give_up_after } => Again::Replace {
                    after_ms: millis(after),
                    most,
                    cancel_after_ms: give_up_after.map(millis),
                },
            };
            let offer_again_ms = millis(evm.rebroadcast_interval);
            Rules { offer_again_ms, again, protection: Protection::Nonce }
        }
        FamilyConfig::Tvm(tvm) => {
            let within_ms = millis(tvm.retry_within);
            let again = Again::Renew { most: tvm.max_attempts, within_ms };
            let offer_again_ms = millis(tvm.rebroadcast_interval);
            Rules { offer_again_ms, again, protection: Protection::Free }
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
