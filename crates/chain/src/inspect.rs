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

/// Returns on whose word claims are released. Witnesses are of other providers than the nodes.
pub(super) fn trust(nodes: &dyn NodeGroup, witnesses: &[NodeView]) -> Trust {
    let trust = nodes.trust();
    if trust == Trust::Alone && !witnesses.is_empty() { Trust::Witnessed } else { trust }
}

/// Every node and every witness, and on whose word claims are released. A node on another chain is something to mend,
/// one that is silent now is not.
pub(super) fn nodes_found(nodes: &dyn NodeGroup, witnesses: &[NodeView]) -> Vec<Finding> {
    let trust = trust(nodes, witnesses);
    let sentence = trust.sentence();
    let trust = match trust {
        Trust::Alone => Finding::warning(
            "trust",
            format!("{sentence}; configure three providers to rely on none"),
        ),
        Trust::Witnessed | Trust::Two => Finding::fine("trust", sentence),
    };
    let views = nodes.views();
    let repeated = repetitions(nodes).into_iter().map(|said| Finding::warning("providers", said));
    let nodes = views.iter().map(|node| found("node", node));
    let witnesses = witnesses.iter().map(|node| found("witness", node));
    nodes.chain(witnesses).chain([trust]).chain(repeated).collect()
}

fn found(what: &'static str, node: &NodeView) -> Finding {
    let use_of_it = if node.send_only { ", only sent to" } else { "" };
    let reproach = node.reproach.as_ref().map(|said| format!("; {said}")).unwrap_or_default();
    let said = format!("{}: {}{use_of_it}{reproach}", node.label, node.state.word());
    match node.state {
        State::WrongChain => Finding::fault(what, said),
        State::Unverified | State::Alive if reproach.is_empty() => Finding::fine(what, said),
        State::Unverified | State::Alive => Finding::warning(what, said),
        State::Silent | State::OutOfSync | State::Busy | State::Quarantined => {
            Finding::warning(what, said)
        }
    }
}

/// Says at the start on whose word claims are released, where that is less than it may seem.
pub(super) fn tell_trust(facts: &Facts, nodes: &dyn NodeGroup, witnesses: &[NodeView]) {
    let chain = &facts.name;
    for said in repetitions(nodes) {
        warn!(chain, "{said}");
    }
    match trust(nodes, witnesses) {
        Trust::Alone => warn!(
            chain,
            "{}; configure three providers to rely on no single one",
            Trust::Alone.sentence()
        ),
        Trust::Witnessed | Trust::Two => {}
    }
}

/// One sentence for each provider that is configured under several URLs.
fn repetitions(nodes: &dyn NodeGroup) -> Vec<String> {
    let said = |(provider, nodes): (String, Vec<String>)| {
        format!("{} are one provider ({provider}): together they count once", nodes.join(" and "))
    };
    nodes.repeated_providers().into_iter().map(said).collect()
}
