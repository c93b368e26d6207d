//! Visits every state of three worlds, and looks for a broken law under every broken rule. Prints a table.

use state_space::{BrokenRule, Budget, Pools, Space};
use stateright::{Checker, Expectation, HasDiscoveries, Model as _};
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;
use strum::IntoEnumIterator as _;

/// Everything happens, to two transactions.
const EVERYTHING: Budget = Budget {
    transactions: 2,
    crashes: 1,
    copies: 1,
    reorganisations: 1,
    authorizations: 1,
    changes: 1,
};

/// A copy of the journal is put back, between three transactions.
const COPIES: Budget = Budget {
    transactions: 3,
    crashes: 0,
    copies: 1,
    reorganisations: 0,
    authorizations: 0,
    changes: 0,
};

/// Blocks are undone and nonces used up, between three transactions.
const BLOCKS: Budget = Budget {
    transactions: 3,
    crashes: 1,
    copies: 0,
    reorganisations: 1,
    authorizations: 1,
    changes: 0,
};

fn main() -> io::Result<ExitCode> {
    writeln!(
        io::stdout(),
        "{:24} {:27} {:>10} {:>10} {:>5} {:>6}  laws that are broken, states that are not reached",
        "world",
        "broken rule",
        "states",
        "steps",
        "depth",
        "s"
    )?;
    let mut well = true;
    for (name, budget) in [("everything", EVERYTHING), ("copies", COPIES), ("blocks", BLOCKS)] {
        well &= visit(name, Space { budget, pools: Pools::TellAll, broken: None })?.is_empty();
    }
    for rule in BrokenRule::iter() {
        let space = Space { budget: COPIES, pools: Pools::TellAll, broken: Some(rule) };
        well &= !visit("copies", space)?.is_empty();
    }
    // The limit that docs/proof.md tells: such pools hide what waits behind a gap.
    let hidden = Space { budget: COPIES, pools: Pools::CountUpToGap, broken: None };
    well &= visit("copies, pools with gaps", hidden)?.contains(&"nobody is charged twice");
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Visits the states, prints a line, and returns the laws that are broken and the states that are not reached.
fn visit(world: &str, space: Space) -> io::Result<Vec<&'static str>> {
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let checker = space.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures);
    let checked = checker.spawn_bfs().join();
    let found = space.properties().into_iter().filter(|law| {
        let wanted = law.expectation == Expectation::Sometimes;
        checked.discovery(law.name).is_some() != wanted
    });
    let found: Vec<&str> = found.map(|law| law.name).collect();
    let rule: &str = space.broken.map_or("none", Into::into);
    writeln!(
        io::stdout(),
        "{world:24} {rule:27} {:>10} {:>10} {:>5} {:>6.1}  {}",
        checked.unique_state_count(),
        checked.state_count(),
        checked.max_depth(),
        began.elapsed().as_secs_f64(),
        found.join("; ")
    )?;
    Ok(found)
}
