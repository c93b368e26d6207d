//! The lanes of a process.

use super::lane::Lane;
use super::signing_lanes::SigningLanes;
use billing::PlatformChainId;
use journal::LaneId;
use std::collections::HashMap;
use std::sync::Arc;

/// All lanes of a process.
#[derive(Debug, Default)]
pub struct LaneSet {
    /// The lanes of each configured chain that may take new work, by the platform's id.
    pub of_chains: HashMap<PlatformChainId, SigningLanes>,
    /// Lanes of other accounts of these chains, which only end what they have begun.
    pub followers: Vec<Arc<Lane>>,
}

impl LaneSet {
    /// Every lane.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.of_chains.values().flat_map(SigningLanes::all).chain(&self.followers)
    }

    /// Every chain with its lanes that may take new work, in the order of their numbers.
    pub fn chains(&self) -> Vec<&SigningLanes> {
        let mut chains: Vec<_> = self.of_chains.iter().collect();
        chains.sort_by_key(|(id, _)| **id);
        chains.into_iter().map(|(_, lanes)| lanes).collect()
    }

    /// Every lane of a chain: those that may take new work, then those that only end what they have begun.
    pub fn of_chain<'s>(&'s self, lanes: &'s SigningLanes) -> impl Iterator<Item = &'s Arc<Lane>> {
        lanes.all().chain(self.followers_of(lanes.any().id().chain))
    }

    /// The lanes that only end what they have begun on a chain.
    pub fn followers_of(&self, chain: PlatformChainId) -> impl Iterator<Item = &Arc<Lane>> {
        self.followers.iter().filter(move |lane| lane.id().chain == chain)
    }

    /// The lane of one account on one chain.
    pub fn lane(&self, id: LaneId) -> Option<&Arc<Lane>> {
        self.all().find(|lane| lane.id() == id)
    }
}
