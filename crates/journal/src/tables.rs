//! The tables beside batches and claims: networks, profiles, pauses, and the notes on lanes.

pub(crate) mod batch_hours;
pub(crate) mod doubts;
pub(crate) mod gas_notes;
pub(crate) mod gate_notes;
pub(crate) mod known_lanes;
pub(crate) mod lane_past;
pub(crate) mod networks;
pub(crate) mod pauses;
pub(crate) mod profiles;
pub(crate) mod renames;
pub(crate) mod scopes;
pub(crate) mod starts;
pub(crate) mod unreconciled;
