//! One way to ask, whoever is asked: the nodes of a chain, which of them are fit to be asked, and how
//! many have to say the same before it counts. Knows no chain family.

pub mod fleet;
pub mod rpc;
