//! The journal on a server, as far as its handle knows of it: instances and standby.

pub(crate) mod instances;
pub(crate) mod standby;
