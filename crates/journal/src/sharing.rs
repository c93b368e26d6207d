//! The journal on a server, as far as its handle knows of it: instances, standby, and the way to the server.

pub(crate) mod instances;
pub(crate) mod server_link;
pub(crate) mod standby;
