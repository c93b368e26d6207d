//! The connections that are open: how many there may be, in all and from one address, and which one is closed when
//! there is no room for another (`eviction`). One on which something is done for a caller open in any case, and each
//! caller has its share of those. A connection from an address where a caller has proven itself lately counts as
//! that caller's from its first byte: however many strangers come, it is not one of them.

use crate::eviction::{EvictionPool, Owner, counted_address};
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

/// All connections of a port.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<OpenConnections>,
    /// Those that are open, and those that are being closed.
    living: AtomicUsize,
    most: usize,
    most_of_one: usize,
}

#[derive(Debug, Default)]
struct OpenConnections {
    pool: EvictionPool,
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
pub struct Connection {
    /// The address at the other end.
    pub peer: SocketAddr,
    /// The certificate with which the other end has proven itself in TLS.
    pub certificate: Option<CertificateDer<'static>>,
    connections: Arc<Connections>,
    number: u64,
}

/// A place among the connections; given up when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    pub(crate) connection: Connection,
    evicted: CancellationToken,
}

/// While this lives, the connection is not closed to make room.
#[derive(Debug)]
pub struct BusyGuard(Connection);

impl Connections {
    /// Room for `most` connections, of which `most_of_one` may be of one address.
    pub(crate) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), living: AtomicUsize::new(0), most, most_of_one })
    }

    /// Returns true if so many connections are being closed that it is better to wait for them.
    pub(crate) fn too_many_closing(&self) -> bool {
        self.living.load(Ordering::Relaxed) > self.most.saturating_add(LEAVING)
    }

    /// Admits a connection, and closes another if there is no room. `None`: all of them are busy.
    pub(crate) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<OpenConnection> {
        let from = counted_address(peer.ip());
        let mut open = self.open.lock();
        if open.from(from) >= self.most_of_one {
            open.make_room(Some(from))?;
        } else if open.pool.len() >= self.most {
            open.make_room(None)?;
        }
        let owner = open.known.callers.get(&from).cloned();
        let owner = owner.map_or(Owner::Unproven(from), Owner::Caller);
        let (number, evicted) = open.pool.insert(owner);
        open.addresses.insert(number, from);
        drop(open);
        self.living.fetch_add(1, Ordering::Relaxed);
        let connection =
            Connection { peer, certificate: None, connections: Arc::clone(self), number };
        Some(OpenConnection { connection, evicted })
    }
}

impl OpenConnections {
    fn from(&self, address: IpAddr) -> usize {
        self.addresses.values().filter(|from| **from == address).count()
    }

    /// Closes one: of those at `address`, or of all.
    fn make_room(&mut self, address: Option<IpAddr>) -> Option<()> {
        let Self { pool, addresses, .. } = self;
        let at = |number: u64| addresses.get(&number).copied();
        let here = |number| address.is_none() || at(number) == address;
        let (number, _) = pool.evict(here, |_| 1)?;
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

impl Connection {
    /// Returns the owner of the connection, as far as is known.
    pub fn owner(&self) -> Owner {
        let mut open = self.connections.open.lock();
        let owner = open.pool.entry(self.number).map(|entry| entry.owner.clone());
        owner.unwrap_or_else(|| Owner::Unproven(counted_address(self.peer.ip())))
    }

    /// Begins work for the caller `name`, one of `callers`, who has proven itself on this connection. `None`: the
    /// caller has its share of busy connections already.
    pub fn begin_work(&self, name: &str, callers: usize) -> Option<BusyGuard> {
        let share = self.connections.most.div_euclid(callers.saturating_add(1)).max(1);
        let mut open = self.connections.open.lock();
        let name: Arc<str> = name.into();
        open.known.note(counted_address(self.peer.ip()), &name);
        let owner = Owner::Caller(name);
        let works = open.pool.entries().filter(|one| one.owner == owner && one.busy > 0).count();
        let entry = open.pool.entry(self.number)?;
        entry.owner = owner;
        entry.proven = true;
        if works >= share {
            return None;
        }
        entry.busy = entry.busy.saturating_add(1);
        drop(open);
        Some(BusyGuard(self.clone()))
    }

    /// Marks the connection busy, whoever is at the other end.
    pub fn mark_busy(&self) -> BusyGuard {
        if let Some(entry) = self.connections.open.lock().pool.entry(self.number) {
            entry.busy = entry.busy.saturating_add(1);
        }
        BusyGuard(self.clone())
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        if let Some(entry) = self.0.connections.open.lock().pool.entry(self.0.number) {
            entry.busy = entry.busy.saturating_sub(1);
        }
    }
}

impl OpenConnection {
    /// Cancelled when the connection is to be closed.
    pub(crate) fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let connections = &self.connection.connections;
        let mut open = connections.open.lock();
        open.pool.remove(self.connection.number);
        open.addresses.remove(&self.connection.number);
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

    fn gone(one: &OpenConnection) -> bool {
        one.evicted().is_cancelled()
    }

    #[test]
    fn whoever_opens_many_closes_his_own() {
        let connections = Connections::new(10, 2);
        let other = connections.admit(peer("127.0.0.1")).unwrap();
        let his: Vec<OpenConnection> =
            (0..9).map(|_| connections.admit(peer("10.0.0.1")).unwrap()).collect();
        assert!(!gone(&other));
        assert_eq!(his.iter().filter(|one| !gone(one)).count(), 2);
        assert!(!gone(&his[8]), "the newest is in");
        drop(his);
        assert_eq!(connections.open.lock().pool.len(), 1);
        assert_eq!(connections.open.lock().addresses.len(), 1);
    }

    #[test]
    fn a_caller_who_is_known_at_an_address_is_no_stranger_there_however_many_come() {
        let connections = Connections::new(16, 16);
        let first = connections.admit(peer("10.0.0.7")).unwrap();
        drop(first.connection.begin_work("scheduler", 1));
        drop(first);
        let silent = connections.admit(peer("10.0.0.7")).unwrap();
        for place in 0..5000_u32 {
            let [.., b, c] = place.to_be_bytes();
            connections.admit(peer(&format!("10.0.{b}.{c}")));
        }
        assert!(!gone(&silent), "strangers close their own");
        assert_eq!(silent.connection.owner(), Owner::Caller("scheduler".into()));
    }

    #[test]
    fn a_caller_with_many_connections_closes_its_own_and_no_others() {
        let connections = Connections::new(8, 8);
        let quiet = connections.admit(peer("10.0.0.1")).unwrap();
        drop(quiet.connection.begin_work("scheduler", 2));
        let mut of_many = Vec::new();
        for place in 0..40 {
            let one = connections.admit(peer(&format!("10.1.0.{place}"))).unwrap();
            drop(one.connection.begin_work("viewer", 2));
            of_many.push(one);
        }
        assert!(!gone(&quiet));
        assert_eq!(of_many.iter().filter(|one| !gone(one)).count(), 7);
    }

    #[test]
    fn each_caller_has_its_share_of_connections_at_work_and_one_is_left_for_others() {
        let connections = Connections::new(6, 6);
        let open: Vec<OpenConnection> =
            (0..3).map(|_| connections.admit(peer("10.0.0.1")).unwrap()).collect();
        let works: Vec<_> = open.iter().map(|one| one.connection.begin_work("viewer", 2)).collect();
        assert_eq!(works.iter().flatten().count(), 2, "six, shared by two and by strangers");
        let other = connections.admit(peer("10.0.0.2")).unwrap();
        assert!(other.connection.begin_work("scheduler", 2).is_some());
    }

    #[test]
    fn what_is_done_for_somebody_is_not_cut_off() {
        let connections = Connections::new(2, 2);
        let one = connections.admit(peer("127.0.0.1")).unwrap();
        let other = connections.admit(peer("10.0.0.2")).unwrap();
        let (busy, also) = (one.connection.mark_busy(), other.connection.mark_busy());
        assert!(connections.admit(peer("10.0.0.3")).is_none(), "something is done on both");
        drop(busy);
        assert!(connections.admit(peer("10.0.0.3")).is_some());
        assert!(gone(&one) && !gone(&other));
        drop(also);
    }
}
