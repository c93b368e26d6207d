//! What `check` wants to know about a chain, asked before the first request.

use super::Chain;
use async_trait::async_trait;

/// A chain that can be looked at as a whole.
#[async_trait]
pub trait Inspect: Chain {
    /// Looks at everything that a billing needs of the chain.
    async fn inspect(&self) -> Vec<Finding>;
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// Whether billing cannot work like this.
    pub fault: bool,
    /// What was found.
    pub said: String,
}

impl Finding {
    /// Nothing in the way.
    pub fn fine(what: &'static str, said: impl Into<String>) -> Self {
        Self { what, fault: false, said: said.into() }
    }

    /// Something to mend.
    pub fn fault(what: &'static str, said: impl Into<String>) -> Self {
        Self { what, fault: true, said: said.into() }
    }
}
