//! The words in which the journal is asked and answers. They know no database.

mod boot_id;
mod counted;
mod durable;
mod finding;
mod history_event;
mod history_head;
mod instance;
mod lane;
mod network;
mod outcome;
mod past;
mod pause;
mod proposal;
mod record;
mod sealed;
mod settlement;
mod setup;

pub use boot_id::BootId;
pub(crate) use counted::{Added, Corrected, DayAmount};
pub use durable::Durable;
pub use finding::{PersonsWord, Resolved, Unresolved};
pub use history_event::HistoryEvent;
pub use history_head::{HistoryHead, NoHead};
pub use instance::Instance;
pub use lane::{LaneId, Origin};
pub use network::{Binding, Misbound, Network};
pub(crate) use outcome::OutcomeWord;
pub use outcome::{LineOutcome, Resolution};
pub use past::{FailedBilling, Past};
pub use pause::{OtherPause, Pause, Switch};
pub use proposal::{Addition, Proposal};
pub use record::{Billing, Line, Recorded};
pub use sealed::Sealed;
pub use settlement::Settlement;
pub use setup::{Setup, differences};
