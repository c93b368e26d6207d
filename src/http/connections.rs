//! The connections that are open: how many there may be, in all and from one address, and which has to
//! go when there is no room for another. One on which a caller has proven itself stays before one that
//! has proven nothing, and one on which something is being done stays in any case; of the others the
//! oldest goes. So whoever opens a thousand connections closes his own.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

/// The bits of an IPv6 address that one customer of a network has.
const CUSTOMERS_BITS: u128 = u128::MAX << 64;

/// How many connections may be on their way out before another is accepted.
const LEAVING: usize = 32;

/// Everybody who is connected.
#[derive(Debug)]
pub(super) struct Connections {
    open: Mutex<Guests>,
    /// Those that are open, and those that are being closed.
    living: AtomicUsize,
    most: usize,
    most_of_one: usize,
}

#[derive(Debug, Default)]
struct Guests {
    next: u64,
    guests: BTreeMap<u64, Arc<Presence>>,
}

#[derive(Debug)]
struct Presence {
    from: IpAddr,
    proven: AtomicBool,
    busy: AtomicUsize,
    go: CancellationToken,
}

/// One connection, as requests on it carry it along.
#[derive(Clone, Debug)]
pub(super) struct Guest {
    /// Who is at the other end.
    pub(super) peer: SocketAddr,
    presence: Arc<Presence>,
}

/// An open connection. Not open any more when it is dropped.
#[derive(Debug)]
pub(super) struct Stay {
    connections: Arc<Connections>,
    number: u64,
    pub(super) guest: Guest,
}

/// As long as it lives, its connection is not closed for the sake of others.
#[derive(Debug)]
pub(super) struct Busy(Arc<Presence>);

impl Connections {
    /// Room for `most` connections, of which `most_of_one` may be of one address.
    pub(super) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), living: AtomicUsize::new(0), most, most_of_one })
    }

    /// Whether so many are being closed that it is better to wait for them.
    pub(super) fn crowded(&self) -> bool {
        self.living.load(Ordering::Relaxed) > self.most.saturating_add(LEAVING)
    }

    /// Takes a connection in, if need be for another. `None`: something is done on every one of them.
    pub(super) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<Stay> {
        let from = customer(peer.ip().to_canonical());
        let mut open = self.open.lock();
        let of_one = open.guests.values().filter(|guest| guest.from == from).count();
        if of_one >= self.most_of_one {
            open.make_room(|guest| guest.from == from)?;
        } else if open.guests.len() >= self.most {
            open.make_room(|_| true)?;
        }
        let number = open.next;
        open.next = number.saturating_add(1);
        let presence = Presence {
            from,
            proven: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
            go: CancellationToken::new(),
        };
        let presence = Arc::new(presence);
        open.guests.insert(number, Arc::clone(&presence));
        drop(open);
        self.living.fetch_add(1, Ordering::Relaxed);
        Some(Stay { connections: Arc::clone(self), number, guest: Guest { peer, presence } })
    }
}

impl Guests {
    /// Sends one of those away that are meant.
    fn make_room(&mut self, meant: impl Fn(&Presence) -> bool) -> Option<()> {
        let idle = self
            .guests
            .iter()
            .filter(|(_, guest)| meant(guest) && guest.busy.load(Ordering::Relaxed) == 0);
        let number = idle
            .min_by_key(|(number, guest)| (guest.proven.load(Ordering::Relaxed), **number))
            .map(|(number, _)| *number)?;
        self.guests.remove(&number)?.go.cancel();
        Some(())
    }
}

impl Guest {
    /// A caller has proven itself on this connection, and something is done for it.
    pub(super) fn works(&self) -> Busy {
        self.presence.proven.store(true, Ordering::Relaxed);
        self.waits()
    }

    /// Something is done for whoever is at the other end.
    pub(super) fn waits(&self) -> Busy {
        self.presence.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(&self.presence))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stay {
    /// Done when the connection is to be closed.
    pub(super) fn go(&self) -> CancellationToken {
        self.guest.presence.go.clone()
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.connections.open.lock().guests.remove(&self.number);
        self.connections.living.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An address, or the network of it that counts as one.
fn customer(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & CUSTOMERS_BITS).into(),
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
        assert!(!gone(&his[8]), "the oldest go");
        drop(his);
        assert_eq!(connections.open.lock().guests.len(), 1);
    }

    #[test]
    fn who_has_proven_himself_stays_and_who_is_busy_in_any_case() {
        let connections = Connections::new(2, 2);
        let proven = connections.admit(peer("127.0.0.1")).unwrap();
        drop(proven.guest.works());
        let silent = connections.admit(peer("10.0.0.1")).unwrap();
        let third = connections.admit(peer("10.0.0.2")).unwrap();
        assert!(gone(&silent) && !gone(&proven));
        let (busy, also) = (proven.guest.works(), third.guest.works());
        assert!(connections.admit(peer("10.0.0.3")).is_none(), "something is done on both");
        drop(busy);
        assert!(connections.admit(peer("10.0.0.3")).is_some());
        assert!(gone(&proven) && !gone(&third));
        drop(also);
    }

    #[test]
    fn one_customer_has_one_address_however_it_is_written() {
        let connections = Connections::new(10, 1);
        for [one, other] in [["2001:db8::1", "2001:db8::ffff:2"], ["10.0.0.1", "::ffff:10.0.0.1"]] {
            let first = connections.admit(peer(one)).unwrap();
            let _second = connections.admit(peer(other)).unwrap();
            assert!(gone(&first), "{one} {other}");
        }
    }
}
