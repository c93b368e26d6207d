//! The programs `merchant inbox` and `merchant schedule` as processes, killed wherever they can be,
//! against counterparts that speak the real interfaces and remember every offence.

mod besieged;
#[path = "../../../tests/it/world/besiegers.rs"]
mod besiegers;
mod book_keeping;
mod impostor;
mod inbox;
mod lost_state;
mod measure;
mod peers;
mod process;
mod schedule;
mod trace;
