//! The door of a server: it accepts connections, reads bodies and shares out places, so that nobody takes what
//! is another's. Knows nothing of what is served.
//!
//! | module | what it owns |
//! | --- | --- |
//! | `serve` | accepting connections, and what is spoken on each |
//! | `crowd` | who has to go when a room is full. Pure |
//! | `connections` | the connections that are open, and who is known at which address |
//! | `handshakes` | TLS, so many at once |
//! | `arrivals` | bodies on their way in |
//! | `patient` | answers that nobody reads |
//! | `shares` | places for work, so many for each name |
//! | `lines` | log lines, so many for each name |

mod arrivals;
mod connections;
mod crowd;
mod handshakes;
mod lines;
mod manners;
mod patient;
mod serve;
mod shares;

pub use arrivals::{Arrivals, NotRead};
pub use connections::{Busy, Guest};
pub use crowd::Owner;
pub use handshakes::{Handshakes, Terms};
pub use lines::Lines;
pub use manners::Manners;
pub use serve::serve;
pub use shares::{Share, Shares};
