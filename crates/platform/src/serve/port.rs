//! Which port on loopback something listens on. Nothing is tried and let go before it is opened for good: between the two,
//! anybody may take it.

use std::io;
use std::net::Ipv4Addr;
use tokio::net::TcpListener;

/// Which port is wanted on loopback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Port {
    /// Any that is free.
    #[default]
    Any,
    /// This one and no other.
    Exactly(u16),
    /// This one, or any if it is taken.
    Rather(u16),
}

impl Port {
    /// A number that somebody gave; 0 is any.
    pub fn given(number: u16) -> Self {
        if number == 0 { Self::Any } else { Self::Exactly(number) }
    }

    /// The numbers to ask the system for, one after the other; 0 is any.
    pub fn numbers(self) -> impl Iterator<Item = u16> {
        let (first, then) = match self {
            Self::Any => (0, None),
            Self::Exactly(number) => (number, None),
            Self::Rather(number) => (number, Some(0)),
        };
        std::iter::once(first).chain(then)
    }

    /// Opens it.
    pub async fn open(self) -> io::Result<TcpListener> {
        let mut opened = Err(io::Error::other("no port is wanted"));
        for number in self.numbers() {
            opened = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).await;
            if opened.is_ok() {
                break;
            }
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_that_is_taken_is_replaced_only_where_another_will_do() {
        let taken = Port::Any.open().await.unwrap();
        let number = taken.local_addr().unwrap().port();
        assert!(Port::Exactly(number).open().await.is_err());
        let other = Port::Rather(number).open().await.unwrap();
        assert_ne!(other.local_addr().unwrap().port(), number);
        drop(taken);
        assert!(Port::given(number).open().await.is_ok());
        assert_eq!(Port::given(0), Port::Any);
    }
}
