//! The content of one request: entries, each subscription once, and the mode for entries that cannot be charged.

use super::{
    Admitted, AskedBy, BadField, Entry, FailCode, NamedRequest, PlatformChainId, Refused,
    RequestId, Satisfied,
};
use alloy::primitives::{Keccak256, U256};
use std::collections::HashSet;

/// The Signer's action when some entries cannot be charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Charge every entry or none.
    #[default]
    All,
    /// Charge those that can be.
    Partial,
}

impl Mode {
    /// Returns true if the refusals stop the whole request.
    pub fn stops_for(self, refused: &[Refused]) -> bool {
        self == Self::All && !refused.is_empty()
    }
}

/// A request on one chain, within the size limit, in which no subscription occurs twice. Its entries
/// are as the caller posted them, or [`Admitted`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<E = Entry> {
    /// The caller's name for the request.
    pub request_id: Option<RequestId>,
    /// The caller; none where nobody has to sign requests.
    pub caller: Option<AskedBy>,
    /// The action when some entries cannot be charged.
    pub mode: Mode,
    /// Stop before signing and say what would be charged.
    pub dry_run: bool,
    /// The entries, each subscription once, in the caller's order.
    pub entries: Vec<E>,
    /// Entries that will not be charged, and why.
    pub refused: Vec<Refused>,
    /// Entries that live batches hold already: they need nothing more.
    pub satisfied: Vec<Satisfied>,
}

/// Why a request is not an order. Nothing was signed or sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// There is nothing to charge.
    #[error("the list is empty: post at least one subscription")]
    Empty,
    /// More entries than one request may hold.
    #[error("{got} entries are too many: post at most {limit} in one request")]
    TooMany {
        /// The number of entries that were posted.
        got: usize,
        /// The most entries that one request may hold.
        limit: usize,
    },
}

impl Order {
    /// Admits `entries`: the first mention of a subscription stays, later ones are refused.
    pub fn admit(entries: Vec<Entry>, limit: usize) -> Result<Self, NotAdmitted> {
        match entries.len() {
            0 => return Err(NotAdmitted::Empty),
            got if got > limit => return Err(NotAdmitted::TooMany { got, limit }),
            _ => {}
        }
        let (mut ids, mut users) = (HashSet::new(), HashSet::new());
        let (first, again): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| {
            let new_id = ids.insert(entry.subscribe);
            let new_user = users.insert((entry.plan, entry.user));
            new_id && new_user
        });
        let refused = again.iter().map(|entry| entry.refused(FailCode::DuplicateEntry)).collect();
        Ok(Self {
            request_id: None,
            caller: None,
            mode: Mode::All,
            dry_run: false,
            entries: first,
            refused,
            satisfied: Vec::new(),
        })
    }

    /// The same order with its entries read by `admit`. Those that it turns down are refused.
    pub fn read(self, admit: impl Fn(&Entry) -> Result<Admitted, BadField>) -> Order<Admitted> {
        let Self { request_id, mode, dry_run, entries: posted, mut refused, caller, satisfied } =
            self;
        let mut entries = Vec::with_capacity(posted.len());
        for entry in posted {
            match admit(&entry) {
                Ok(admitted) => entries.push(admitted),
                Err(bad) => {
                    let code = FailCode::InvalidEntry;
                    refused.push(entry.refused(code).because(bad.to_string()));
                }
            }
        }
        Order { request_id, caller, mode, dry_run, entries, refused, satisfied }
    }
}

impl Order<Admitted> {
    /// The request by its name, if it has one, with a digest of what it asks on `chain`. The order of
    /// entries, their spelling, the mode and fields that nobody reads make no difference.
    pub fn named(&self, chain: PlatformChainId) -> Option<NamedRequest> {
        let caller = self.caller.as_ref().map(|by| by.key.clone());
        let id = self.request_id.clone()?;
        let entry = |e: &Admitted| ((e.subscribe, e.plan, e.user.0.to_vec()), e.canonical());
        let turned_down = |r: &Refused| {
            let spelt = r.spelling.user.trim_start_matches("0x").to_ascii_lowercase();
            ((r.subscribe, r.plan, spelt.into_bytes()), r.code.token().as_bytes().to_vec())
        };
        let entries = self.entries.iter().map(entry);
        let mut parts: Vec<_> = entries.chain(self.refused.iter().map(turned_down)).collect();
        parts.sort();
        let mut hash = Keccak256::new();
        hash.update(chain.0.to_be_bytes());
        for ((subscribe, plan, user), fields) in parts {
            hash.update(subscribe.0.to_be_bytes());
            hash.update(plan.0.to_be_bytes());
            for part in [user, fields] {
                hash.update(U256::from(part.len()).to_be_bytes::<32>());
                hash.update(part);
            }
        }
        Some(NamedRequest { id, caller, digest: hash.finalize() })
    }
}

#[cfg(test)]
mod tests;
