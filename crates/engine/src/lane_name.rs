//! The names of a lane in log lines.

/// The names of a lane in log lines.
#[derive(Clone, Debug)]
pub(super) struct LaneName {
    /// The name of the chain.
    pub(super) chain: String,
    /// The account, as its chain spells it.
    pub(super) account: String,
}
