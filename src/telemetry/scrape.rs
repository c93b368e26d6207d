//! One scrape: every metric that is read when it is asked for, put together from values that stand, so
//! that nobody sees half of them.

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use std::fmt;

/// The labels of one value: names and what they say.
pub(super) type Labels<const N: usize> = [(&'static str, String); N];

/// A metric with a value for each set of labels.
pub(super) type Samples<const N: usize, V> = Vec<(Labels<N>, V)>;

/// The name of a metric without `signer_`, and its help text.
pub(super) type Named = (&'static str, &'static str);

/// The metrics of one scrape.
#[derive(Debug)]
pub(super) struct Scrape(Registry);

impl Scrape {
    pub(super) fn new() -> Self {
        Self(Registry::with_prefix("signer"))
    }

    /// Whole numbers that go up and down.
    pub(super) fn gauges<const N: usize>(&mut self, named: Named, values: Samples<N, i64>) {
        self.register(named, values.into_iter().map(|(at, value)| (at, ConstGauge::new(value))));
    }

    /// Numbers that go up and down.
    pub(super) fn floats<const N: usize>(&mut self, named: Named, values: Samples<N, f64>) {
        self.register(named, values.into_iter().map(|(at, value)| (at, ConstGauge::new(value))));
    }

    /// Adds counts from the start of the process. The name gets `_total`.
    pub(super) fn counters<const N: usize>(&mut self, named: Named, values: Samples<N, u64>) {
        self.register(named, values.into_iter().map(|(at, value)| (at, ConstCounter::new(value))));
    }

    /// The same of what is no whole number.
    pub(super) fn sums<const N: usize>(&mut self, named: Named, values: Samples<N, f64>) {
        self.register(named, values.into_iter().map(|(at, value)| (at, ConstCounter::new(value))));
    }

    /// Adds histograms of durations.
    pub(super) fn durations<const N: usize>(
        &mut self,
        named: Named,
        values: Samples<N, Histogram>,
    ) {
        self.register(named, values.into_iter());
    }

    fn register<const N: usize, M>(
        &mut self,
        named: Named,
        rows: impl Iterator<Item = (Labels<N>, M)>,
    ) where
        M: EncodeMetric + TypedMetric + fmt::Debug + Send + Sync + 'static,
    {
        let (name, help) = named;
        self.0.register(name, help, Series::<N, M>(rows.collect()));
    }

    /// As `OpenMetrics` text, without its end.
    pub(super) fn write(&self, text: &mut String) -> fmt::Result {
        encode_registry(text, &self.0)
    }
}

/// The rows of a metric. One without rows is described all the same.
#[derive(Debug)]
struct Series<const N: usize, M>(Vec<(Labels<N>, M)>);

impl<const N: usize, M: EncodeMetric + TypedMetric> EncodeMetric for Series<N, M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        if N == 0 {
            return self.0.first().map_or(Ok(()), |(_, value)| value.encode(encoder));
        }
        self.0.iter().try_for_each(|(labels, value)| value.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}
