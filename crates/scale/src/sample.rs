//! The durations of a measured thing, each time; and the resources that this process holds.

use std::fmt;
use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) async fn time<T>(&mut self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        self.0.push(begun.elapsed().as_secs_f64() * 1e3);
        done
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
        f.pad(&format!("{:.2} / {:.1} / {:.0}", at(50), at(99), at(100)))
    }
}

/// Returns the number of bytes that this process has written so far.
pub(crate) fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap()
}

/// Memory that this process holds, MiB.
pub(crate) fn resident_mib() -> u64 {
    status("VmRSS:")
}

/// The most that it ever held, MiB.
pub(crate) fn peak_mib() -> u64 {
    status("VmHWM:")
}

fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}
