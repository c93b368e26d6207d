//! Why a server did not do what it was asked for.

/// Why a server did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.words())]
pub struct ServerFault {
    /// The server's code for the fault (SQLSTATE). None if the connection failed; it is then unknown what the
    /// server did.
    pub state: Option<String>,
    /// The constraint that a row did not meet.
    pub constraint: Option<String>,
    /// In words.
    pub problem: String,
}

impl ServerFault {
    /// Nothing that the server has a name for.
    pub fn said(problem: impl Into<String>) -> Self {
        Self { state: None, constraint: None, problem: problem.into() }
    }

    /// Makes a fault of a finding about the server, in whole sentences.
    pub fn found(problem: impl Into<String>) -> Self {
        Self { state: Some(FOUND.to_owned()), ..Self::said(problem) }
    }

    /// Returns true if the fault was found here, and the server has reported nothing of the kind.
    pub fn is_found(&self) -> bool {
        self.state.as_deref() == Some(FOUND)
    }

    /// Returns true if the next write would fare no better: there is no room, the disk fails, nothing may be
    /// written, or not by this role.
    pub fn lasts(&self) -> bool {
        let state = self.state.as_deref().unwrap_or_default();
        state.starts_with("53") || state.starts_with("58") || ["25006", "42501"].contains(&state)
    }

    fn words(&self) -> String {
        match self.state.as_deref() {
            Some(state) if !self.is_found() => {
                format!("{} (SQLSTATE {state}: the server's log has the statement)", self.problem)
            }
            Some(_) | None => self.problem.clone(),
        }
    }
}

/// Stands for the SQLSTATE of what was found out here. A server's has five letters.
const FOUND: &str = "found";
