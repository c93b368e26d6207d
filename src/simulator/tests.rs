use super::faults::Fault;
use super::report::Tally;
use super::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Seeds of a run of all tests.
const SLICE: u64 = 1_000;

/// A mutant is caught within so many.
const PATIENCE: u64 = 4_000;

/// What has to happen at least once in a slice, besides every fault.
const EDGES: [&str; 38] = [
    "posted",
    "posted again",
    "posted a subset",
    "posted a superset",
    "posted another amount",
    "posted another user",
    "answered: sent",
    "answered: sent in part",
    "answered: refused",
    "answered: conflict",
    "answered: no verdict",
    "signed",
    "durable",
    "sent",
    "mined",
    "undone",
    "started",
    "died",
    "seen absent",
    "seen included",
    "seen final",
    "seen usurped",
    "seen nothing",
    "the winner was not the newest attempt",
    "a bill won against its cancel",
    "writes shared a commit",
    "an unclear commit is on disk",
    "a full disk took the transaction back",
    "forgotten by the restored journal",
    "batch charged",
    "batch reverted",
    "batch cancelled",
    "batch usurped",
    "adopted",
    "replaced",
    "cancelled",
    "item failed",
    "claimed again after it was free",
];

#[test]
fn nobody_is_charged_twice_whatever_goes_wrong() {
    let tally = campaign(0..SLICE, None);
    let never: Vec<&str> =
        Fault::words().chain(EDGES).filter(|what| !tally.counts.contains_key(what)).collect();
    assert!(never.is_empty(), "never happened: {never:?}\n{tally}");
}

#[test]
fn a_seed_is_played_the_same_way_again() {
    let mut digests = vec![];
    for _ in 0..2 {
        // A disk that other seeds were played on is as good as a new one.
        let mut disk = Disk::new();
        drop(play(digests.len() as u64 + 77, None, &mut disk));
        digests
            .push((0..20).map(|seed| play(seed, None, &mut disk).log.digest).collect::<Vec<_>>());
    }
    assert_eq!(digests[0], digests[1]);
    let different: std::collections::BTreeSet<_> = digests[0].iter().collect();
    assert_eq!(different.len(), 20);
}

#[test]
fn every_broken_rule_is_noticed() {
    let next = AtomicU64::new(0);
    let survivors: Vec<Mutant> = std::thread::scope(|scope| {
        let hunt = || {
            let mut disk = Disk::new();
            let mut alive = vec![];
            while let Some(mutant) =
                Mutant::ALL.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap())
            {
                match caught(*mutant, &mut disk) {
                    Some((seed, law)) => println!("{mutant:?}: seed {seed}: {law}"),
                    None => alive.push(*mutant),
                }
            }
            alive
        };
        let hunters: Vec<_> = (0..threads()).map(|_| scope.spawn(hunt)).collect();
        hunters.into_iter().flat_map(|hunter| hunter.join().unwrap()).collect()
    });
    assert!(survivors.is_empty(), "not noticed within {PATIENCE} seeds: {survivors:?}");
}

fn caught(mutant: Mutant, disk: &mut Disk) -> Option<(u64, String)> {
    (0..PATIENCE).find_map(|seed| play(seed, Some(mutant), disk).broken.map(|law| (seed, law)))
}

/// `SEEDS=200000 ./test --campaign`, or `SEED=77 ./test --campaign` for one, with `MUTANT=` as it is
/// named in `mutants`.
#[test]
#[ignore = "as long as you like: ./test --campaign"]
#[expect(clippy::disallowed_methods, reason = "what a campaign plays is no configuration")]
fn a_campaign() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let mutant = std::env::var("MUTANT").ok().map(|name| Mutant::named(&name).unwrap());
    let begun = Instant::now();
    let from = number("SEED").or_else(|| number("FROM")).unwrap_or(0);
    let many = if number("SEED").is_some() { 1 } else { number("SEEDS").unwrap_or(20_000) };
    let tally = campaign(from..from + many, mutant);
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let speed = tally.seeds * 1000 / ms.max(1);
    println!("{tally}{speed} seeds a second on {} threads", threads());
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Plays seeds on all cores; panics with a report at the first broken law.
fn campaign(seeds: std::ops::Range<u64>, mutant: Option<Mutant>) -> Tally {
    let next = AtomicU64::new(seeds.start);
    let all = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(|| {
                let (mut disk, mut tally) = (Disk::new(), Tally::default());
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let outcome = play(seed, mutant, &mut disk);
                    if let Some(law) = outcome.broken {
                        next.store(seeds.end, Ordering::Relaxed);
                        panic!("{}", report(seed, mutant, &law, &outcome.log));
                    }
                    tally.add(&outcome.log);
                }
                all.lock().merge(&tally);
            });
        }
    });
    all.into_inner()
}

fn report(seed: u64, mutant: Option<Mutant>, law: &str, log: &Log) -> String {
    let broken = mutant.map_or(String::new(), |mutant| format!(" MUTANT={mutant:?}"));
    format!(
        "\n{}\nseed {seed}, mutant {mutant:?}: {law}\nagain: SEED={seed}{broken} ./test --campaign\n",
        log.tail()
    )
}
