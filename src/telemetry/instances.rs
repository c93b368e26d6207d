//! The metrics of the processes that have one journal in common.

use super::chains::count;
use super::scrape::Scrape;
use ::journal::{Instance, StandbySight};
use prometheus_client::encoding::text::encode_eof;
use std::time::Duration;

/// Tells if this process serves or stands by, and the other processes there are.
pub(super) fn tell(scrape: &mut Scrape, standby: Option<&StandbySight>, instances: &[Instance]) {
    let help = "1 where this process serves, 0 where it stands by";
    scrape.gauges(("serves", help), vec![([], i64::from(standby.is_none()))]);
    let help = "1 where this process could take the journal over now, and bill with it";
    let could = standby.map(|sight| ([], i64::from(sight.could_take_over())));
    scrape.gauges(("could_take_over", help), could.into_iter().collect());
    let help = "Seconds since each Signer on the journal's server said that it is there";
    let silent = instances.iter().map(|one| (labels(one), one.silent.as_secs_f64()));
    scrape.floats(("instance_silent_seconds", help), silent.collect());
    let help = "Seconds that the clock of each Signer is before that of the journal's server";
    let ahead = instances.iter().map(|one| (labels(one), seconds(one.ahead_ms)));
    scrape.floats(("instance_clock_offset_seconds", help), ahead.collect());
    let help = "1 where a Signer could bill on some chain if it had the journal, 0 where its machine reaches no \
                node or no key of any";
    let fit = instances.iter().map(|one| (labels(one), i64::from(one.unfit.is_none())));
    scrape.gauges(("instance_fit", help), fit.collect());
    let help = "What money depends on and is configured otherwise than at the Signer that serves";
    let differs = instances.iter().map(|one| (labels(one), count(one.differs.len())));
    scrape.gauges(("instance_differs", help), differs.collect());
    let help = "How many Signers stand by that could serve now";
    let shared = (!instances.is_empty()).then(|| {
        let standbys = instances.iter().filter(|one| one.stands_by_and_could_serve()).count();
        ([], count(standbys))
    });
    scrape.gauges(("standbys", help), shared.into_iter().collect());
}

fn labels(instance: &Instance) -> [(&'static str, String); 4] {
    let Instance { name, start, program, serves, .. } = instance;
    let state = if *serves { "serves" } else { "standby" }.to_owned();
    [
        ("instance_name", name.clone()),
        ("start", start.clone()),
        ("version", program.clone()),
        ("state", state),
    ]
}

fn seconds(ms: i64) -> f64 {
    let size = Duration::from_millis(ms.unsigned_abs()).as_secs_f64();
    size.copysign(if ms < 0 { f64::MIN } else { f64::MAX })
}

/// A scrape of a process that stands by: nothing else is known there. Its certificate is good `until` then, Unix
/// seconds, where it has one.
pub fn stands_by(sight: &StandbySight, until: Option<i64>) -> String {
    let mut scrape = Scrape::new();
    let version = ("version", env!("CARGO_PKG_VERSION").to_owned());
    scrape.gauges(("build_info", "1; which program this is"), vec![([version], 1)]);
    let port = |until| ([("port", "http.listen".to_owned())], until);
    let ends =
        ("certificate_end_timestamp_seconds", "When the certificate of a port ends, Unix time");
    scrape.gauges(ends, until.map(port).into_iter().collect());
    tell(&mut scrape, Some(sight), &sight.instances());
    let mut text = String::new();
    match scrape.write(&mut text).and_then(|()| encode_eof(&mut text)) {
        Ok(()) => text,
        Err(error) => format!("# {error}\n# EOF\n"),
    }
}
