//! Visits every state of the worlds, and looks for a broken law under every broken rule. Prints a table.

use state_space::{Mark, Visit, Wanted, evm, tron, visit};
use stateright::Model;
use std::fmt::Debug;
use std::hash::Hash;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;
use strum::IntoEnumIterator as _;

/// Everything happens, to two transactions.
const EVERYTHING: evm::Budget = evm::Budget {
    transactions: 2,
    crashes: 1,
    copies: 1,
    reorganisations: 1,
    authorizations: 1,
    changes: 1,
};

/// A copy of the journal is put back, between three transactions.
const COPIES: evm::Budget = evm::Budget {
    transactions: 3,
    crashes: 0,
    copies: 1,
    reorganisations: 0,
    authorizations: 0,
    changes: 0,
};

/// Blocks are undone and nonces used up, between three transactions.
const BLOCKS: evm::Budget = evm::Budget {
    transactions: 3,
    crashes: 1,
    copies: 0,
    reorganisations: 1,
    authorizations: 1,
    changes: 0,
};

/// Everything happens to two transactions, but for copies.
const TRON_EVERYTHING: tron::Budget = tron::Budget {
    blocks: 3,
    transactions: 2,
    crashes: 1,
    copies: 0,
    reorganisations: 1,
    changes: 1,
};

/// A copy of the journal is put back, between three transactions.
const TRON_COPIES: tron::Budget = tron::Budget {
    blocks: 3,
    transactions: 3,
    crashes: 0,
    copies: 1,
    reorganisations: 0,
    changes: 0,
};

fn main() -> io::Result<ExitCode> {
    let families: Vec<String> = std::env::args().skip(1).collect();
    if let Some(other) = families.iter().find(|family| !["evm", "tron"].contains(&family.as_str()))
    {
        writeln!(io::stderr(), "{other:?} is no family: name evm, tron, or none for both")?;
        return Ok(ExitCode::FAILURE);
    }
    let wanted = |family: &str| families.is_empty() || families.iter().any(|one| one == family);
    let mut table = Table { out: io::stdout() };
    table.line(["world", "broken rule", "states", "steps", "depth", "s"], BROKEN_LAWS)?;
    let mut well = true;
    if wanted("evm") {
        well &= visit_evm(&mut table)?;
    }
    if wanted("tron") {
        well &= visit_tron(&mut table)?;
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The last column.
const BROKEN_LAWS: &str = "laws that are broken, states that are not reached";

/// Returns true if no law is broken, and each broken rule breaks one.
fn visit_evm(table: &mut Table) -> io::Result<bool> {
    let space = |budget| evm::Space {
        budget,
        requests: Wanted::ALL,
        pools: evm::Pools::TellAll,
        broken: None,
    };
    let mut well = true;
    for (name, budget) in [("everything", EVERYTHING), ("copies", COPIES), ("blocks", BLOCKS)] {
        well &= table.visit(&format!("EVM, {name}"), "none", &space(budget))?.is_empty();
    }
    for rule in evm::BrokenRule::iter() {
        let broken = evm::Space { broken: Some(rule), ..space(COPIES) };
        well &= !table.visit("EVM, copies", rule.into(), &broken)?.is_empty();
    }
    // The limit that docs/proof.md tells: such pools hide what waits behind a gap.
    let hidden = evm::Space { pools: evm::Pools::CountUpToGap, ..space(COPIES) };
    let found = table.visit("EVM, copies, pools with gaps", "none", &hidden)?;
    Ok(well & found.contains(&"nobody is charged twice"))
}

/// Returns true if no law is broken, and each broken rule breaks one.
fn visit_tron(table: &mut Table) -> io::Result<bool> {
    let everything = tron::Space {
        budget: TRON_EVERYTHING,
        requests: &[Wanted::First, Wanted::Both],
        marks: &[],
        pools: tron::Pools::TellAll,
        broken: None,
    };
    // One subscription is enough to be charged twice.
    let copies = tron::Space {
        budget: TRON_COPIES,
        requests: &[Wanted::First],
        marks: &[Mark::Stays, Mark::PutBackToo],
        ..everything
    };
    let marked = tron::Space { marks: &[Mark::Stays], pools: tron::Pools::Forget, ..copies };
    let mut well = table.visit("TRON, everything", "none", &everything)?.is_empty();
    for (name, space) in [("TRON, copies", copies), ("TRON, copies, no pools", marked)] {
        well &= table.visit(name, "none", &space)?.is_empty();
    }
    for rule in tron::BrokenRule::iter() {
        let broken = |space| tron::Space { broken: Some(rule), ..space };
        let noticed = !table.visit("TRON, copies", rule.into(), &broken(copies))?.is_empty()
            || !table.visit("TRON, copies, no pools", rule.into(), &broken(marked))?.is_empty();
        well &= noticed;
    }
    // The limit that docs/proof.md tells: nothing says that this copy is one.
    let hidden = tron::Space { marks: &[Mark::PutBackToo], ..marked };
    let found = table.visit("TRON, hidden copies, no pools", "none", &hidden)?;
    Ok(well & found.contains(&"nobody is charged twice"))
}

/// The table that is printed.
struct Table {
    out: io::Stdout,
}

impl Table {
    fn line(&mut self, columns: [&str; 6], found: &str) -> io::Result<()> {
        let [world, rule, states, steps, depth, seconds] = columns;
        writeln!(
            self.out,
            "{world:29} {rule:27} {states:>10} {steps:>10} {depth:>5} {seconds:>6}  {found}"
        )
    }

    /// Visits the states, prints a line, and returns the laws that are broken and the states that are not reached.
    fn visit<S>(&mut self, world: &str, rule: &str, space: &S) -> io::Result<Vec<&'static str>>
    where
        S: Model + Clone + Send + Sync + 'static,
        S::State: Clone + Debug + Hash + PartialEq + Send + Sync,
        S::Action: Clone + Debug + PartialEq,
    {
        let began = Instant::now();
        let Visit { states, steps, depth, found } = visit(space);
        let seconds = format!("{:.1}", began.elapsed().as_secs_f64());
        let [states, steps, depth] = [states, steps, depth].map(|count| count.to_string());
        self.line([world, rule, &states, &steps, &depth, &seconds], &found.join("; "))?;
        Ok(found)
    }
}
