//! Waiting for what a Signer does.

use super::{Signer, hear};
use crate::world::patience::{ASKED_AT_MOST, eventually};
use serde_json::Value;
use std::time::Duration;

/// The words about a chain at which no look has ended.
const UNSEEN: &str = "its node has not answered yet";

/// How long the pause is between two questions.
const PAUSE: Duration = Duration::from_millis(25);

/// So often it is asked whether a first look that took too long is over: of a node that is held up, it may never be.
const LATE_LOOK: usize = 1_200;

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
        if !self.log().contains("not every chain answered in time") {
            return self;
        }
        for _ in 0..LATE_LOOK {
            if !self.looks_yet().await {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        self
    }

    /// True while a node of any chain has neither answered nor taken too long for one question.
    async fn looks_yet(&self) -> bool {
        let asked = self.scheduler.client.get(format!("{}/health/ready", self.scheduler.url));
        let told = hear(asked).await.map(|heard| heard.body["chains"].clone()).unwrap_or_default();
        let unseen =
            |chain: &Value| chain["status"].as_str().is_some_and(|said| said.contains(UNSEEN));
        told.as_array().into_iter().flatten().any(unseen)
    }
}
