//! Reading all funds and simulating the billing call.

use super::TronChain;
use crate::billing::{Charge, Entry};
use crate::chain::profile::Looked;
use crate::chain::{ChainError, Estimate, Preflight};

impl TronChain {
    pub(super) async fn check(&self, _charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        self.ready().await?;
        Err(ChainError::Unavailable("preflight".to_owned()))
    }

    /// Runs the billing call for exactly these and says what it used.
    pub(super) async fn measure(&self, _good: &[Charge]) -> Result<Estimate, ChainError> {
        self.ready().await?;
        Err(ChainError::Unavailable("simulation".to_owned()))
    }

    pub(super) async fn look_up(
        &self,
        _entries: &[Entry],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        self.ready().await?;
        Err(ChainError::Unavailable("lookup".to_owned()))
    }
}
