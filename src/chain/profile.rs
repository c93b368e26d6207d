//! stub
#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "stub")]
use crate::billing::*;
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked;
#[derive(Debug)]
pub struct Profile;
impl Profile {
    pub fn single(&self) -> bool {
        false
    }
    pub fn has_lookup(&self) -> bool {
        false
    }
    pub fn admit(&self, _: &Entry) -> Result<(), BadField> {
        Ok(())
    }
    pub fn stated_period(&self, _: &Entry) -> Option<Period> {
        None
    }
    pub fn complete(&self, e: Entry, _: Option<&Looked>) -> Result<Charge, Refused> {
        Err(e.refused(FailCode::NotAttempted))
    }
}
