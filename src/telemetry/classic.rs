//! The older text format of Prometheus.

use std::collections::HashSet;

/// `OpenMetrics` text in the older format, in which a counter is described under its whole name.
pub fn classic(openmetrics: &str) -> String {
    let named =
        |line: &str| line.strip_prefix("# TYPE ")?.strip_suffix(" counter").map(str::to_owned);
    let counters: HashSet<String> = openmetrics.lines().filter_map(named).collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT "))
    {
        match line.splitn(4, ' ').collect::<Vec<_>>().as_slice() {
            ["#", word @ ("HELP" | "TYPE"), name, rest] if counters.contains(*name) => {
                text.extend(["# ", word, " ", name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}
