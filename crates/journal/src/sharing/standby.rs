//! A process that waits until the journal on its server is free: one serves at a time, and the others stand by.

use crate::model::Instance;
use crate::sharing::instances::InstanceTable;
use crate::{Journal, OpenError};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The process whose turn it is to serve.
#[derive(Debug)]
pub enum Turn {
    /// This process has the journal.
    Now(Journal),
    /// Another one has.
    Later(Standby),
}

/// A place in the line for the journal. Dropping it leaves the line.
#[derive(Debug)]
pub struct Standby {
    /// The view of the others from this place.
    pub sight: Arc<StandbySight>,
    turn: oneshot::Receiver<Result<Journal, OpenError>>,
}

impl Standby {
    /// The place of a process that hears by `turn` once it has the journal.
    pub fn new(
        sight: Arc<StandbySight>,
        turn: oneshot::Receiver<Result<Journal, OpenError>>,
    ) -> Self {
        Self { sight, turn }
    }

    /// Waits for the turn, however long that takes.
    pub async fn turn(&mut self) -> Result<Journal, OpenError> {
        let ended = |_| Err(OpenError::Unsuitable("the thread that stood by has ended".to_owned()));
        (&mut self.turn).await.unwrap_or_else(ended)
    }
}

/// The view that a standby has of the others.
#[derive(Debug)]
pub struct StandbySight {
    /// The processes that are there.
    pub roll: InstanceTable,
    /// Why the server cannot be used now.
    pub trouble: Mutex<Option<String>>,
    /// Why this process must not take over.
    pub misbound: Mutex<Option<String>>,
    /// The place that the serving process's webhook has reached.
    pub webhook: Mutex<Option<String>>,
    /// Why this process could bill on no chain.
    pub unfit: Mutex<Option<String>>,
}

impl Default for StandbySight {
    /// Nobody is counted on who has not looked yet.
    fn default() -> Self {
        let unfit = Mutex::new(Some("its chains were not looked at yet".to_owned()));
        let (roll, trouble, misbound, webhook) = Default::default();
        Self { roll, trouble, misbound, webhook, unfit }
    }
}

impl StandbySight {
    /// Tells the others whether this process could bill if it had the journal, or why not.
    pub fn note_fitness(&self, unfit: Option<String>) {
        *self.unfit.lock() = unfit;
    }

    /// Returns the processes that are there.
    pub fn instances(&self) -> Vec<Instance> {
        self.roll.all()
    }

    /// Returns true if this process could take the journal over now, and bill with it.
    pub fn could_take_over(&self) -> bool {
        let hindrances = [&self.trouble, &self.misbound, &self.unfit];
        hindrances.iter().all(|hindrance| hindrance.lock().is_none())
    }

    /// Returns the place that the serving process's webhook has reached, as far as it is known.
    pub fn webhook(&self) -> Option<String> {
        self.webhook.lock().clone()
    }

    /// Why nothing is signed here.
    pub fn sentence(&self) -> String {
        if let Some(trouble) = self.trouble.lock().as_ref() {
            return format!("standing by, and could not take over now: {trouble}");
        }
        if let Some(misbound) = self.misbound.lock().as_ref() {
            return format!("standing by, and will not take over: {misbound}");
        }
        let said = self.who_serves();
        match self.unfit.lock().as_ref() {
            Some(unfit) => format!("{said}; this one could bill nothing now: {unfit}"),
            None => said,
        }
    }

    fn who_serves(&self) -> String {
        let serves = self.instances().into_iter().find(|instance| instance.serves);
        match serves {
            Some(Instance { name, start, silent, .. }) if silent.as_secs() > 2 => {
                let silent = silent.as_secs();
                format!(
                    "standing by: {name} ({start}) serves, and was last heard of {silent} s ago"
                )
            }
            Some(Instance { name, start, .. }) => format!("standing by: {name} ({start}) serves"),
            None => "standing by: another process holds the journal".to_owned(),
        }
    }
}
