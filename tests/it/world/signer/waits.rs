//! Waiting for what a Signer does.

use super::{Signer, hear};
use crate::world::patience::{ASKED_AT_MOST, eventually};
use std::time::Duration;

/// How long the pause is between two questions.
const PAUSE: Duration = Duration::from_millis(25);

/// So often it is asked whether a first look that took too long is over: of a node that never answers, it never is.
const LATE_LOOK: usize = 400;

impl Signer {
    /// Waits until it has written `words`.
    pub(crate) async fn wrote(&self, words: &str) {
        eventually(words, async || self.log().contains(words)).await;
    }

    /// Waits until it says that it is ready. While a standby becomes the one that serves, nobody listens for a moment.
    pub(crate) async fn ready(&self) {
        for _ in 0..ASKED_AT_MOST {
            let asked = self.scheduler.client.get(format!("{}/health/ready", self.scheduler.url));
            if hear(asked).await.is_some_and(|heard| heard.status == 200) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("the Signer is not ready:\n{}", self.log());
    }

    /// Waits until it follows its chain: where a first look takes more than some seconds, as on a machine that has too
    /// much to do, the port opens before.
    pub(crate) async fn after_its_first_look(self) -> Self {
        let late = |log: &str| {
            log.contains("not every chain answered in time")
                && !log.contains("following the chain again")
        };
        for _ in 0..LATE_LOOK {
            if !late(&self.log()) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        self
    }
}
