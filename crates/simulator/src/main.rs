//! A campaign of the simulator: `SEEDS` from `FROM`, or one `SEED` in full, with the rule `MUTANT` broken, or
//! each of them in turn (`MUTANT=all`); `ONLY` one chain is billed on; `THEME=sole-liar` or `THEME=witnessed` is all
//! that goes wrong.
//! `LOG=info` shows what the Signer logs.

use mimalloc::MiMalloc;
use simulator::report::{Campaign, Replay, campaign, mutants, replay};
use std::io::{self, Write, stdout};
use std::process::ExitCode;
use std::time::Instant;
use tracing_subscriber::EnvFilter;

/// A seed asks for memory a million times.
#[global_allocator]
static MEMORY: MiMalloc = MiMalloc;

#[expect(clippy::disallowed_methods, reason = "it has no configuration but these variables")]
fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

fn main() -> ExitCode {
    match run(&mut stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

/// Plays the campaign and returns true if all is as it should be.
fn run(out: &mut impl Write) -> io::Result<bool> {
    let what = Campaign {
        from: variable("FROM").unwrap_or(0),
        seeds: variable("SEEDS").unwrap_or(2_000),
        mutant: variable("MUTANT"),
        only: variable("ONLY"),
        theme: variable("THEME"),
        threads: variable("THREADS").unwrap_or(2),
    };
    if let Some(filter) = variable::<EnvFilter>("LOG") {
        let log = tracing_subscriber::fmt().with_env_filter(filter).without_time();
        log.with_ansi(false).with_writer(io::stderr).init();
    }
    if let Some(seed) = variable("SEED") {
        return match replay(seed, &what) {
            Ok(told) => tell(out, &told),
            Err(problem) => writeln!(out, "{problem}").map(|()| false),
        };
    }
    if what.mutant.as_deref() == Some("all") { every_mutant(out, &what) } else { play(out, &what) }
}

fn tell(out: &mut impl Write, Replay { broken, lines, digest }: &Replay) -> io::Result<bool> {
    for line in lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "trace {digest:016x}; {}", broken.as_deref().unwrap_or("every law holds"))?;
    Ok(broken.is_none())
}

fn every_mutant(out: &mut impl Write, what: &Campaign) -> io::Result<bool> {
    let mut all = true;
    for (mutant, side) in mutants() {
        let what =
            Campaign { mutant: Some(mutant.clone()), only: Some(side.to_owned()), ..what.clone() };
        let broken = campaign(&what).ok().and_then(|mut tally| tally.broken.pop_first());
        all &= broken.is_some();
        match broken {
            Some((seed, law)) => writeln!(out, "{mutant:<28} {side:<5} seed {seed:<5} {law}")?,
            None => writeln!(out, "{mutant:<28} {side:<5} NOT NOTICED in {} seeds", what.seeds)?,
        }
        out.flush()?;
    }
    Ok(all)
}

fn play(out: &mut impl Write, what: &Campaign) -> io::Result<bool> {
    let begun = Instant::now();
    let tally = match campaign(what) {
        Ok(tally) => tally,
        Err(problem) => return writeln!(out, "{problem}").map(|()| false),
    };
    write!(out, "{}", tally.table())?;
    let took = begun.elapsed();
    let rate = u128::from(tally.seeds) * 1000 / took.as_millis().max(1);
    writeln!(out, "{} seeds in {} s, {rate} a second", tally.seeds, took.as_secs())?;
    for (seed, law) in &tally.broken {
        writeln!(out, "SEED={seed} breaks a law: {law}")?;
    }
    Ok(tally.broken.is_empty())
}
