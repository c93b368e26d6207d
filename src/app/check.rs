//! stub
use crate::config::Config;
use std::fmt;
/// Report.
#[derive(Debug)]
pub struct Report;
impl Report {
    /// Passed.
    pub fn passed(&self) -> bool {
        true
    }
}
impl fmt::Display for Report {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
/// Run.
pub async fn run(_: &Config) -> Report {
    Report
}
