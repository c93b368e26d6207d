//! The metrics of each node: the uses it is fit for, and the results of its questions; and of witnesses, that they answer.

use super::chains::{ChainNow, of_chain, whole};
use super::scrape::{Labels, Samples, Scrape};
use billing::PlatformChainId;
use node::{NodeTraffic, NodeView, State};
use strum::IntoEnumIterator;

/// One node at one moment.
struct NodeNow {
    chain: PlatformChainId,
    view: NodeView,
    traffic: NodeTraffic,
}

impl NodeNow {
    fn labels(&self) -> Labels<2> {
        [of_chain(self.chain), ("node", self.view.label.clone())]
    }

    fn with(&self, name: &'static str, value: &str) -> Labels<3> {
        let [chain, node] = self.labels();
        [chain, node, (name, value.to_owned())]
    }
}

/// Tells everything of nodes.
pub(super) fn tell(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    let of_chain = |chain: &ChainNow<'_>| {
        let (id, adapter) = (chain.id, &chain.lane.chain);
        let pairs = adapter.nodes().into_iter().zip(adapter.traffic());
        pairs.map(move |(view, traffic)| NodeNow { chain: id, view, traffic }).collect::<Vec<_>>()
    };
    let nodes: Vec<NodeNow> = chains.iter().flat_map(of_chain).collect();
    scrape.gauges(
        ("node_up", "1 while a node is used: it answers, keeps up, and was not caught lying"),
        nodes.iter().map(|n| (n.labels(), i64::from(n.view.state == State::Alive))).collect(),
    );
    let states = |node: &NodeNow| {
        State::iter()
            .map(|state| (node.with("state", state.word()), i64::from(node.view.state == state)))
            .collect::<Vec<_>>()
    };
    scrape.gauges(
        ("node_state", "1 for the state that a node is in"),
        nodes.iter().flat_map(states).collect(),
    );
    scrape.gauges(
        ("node_head", "Number of the newest block that a node told of"),
        nodes.iter().filter_map(|n| Some((n.labels(), whole(n.view.head?)))).collect(),
    );
    scrape.gauges(
        (
            "node_requests_left",
            "Requests that a node's provider may still get at once, of those of a day",
        ),
        nodes.iter().filter_map(|n| Some((n.labels(), whole(n.traffic.left?)))).collect(),
    );
    tell_traffic(scrape, &nodes);
    tell_witnesses(scrape, chains);
}

fn tell_witnesses(scrape: &mut Scrape, chains: &[ChainNow<'_>]) {
    let of = |chain: &ChainNow<'_>| {
        let chain_label = of_chain(chain.id);
        let up = |witness: NodeView| {
            let labels = [chain_label.clone(), ("witness", witness.label)];
            (labels, i64::from(witness.state == State::Alive))
        };
        chain.lane.chain.witnesses().into_iter().map(up).collect::<Vec<_>>()
    };
    scrape.gauges(
        ("witness_up", "1 while a witness, or a proof of final blocks, tells which are final"),
        chains.iter().flat_map(of).collect(),
    );
}

fn tell_traffic(scrape: &mut Scrape, nodes: &[NodeNow]) {
    let (mut answers, mut errors): (Samples<3, _>, Samples<3, u64>) = (Vec::new(), Vec::new());
    for node in nodes {
        for (method, traffic) in &node.traffic.methods {
            answers.push((node.with("method", method), traffic.answers.clone()));
            errors.push((node.with("method", method), traffic.unanswered));
        }
    }
    scrape.durations(("node_answer_seconds", "How long a node took to answer, by method"), answers);
    scrape.counters(("node_errors", "Questions that a node did not answer, by method"), errors);
    let unanswered = |node: &NodeNow| {
        let reasons = node.traffic.unanswered.iter();
        let of = |(why, count): &(node::NoAnswer, u64)| (node.with("reason", why.word()), *count);
        reasons.map(of).collect::<Vec<_>>()
    };
    scrape.counters(
        ("node_unanswered", "Questions that a node did not answer, by why"),
        nodes.iter().flat_map(unanswered).collect(),
    );
}
