//! `[traces]`: where the spans of charges go.

use super::RpcUrl;
use super::faults::Reported;
use super::kinds::{Expected, whole};
use super::reader::TableReader;

/// The receiver of the spans of charges.
#[derive(Debug, Clone)]
pub struct TracesConfig {
    /// URL that receives the spans as OTLP over HTTP. Prints without its path.
    pub url: RpcUrl,
    /// Percentage of the traces begun here that are sent: 1 to 100. Callers decide for the traces that they have
    /// begun.
    pub sample_percent: u8,
}

impl TracesConfig {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let expects = "the http or https URL of an OTLP receiver, such as \"http://127.0.0.1:4318/v1/traces\"";
        let url = reader.get("url", &Expected::of_text(expects, RpcUrl::parse));
        let sample_percent = reader.optional("sample_percent", &whole(1..=100));
        Ok(Self { url: url?, sample_percent: sample_percent?.unwrap_or(100) })
    }
}
