//! One way to ask, whoever is asked: the nodes of a chain, which of them are fit to be asked, and how
//! many have to say the same before it counts. Knows no chain family.

pub mod exchange;
pub mod fleet;
pub mod http;
pub mod rpc;

pub use exchange::{Dial, Exchange, HeaderKey, NoReply, Reply, Target, Undialable};
pub use http::Http;
