//! Room that many owners share. When it is full, the owner that has most loses an entry, not the one that came first.
//!
//! Strangers go before callers. Of strangers the network with the most loses one: by the widest network first,
//! then by narrower ones inside it, down to one address. Among equals chance decides, so that nobody can
//! arrange whom it hits. Of callers the one with the most loses its oldest, and first one on which it has not proven
//! itself yet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The numbers of address bits that name a network, from the widest to the one that counts as one address.
const NETWORKS_V4: [u32; 4] = [8, 16, 24, 32];
const NETWORKS_V6: [u32; 4] = [32, 48, 56, 64];

/// The owner of something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A caller's, by the name that the server knows it by.
    Caller(Arc<str>),
    /// Of somebody at this address who has proven nothing.
    Unproven(IpAddr),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(name) => write!(f, "caller {name}"),
            Self::Unproven(address) => write!(f, "strangers near {address}"),
        }
    }
}

impl Owner {
    /// The caller's name.
    pub fn caller(&self) -> Option<&str> {
        match self {
            Self::Caller(name) => Some(name),
            Self::Unproven(_) => None,
        }
    }
}

/// Something that takes room.
#[derive(Debug)]
pub(crate) struct PoolEntry {
    pub(crate) owner: Owner,
    /// True if the owner has proven itself here, and is not only known from elsewhere.
    pub(crate) proven: bool,
    /// The share of the room that the entry takes.
    pub(crate) weight: usize,
    /// The number of things being done for the entry. The entry is not evicted meanwhile.
    pub(crate) busy: usize,
    /// Cancelled when it is evicted.
    evicted: CancellationToken,
}

/// An unproven owner's entry that may go: address, number, measure.
type Idle = (IpAddr, u64, usize);

/// The entries that share the room.
#[derive(Debug, Default)]
pub(crate) struct EvictionPool {
    next: u64,
    entries: BTreeMap<u64, PoolEntry>,
    chance: RandomState,
}

impl EvictionPool {
    pub(crate) fn insert(&mut self, owner: Owner) -> (u64, CancellationToken) {
        let (number, evicted) = (self.next, CancellationToken::new());
        self.next = number.saturating_add(1);
        self.entries.insert(
            number,
            PoolEntry { owner, proven: false, weight: 0, busy: 0, evicted: evicted.clone() },
        );
        (number, evicted)
    }

    /// Removes the entry and returns it, unless it was evicted before.
    pub(crate) fn remove(&mut self, number: u64) -> Option<PoolEntry> {
        self.entries.remove(&number)
    }

    pub(crate) fn entry(&mut self, number: u64) -> Option<&mut PoolEntry> {
        self.entries.get_mut(&number)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &PoolEntry> {
        self.entries.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Evicts one entry of those that are `meant`, by what `measure` tells of each. `None`: all of them are busy.
    pub(crate) fn evict(
        &mut self,
        meant: impl Fn(u64) -> bool,
        measure: impl Fn(&PoolEntry) -> usize,
    ) -> Option<(u64, PoolEntry)> {
        let number = self.victim(meant, measure)?;
        let entry = self.entries.remove(&number)?;
        entry.evicted.cancel();
        Some((number, entry))
    }

    fn victim(
        &self,
        meant: impl Fn(u64) -> bool,
        measure: impl Fn(&PoolEntry) -> usize,
    ) -> Option<u64> {
        let meant = self.entries.iter().filter(|(number, _)| meant(**number));
        let (mut strangers, mut callers) = (Vec::new(), Vec::new());
        for (number, entry) in meant {
            let (idle, much) = (entry.busy == 0, measure(entry));
            match &entry.owner {
                Owner::Unproven(address) if idle => strangers.push((*address, *number, much)),
                Owner::Unproven(_) => {}
                Owner::Caller(name) => {
                    callers.push(OfCaller { name, number: *number, much, entry });
                }
            }
        }
        if strangers.is_empty() {
            of_whoever_has_most(&callers)
        } else {
            self.of_networks(strangers)
        }
    }

    /// One of the address that has most in the network that has most, and so on from the widest.
    fn of_networks(&self, mut strangers: Vec<Idle>) -> Option<u64> {
        strangers.sort_unstable();
        let mut left = strangers.as_slice();
        for level in 0..NETWORKS_V4.len() {
            let networks =
                left.chunk_by(|one, next| network(one.0, level) == network(next.0, level));
            let has = |of: &[Idle]| of.iter().map(|(.., much)| much).sum::<usize>();
            let chance =
                |of: &[Idle]| self.chance.hash_one(of.first().map(|(at, ..)| network(*at, level)));
            left = networks.max_by_key(|of| (has(of), chance(of)))?;
        }
        let by_chance = left.iter().max_by_key(|(_, number, _)| self.chance.hash_one(number));
        by_chance.map(|(_, number, _)| *number)
    }
}

/// An entry that belongs to a caller.
struct OfCaller<'a> {
    name: &'a str,
    number: u64,
    much: usize,
    entry: &'a PoolEntry,
}

/// The oldest that may go, of the caller that has most.
fn of_whoever_has_most(callers: &[OfCaller<'_>]) -> Option<u64> {
    let mut has: HashMap<&str, usize> = HashMap::new();
    for one in callers {
        let total = has.entry(one.name).or_default();
        *total = total.saturating_add(one.much);
    }
    let idle = callers.iter().filter(|one| one.entry.busy == 0);
    let goes = idle.max_by_key(|one| {
        (has.get(one.name).copied(), one.name, !one.entry.proven, Reverse(one.number))
    });
    goes.map(|one| one.number)
}

/// The network of an address at a level, by its first address.
fn network(address: IpAddr, level: usize) -> IpAddr {
    let bits = |networks: [u32; 4]| networks.get(level).copied().unwrap_or(u32::MAX);
    match address {
        IpAddr::V4(four) => {
            let rest = u32::MAX.checked_shr(bits(NETWORKS_V4)).unwrap_or(0);
            Ipv4Addr::from_bits(four.to_bits() & !rest).into()
        }
        IpAddr::V6(six) => {
            let rest = u128::MAX.checked_shr(bits(NETWORKS_V6)).unwrap_or(0);
            Ipv6Addr::from_bits(six.to_bits() & !rest).into()
        }
    }
}

/// An address, or the network of it that counts as one.
pub(crate) fn counted_address(address: IpAddr) -> IpAddr {
    network(address.to_canonical(), NETWORKS_V4.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger(ip: &str) -> Owner {
        Owner::Unproven(counted_address(ip.parse().unwrap()))
    }

    fn caller(name: &str) -> Owner {
        Owner::Caller(name.into())
    }

    fn evicted_owner(pool: &mut EvictionPool) -> Option<Owner> {
        pool.evict(|_| true, |_| 1).map(|(_, gone)| gone.owner)
    }

    #[test]
    fn whoever_has_most_loses_one_by_the_widest_network_first() {
        let mut pool = EvictionPool::default();
        let few = ["10.1.1.1", "10.1.1.1", "10.1.1.1"].map(stranger);
        let spread = ["20.1.1.1", "20.2.1.1", "20.2.1.2", "20.3.1.1"].map(stranger);
        for owner in few.into_iter().chain(spread) {
            pool.insert(owner);
        }
        let gone = evicted_owner(&mut pool).unwrap();
        assert!(
            gone == stranger("20.2.1.1") || gone == stranger("20.2.1.2"),
            "20.0.0.0/8 has four, and 20.2.0.0/16 two of them: {gone}"
        );
        let gone: Vec<_> = (0..2).map(|_| evicted_owner(&mut pool).unwrap()).collect();
        let one_each = gone.iter().filter(|gone| **gone == stranger("10.1.1.1")).count();
        assert_eq!(one_each, 1, "three and three, then two and three: {gone:?}");
    }

    #[test]
    fn strangers_go_before_callers_and_of_callers_the_one_with_most() {
        let mut pool = EvictionPool::default();
        let (first, _) = pool.insert(caller("many"));
        pool.insert(caller("few"));
        pool.insert(caller("many"));
        pool.insert(stranger("10.0.0.1"));
        assert_eq!(evicted_owner(&mut pool), Some(stranger("10.0.0.1")));
        assert_eq!(evicted_owner(&mut pool), Some(caller("many")));
        assert!(pool.entry(first).is_none(), "its oldest");
    }

    #[test]
    fn whoever_is_busy_stays() {
        let mut pool = EvictionPool::default();
        let (busy, _) = pool.insert(stranger("10.0.0.1"));
        pool.entry(busy).unwrap().busy = 1;
        assert_eq!(evicted_owner(&mut pool), None);
        pool.insert(caller("a"));
        assert_eq!(evicted_owner(&mut pool), Some(caller("a")));
    }

    #[test]
    fn what_counts_is_what_is_measured() {
        let mut pool = EvictionPool::default();
        for _ in 0..3 {
            pool.insert(stranger("10.0.0.1"));
        }
        let (heavy, evicted) = pool.insert(stranger("20.0.0.1"));
        pool.entry(heavy).unwrap().weight = 9;
        let (gone, _) = pool.evict(|_| true, |one| one.weight).unwrap();
        assert_eq!(gone, heavy);
        assert!(evicted.is_cancelled());
    }

    #[test]
    fn one_customer_has_one_address_however_it_is_written() {
        for [one, other] in [["2001:db8::1", "2001:db8::ffff:2"], ["10.0.0.1", "::ffff:10.0.0.1"]] {
            assert_eq!(
                counted_address(one.parse().unwrap()),
                counted_address(other.parse().unwrap())
            );
        }
    }
}
