//! The findings that `check` asks of a chain before the first request.

use super::Facts;
use ::node::{NodeGroup, NodeView, State, Trust};
use tracing::warn;

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Nothing in the way.
    Fine,
    /// Billing works, and a person should know what may come of it.
    Warning,
    /// Billing cannot work like this.
    Fault,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The subject of the finding.
    pub what: &'static str,
    /// The weight of a finding.
    pub weight: Weight,
    /// The finding in words.
    pub message: String,
}

/// Subjects whose findings are dangerous only on a chain with money on it.
const OF_MONEY: [&str; 4] = ["trust", "providers", "policy", "in the clear"];

impl Finding {
    /// Nothing in the way.
    pub fn fine(what: &'static str, message: impl Into<String>) -> Self {
        Self { what, weight: Weight::Fine, message: message.into() }
    }

    /// Something that is dangerous, or soon will be.
    pub fn warning(what: &'static str, message: impl Into<String>) -> Self {
        Self { what, weight: Weight::Warning, message: message.into() }
    }

    /// Something to mend.
    pub fn fault(what: &'static str, message: impl Into<String>) -> Self {
        Self { what, weight: Weight::Fault, message: message.into() }
    }

    /// Returns the finding as it weighs on a chain without money: harmless if only money makes it dangerous.
    #[must_use]
    pub fn without_money(self) -> Self {
        let harmless = self.weight == Weight::Warning && OF_MONEY.contains(&self.what);
        if harmless { Self::fine(self.what, self.message) } else { self }
    }
}

/// Every node, and on whose word claims are released. A node on another chain is something to mend,
/// one that is silent now is not.
pub(super) fn nodes_found(nodes: &dyn NodeGroup) -> Vec<Finding> {
    let node = |node: NodeView| {
        let use_of_it = if node.send_only { ", only sent to" } else { "" };
        let said = format!("{}: {}{use_of_it}", node.label, node.state.word());
        match node.state {
            State::WrongChain => Finding::fault("node", said),
            State::Unverified | State::Alive => Finding::fine("node", said),
            State::Silent | State::OutOfSync | State::Busy | State::Quarantined => {
                Finding::warning("node", said)
            }
        }
    };
    let sentence = nodes.trust().sentence();
    let trust = match nodes.trust() {
        Trust::Alone => Finding::warning(
            "trust",
            format!("{sentence}; configure three providers to rely on none"),
        ),
        Trust::Two => Finding::fine("trust", sentence),
    };
    let repeated = repetitions(nodes).into_iter().map(|said| Finding::warning("providers", said));
    nodes.views().into_iter().map(node).chain([trust]).chain(repeated).collect()
}

/// Says at the start on whose word claims are released, where that is less than it may seem.
pub(super) fn tell_trust(facts: &Facts, nodes: &dyn NodeGroup) {
    let chain = &facts.name;
    for said in repetitions(nodes) {
        warn!(chain, "{said}");
    }
    match nodes.trust() {
        Trust::Alone => warn!(
            chain,
            "{}; configure three providers to rely on no single one",
            Trust::Alone.sentence()
        ),
        Trust::Two => {}
    }
}

/// One sentence for each provider that is configured under several URLs.
fn repetitions(nodes: &dyn NodeGroup) -> Vec<String> {
    let said = |(provider, nodes): (String, Vec<String>)| {
        format!("{} are one provider ({provider}): together they count once", nodes.join(" and "))
    };
    nodes.repeated_providers().into_iter().map(said).collect()
}
