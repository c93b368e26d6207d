//! A room that many share, and who has to go when it is full: of whoever has most, not of whoever came first.
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

/// The numbers of address bits that name a network, from the widest to the one that counts as one customer.
const NETWORKS_V4: [u32; 4] = [8, 16, 24, 32];
const NETWORKS_V6: [u32; 4] = [32, 48, 56, 64];

/// The owner of something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A caller's, by the name that the server knows it by.
    Caller(Arc<str>),
    /// Of somebody at this address who has proven nothing.
    Stranger(IpAddr),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(name) => write!(f, "caller {name}"),
            Self::Stranger(address) => write!(f, "strangers near {address}"),
        }
    }
}

impl Owner {
    /// The caller's name.
    pub fn caller(&self) -> Option<&str> {
        match self {
            Self::Caller(name) => Some(name),
            Self::Stranger(_) => None,
        }
    }
}

/// One who is in the room.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) owner: Owner,
    /// True if the owner has proven itself here, and is not only known from elsewhere.
    pub(crate) proven: bool,
    /// The share of the room that the member takes.
    pub(crate) weight: usize,
    /// The number of things being done for the member. The member is not sent off meanwhile.
    pub(crate) busy: usize,
    /// Cancelled when it is sent off.
    go: CancellationToken,
}

/// A stranger who may go: from where, its number, and how much it has.
type Idle = (IpAddr, u64, usize);

/// Everybody in the room.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    next: u64,
    members: BTreeMap<u64, Member>,
    chance: RandomState,
}

impl Crowd {
    pub(crate) fn join(&mut self, owner: Owner) -> (u64, CancellationToken) {
        let (number, go) = (self.next, CancellationToken::new());
        self.next = number.saturating_add(1);
        self.members
            .insert(number, Member { owner, proven: false, weight: 0, busy: 0, go: go.clone() });
        (number, go)
    }

    /// Removes the member and returns it, unless it was sent off before.
    pub(crate) fn leave(&mut self, number: u64) -> Option<Member> {
        self.members.remove(&number)
    }

    pub(crate) fn member(&mut self, number: u64) -> Option<&mut Member> {
        self.members.get_mut(&number)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Sends one of those off who are `meant`, by what each has of what `measure` tells. `None`: something is
    /// being done for all of them.
    pub(crate) fn send_off(
        &mut self,
        meant: impl Fn(u64) -> bool,
        measure: impl Fn(&Member) -> usize,
    ) -> Option<(u64, Member)> {
        let number = self.victim(meant, measure)?;
        let member = self.members.remove(&number)?;
        member.go.cancel();
        Some((number, member))
    }

    fn victim(
        &self,
        meant: impl Fn(u64) -> bool,
        measure: impl Fn(&Member) -> usize,
    ) -> Option<u64> {
        let meant = self.members.iter().filter(|(number, _)| meant(**number));
        let (mut strangers, mut callers) = (Vec::new(), Vec::new());
        for (number, member) in meant {
            let (idle, much) = (member.busy == 0, measure(member));
            match &member.owner {
                Owner::Stranger(address) if idle => strangers.push((*address, *number, much)),
                Owner::Stranger(_) => {}
                Owner::Caller(name) => {
                    callers.push(OfCaller { name, number: *number, much, member });
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

/// A member that belongs to a caller.
struct OfCaller<'a> {
    name: &'a str,
    number: u64,
    much: usize,
    member: &'a Member,
}

/// The oldest that may go, of the caller that has most.
fn of_whoever_has_most(callers: &[OfCaller<'_>]) -> Option<u64> {
    let mut has: HashMap<&str, usize> = HashMap::new();
    for one in callers {
        let total = has.entry(one.name).or_default();
        *total = total.saturating_add(one.much);
    }
    let idle = callers.iter().filter(|one| one.member.busy == 0);
    let goes = idle.max_by_key(|one| {
        (has.get(one.name).copied(), one.name, !one.member.proven, Reverse(one.number))
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
pub(crate) fn customer(address: IpAddr) -> IpAddr {
    network(address.to_canonical(), NETWORKS_V4.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger(ip: &str) -> Owner {
        Owner::Stranger(customer(ip.parse().unwrap()))
    }

    fn caller(name: &str) -> Owner {
        Owner::Caller(name.into())
    }

    fn sent_off(crowd: &mut Crowd) -> Option<Owner> {
        crowd.send_off(|_| true, |_| 1).map(|(_, gone)| gone.owner)
    }

    #[test]
    fn whoever_has_most_loses_one_by_the_widest_network_first() {
        let mut crowd = Crowd::default();
        let few = ["10.1.1.1", "10.1.1.1", "10.1.1.1"].map(stranger);
        let spread = ["20.1.1.1", "20.2.1.1", "20.2.1.2", "20.3.1.1"].map(stranger);
        for owner in few.into_iter().chain(spread) {
            crowd.join(owner);
        }
        let gone = sent_off(&mut crowd).unwrap();
        assert!(
            gone == stranger("20.2.1.1") || gone == stranger("20.2.1.2"),
            "20.0.0.0/8 has four, and 20.2.0.0/16 two of them: {gone}"
        );
        let gone: Vec<_> = (0..2).map(|_| sent_off(&mut crowd).unwrap()).collect();
        let one_each = gone.iter().filter(|gone| **gone == stranger("10.1.1.1")).count();
        assert_eq!(one_each, 1, "three and three, then two and three: {gone:?}");
    }

    #[test]
    fn strangers_go_before_callers_and_of_callers_the_one_with_most() {
        let mut crowd = Crowd::default();
        let (first, _) = crowd.join(caller("many"));
        crowd.join(caller("few"));
        crowd.join(caller("many"));
        crowd.join(stranger("10.0.0.1"));
        assert_eq!(sent_off(&mut crowd), Some(stranger("10.0.0.1")));
        assert_eq!(sent_off(&mut crowd), Some(caller("many")));
        assert!(crowd.member(first).is_none(), "its oldest");
    }

    #[test]
    fn whoever_is_busy_stays() {
        let mut crowd = Crowd::default();
        let (busy, _) = crowd.join(stranger("10.0.0.1"));
        crowd.member(busy).unwrap().busy = 1;
        assert_eq!(sent_off(&mut crowd), None);
        crowd.join(caller("a"));
        assert_eq!(sent_off(&mut crowd), Some(caller("a")));
    }

    #[test]
    fn what_counts_is_what_is_measured() {
        let mut crowd = Crowd::default();
        for _ in 0..3 {
            crowd.join(stranger("10.0.0.1"));
        }
        let (heavy, go) = crowd.join(stranger("20.0.0.1"));
        crowd.member(heavy).unwrap().weight = 9;
        let (gone, _) = crowd.send_off(|_| true, |one| one.weight).unwrap();
        assert_eq!(gone, heavy);
        assert!(go.is_cancelled());
    }

    #[test]
    fn one_customer_has_one_address_however_it_is_written() {
        for [one, other] in [["2001:db8::1", "2001:db8::ffff:2"], ["10.0.0.1", "::ffff:10.0.0.1"]] {
            assert_eq!(customer(one.parse().unwrap()), customer(other.parse().unwrap()));
        }
    }
}
