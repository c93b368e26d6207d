//! The faults that can be caused between a client and the node, and their number.
//!
//! A [`Fault`] waits for the next request that it concerns and happens to it, [`Faults::add`] once, [`Faults::set`] until
//! [`Faults::clear`]. The chain itself stays honest: it is the talk about it that suffers.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Something that goes wrong with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is carried out, and no answer ever comes.
    ActThenHang,
    /// The request is carried out, and the connection is reset.
    ActThenReset,
    /// The request is not carried out, and no answer ever comes.
    Hang,
    /// The request is not carried out, and the connection is reset.
    Reset,
    /// The request is carried out twice; the second answer is given.
    ActTwice,
    /// The request is carried out, and its transaction is then lost from the pool; the answer is good.
    ActThenDrop,
    /// A broadcast is answered with a refusal that the node did not come to, and is not pooled.
    Refuse {
        /// The code's name.
        code: String,
        /// The text.
        message: String,
    },
    /// A broadcast is pooled and answered with `NOT_ENOUGH_EFFECTIVE_CONNECTION`, "P2P broadcast failed.".
    PoolButNotRelay,
    /// The request is not carried out; the node answers that it lacks resources.
    RateLimit,
    /// The request is not carried out; a proxy answers with a status and a body.
    Status {
        /// HTTP status.
        status: u16,
        /// Its body.
        body: String,
    },
    /// The request is carried out, and the answer is cut in the middle.
    ActThenTruncate,
    /// The request is carried out, and an HTML page comes back.
    ActThenHtml,
    /// Reads see the chain as it was this many blocks ago.
    Lag(u64),
    /// The node says that it is a lite node and answers nothing.
    Lite,
    /// Infos are not found, as if the index had not caught up.
    NoInfo,
    /// A constant call runs out of time at its first opcode.
    CpuTimeout,
}

impl Fault {
    /// A refusal of a broadcast.
    pub fn refuse(code: &str, message: &str) -> Self {
        Self::Refuse { code: code.to_owned(), message: message.to_owned() }
    }

    /// An answer of a proxy.
    pub fn status(status: u16, body: &str) -> Self {
        Self::Status { status, body: body.to_owned() }
    }
}

/// Which requests a fault concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// Any request.
    Any,
    /// Broadcasts.
    Broadcast,
    /// Everything but broadcasts.
    Read,
    /// Requests whose path ends so.
    Path(String),
}

impl On {
    fn concerns(&self, path: &str) -> bool {
        let broadcast = path.contains("/broadcast");
        match self {
            Self::Any => true,
            Self::Broadcast => broadcast,
            Self::Read => !broadcast,
            Self::Path(end) => path.ends_with(end.as_str()),
        }
    }
}

/// The faults that are waiting. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    once: VecDeque<(On, Fault)>,
    always: Vec<(On, Fault)>,
}

impl Faults {
    /// Lets `fault` happen to the next request that `on` concerns.
    pub fn add(&self, on: On, fault: Fault) {
        self.waiting.lock().once.push_back((on, fault));
    }

    /// Lets `fault` happen to every request that `on` concerns.
    pub fn set(&self, on: On, fault: Fault) {
        self.waiting.lock().always.push((on, fault));
    }

    /// All is well again.
    pub fn clear(&self) {
        *self.waiting.lock() = Waiting::default();
    }

    /// Returns how many one-time faults still wait: 0 shows that a scenario had them all.
    pub fn waiting(&self) -> usize {
        self.waiting.lock().once.len()
    }

    /// The fault that happens to a request for `path`.
    pub(crate) fn next(&self, path: &str) -> Option<Fault> {
        let mut waiting = self.waiting.lock();
        let found = waiting.once.iter().position(|(on, _)| on.concerns(path));
        if let Some(index) = found {
            return waiting.once.remove(index).map(|(_, fault)| fault);
        }
        waiting.always.iter().find(|(on, _)| on.concerns(path)).map(|(_, fault)| fault.clone())
    }
}
