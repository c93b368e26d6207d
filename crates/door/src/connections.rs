//! The connections that are open: how many there may be, in all and from one address, and which has to go when
//! there is no room for another (`crowd`). One on which something is done for a caller stays in any case, and each
//! caller has its share of those. A connection from an address where a caller has proven itself lately counts as
//! that caller's from its first byte: however many strangers come, it is not one of them.

use crate::crowd::{Crowd, Owner, customer};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_util::sync::CancellationToken;

/// The number of connections that may be on their way out before another is accepted.
const LEAVING: usize = 32;

/// At how many addresses one caller is known.
const ADDRESSES: usize = 64;

/// Everybody who is connected.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<Guests>,
    /// Those that are open, and those that are being closed.
    living: AtomicUsize,
    most: usize,
    most_of_one: usize,
}

#[derive(Debug, Default)]
struct Guests {
    crowd: Crowd,
    /// From where each connection is.
    addresses: HashMap<u64, IpAddr>,
    known: Known,
}

/// The callers that last proved themselves, by address.
#[derive(Debug, Default)]
struct Known {
    callers: HashMap<IpAddr, Arc<str>>,
    /// The addresses of each caller, the one that was used last at the end.
    of_each: HashMap<Arc<str>, VecDeque<IpAddr>>,
}

/// One connection, as requests on it carry it along.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The address at the other end.
    pub peer: SocketAddr,
    /// The certificate with which the other end has proven itself in TLS.
    pub certificate: Option<CertificateDer<'static>>,
    connections: Arc<Connections>,
    number: u64,
}

/// An open connection. Not open any more when it is dropped.
#[derive(Debug)]
pub(crate) struct Stay {
    pub(crate) guest: Guest,
    go: CancellationToken,
}

/// As long as it lives, its connection is not closed for the sake of others.
#[derive(Debug)]
pub struct Busy(Guest);

impl Connections {
    /// Room for `most` connections, of which `most_of_one` may be of one address.
    pub(crate) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), living: AtomicUsize::new(0), most, most_of_one })
    }

    /// Returns true if so many connections are being closed that it is better to wait for them.
    pub(crate) fn crowded(&self) -> bool {
        self.living.load(Ordering::Relaxed) > self.most.saturating_add(LEAVING)
    }

    /// Takes a connection in, if need be for another. `None`: something is done on every one of them.
    pub(crate) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<Stay> {
        let from = customer(peer.ip());
        let mut open = self.open.lock();
        if open.from(from) >= self.most_of_one {
            open.make_room(Some(from))?;
        } else if open.crowd.len() >= self.most {
            open.make_room(None)?;
        }
        let owner = open.known.callers.get(&from).cloned();
        let owner = owner.map_or(Owner::Stranger(from), Owner::Caller);
        let (number, go) = open.crowd.join(owner);
        open.addresses.insert(number, from);
        drop(open);
        self.living.fetch_add(1, Ordering::Relaxed);
        let guest = Guest { peer, certificate: None, connections: Arc::clone(self), number };
        Some(Stay { guest, go })
    }
}

impl Guests {
    fn from(&self, address: IpAddr) -> usize {
        self.addresses.values().filter(|from| **from == address).count()
    }

    /// Sends one off: of those at `address`, or of all.
    fn make_room(&mut self, address: Option<IpAddr>) -> Option<()> {
        let Self { crowd, addresses, .. } = self;
        let at = |number: u64| addresses.get(&number).copied();
        let here = |number| address.is_none() || at(number) == address;
        let (number, _) = crowd.send_off(here, |_| 1)?;
        addresses.remove(&number);
        Some(())
    }
}

impl Known {
    fn note(&mut self, address: IpAddr, caller: &Arc<str>) {
        if let Some(before) = self.callers.insert(address, Arc::clone(caller))
            && let Some(its) = self.of_each.get_mut(&before)
        {
            its.retain(|other| *other != address);
        }
        let its = self.of_each.entry(Arc::clone(caller)).or_default();
        its.push_back(address);
        if its.len() > ADDRESSES
            && let Some(oldest) = its.pop_front()
        {
            self.callers.remove(&oldest);
        }
    }
}

impl Guest {
    /// Returns the owner of the connection, as far as is known.
    pub fn owner(&self) -> Owner {
        let mut open = self.connections.open.lock();
        let owner = open.crowd.member(self.number).map(|member| member.owner.clone());
        owner.unwrap_or_else(|| Owner::Stranger(customer(self.peer.ip())))
    }

    /// The caller `name`, one of `callers`, has proven itself on this connection, and something is done for it.
    /// `None`: as much is done on other connections for it as one of so many may have done at once.
    pub fn works(&self, name: &str, callers: usize) -> Option<Busy> {
        let share = self.connections.most.div_euclid(callers.saturating_add(1)).max(1);
        let mut open = self.connections.open.lock();
        let name: Arc<str> = name.into();
        open.known.note(customer(self.peer.ip()), &name);
        let owner = Owner::Caller(name);
        let works = open.crowd.members().filter(|one| one.owner == owner && one.busy > 0).count();
        let member = open.crowd.member(self.number)?;
        member.owner = owner;
        member.proven = true;
        if works >= share {
            return None;
        }
        member.busy = member.busy.saturating_add(1);
        drop(open);
        Some(Busy(self.clone()))
    }

    /// Something is done for whoever is at the other end.
    pub fn waits(&self) -> Busy {
        if let Some(member) = self.connections.open.lock().crowd.member(self.number) {
            member.busy = member.busy.saturating_add(1);
        }
        Busy(self.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(member) = self.0.connections.open.lock().crowd.member(self.0.number) {
            member.busy = member.busy.saturating_sub(1);
        }
    }
}

impl Stay {
    /// Done when the connection is to be closed.
    pub(crate) fn go(&self) -> CancellationToken {
        self.go.clone()
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let connections = &self.guest.connections;
        let mut open = connections.open.lock();
        open.crowd.leave(self.guest.number);
        open.addresses.remove(&self.guest.number);
        drop(open);
        connections.living.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(ip: &str) -> SocketAddr {
        SocketAddr::new(ip.parse().unwrap(), 1)
    }

    fn gone(stay: &Stay) -> bool {
        stay.go().is_cancelled()
    }

    #[test]
    fn whoever_opens_many_closes_his_own() {
        let connections = Connections::new(10, 2);
        let other = connections.admit(peer("127.0.0.1")).unwrap();
        let his: Vec<Stay> = (0..9).map(|_| connections.admit(peer("10.0.0.1")).unwrap()).collect();
        assert!(!gone(&other));
        assert_eq!(his.iter().filter(|stay| !gone(stay)).count(), 2);
        assert!(!gone(&his[8]), "the newest is in");
        drop(his);
        assert_eq!(connections.open.lock().crowd.len(), 1);
        assert_eq!(connections.open.lock().addresses.len(), 1);
    }

    #[test]
    fn a_caller_who_is_known_at_an_address_is_no_stranger_there_however_many_come() {
        let connections = Connections::new(16, 16);
        let first = connections.admit(peer("10.0.0.7")).unwrap();
        drop(first.guest.works("scheduler", 1));
        drop(first);
        let silent = connections.admit(peer("10.0.0.7")).unwrap();
        for place in 0..5000_u32 {
            let [.., b, c] = place.to_be_bytes();
            connections.admit(peer(&format!("10.0.{b}.{c}")));
        }
        assert!(!gone(&silent), "strangers close their own");
        assert_eq!(silent.guest.owner(), Owner::Caller("scheduler".into()));
    }

    #[test]
    fn a_caller_with_many_connections_closes_its_own_and_no_others() {
        let connections = Connections::new(8, 8);
        let quiet = connections.admit(peer("10.0.0.1")).unwrap();
        drop(quiet.guest.works("scheduler", 2));
        let mut of_many = Vec::new();
        for place in 0..40 {
            let stay = connections.admit(peer(&format!("10.1.0.{place}"))).unwrap();
            drop(stay.guest.works("viewer", 2));
            of_many.push(stay);
        }
        assert!(!gone(&quiet));
        assert_eq!(of_many.iter().filter(|stay| !gone(stay)).count(), 7);
    }

    #[test]
    fn each_caller_has_its_share_of_connections_at_work_and_one_is_left_for_others() {
        let connections = Connections::new(6, 6);
        let stays: Vec<Stay> =
            (0..3).map(|_| connections.admit(peer("10.0.0.1")).unwrap()).collect();
        let works: Vec<_> = stays.iter().map(|stay| stay.guest.works("viewer", 2)).collect();
        assert_eq!(works.iter().flatten().count(), 2, "six, shared by two and by strangers");
        let other = connections.admit(peer("10.0.0.2")).unwrap();
        assert!(other.guest.works("scheduler", 2).is_some());
    }

    #[test]
    fn what_is_done_for_somebody_is_not_cut_off() {
        let connections = Connections::new(2, 2);
        let one = connections.admit(peer("127.0.0.1")).unwrap();
        let other = connections.admit(peer("10.0.0.2")).unwrap();
        let (busy, also) = (one.guest.waits(), other.guest.waits());
        assert!(connections.admit(peer("10.0.0.3")).is_none(), "something is done on both");
        drop(busy);
        assert!(connections.admit(peer("10.0.0.3")).is_some());
        assert!(gone(&one) && !gone(&other));
        drop(also);
    }
}
