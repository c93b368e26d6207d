"""The report: results of rows, of as many runs as there were, added up, and written down with a fixed text."""

import json
import math
from collections import Counter
from pathlib import Path

from faults import ROWS
from judge import LAWS
from planted import known

_HERE = Path(__file__).resolve().parent
_FAMILIES = {"139": "EVM", "136": "TRON"}
HEAD = (
    "| fault | family | journal | injected | charges | twice | lost | stuck | false answers | median s | 99 % s | seeds |\n"
    + "| --- " * 3 + "| ---: " * 8 + "| --- |"
)


def read(paths):
    """The results of some files."""
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def lines(results):
    """The rows of the table: results of one fault, family and journal are one line."""
    sums, seeds, recoveries = {}, {}, {}
    for result in results:
        if "planted" in result:
            continue
        for chain, family in result["families"].items():
            key = (result["fault"], _FAMILIES[chain], result["journal"])
            sums.setdefault(key, Counter()).update({name: value for name, value in family.items() if name != "recovery"})
            recoveries.setdefault(key, Counter()).update(family["recovery"])
            seeds.setdefault(key, set()).add(result["seed"])
    order = list(ROWS)
    for key in sorted(sums, key=lambda key: (order.index(key[0]) if key[0] in order else len(order), key)):
        total, times = sums[key], recoveries[key]
        if not total["injected"] and not any(total[law] for law in ("twice", "lost", "stuck", "false")):
            continue
        numbers = [f"{total[name]:,}" for name in ("injected", "charges", "twice", "lost", "stuck", "false")]
        cells = [*key, *numbers, percentile(times, 0.5), percentile(times, 0.99), ranges(seeds[key])]
        yield "| " + " | ".join(cells) + " |"


def percentile(times, share):
    """The time within which this share of the faults was over, in seconds; a dash where there was none."""
    place = math.ceil(share * sum(times.values()))
    for time, count in sorted(times.items(), key=lambda one: float(one[0])):
        place -= count
        if place <= 0:
            return time
    return "–"


def ranges(seeds):
    """Whole numbers as ranges: 1–3, 7."""
    parts = []
    for seed in sorted(seeds):
        if parts and parts[-1][1] == seed - 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


def page(results):
    """The whole report."""
    played = [result for result in results if "planted" not in result]
    runs = {}
    for result in played:
        runs.setdefault((result["commit"], result["programs"], result["machine"]), []).append(result["seconds"])
    hours = sum(result["seconds"] for result in played) / 3600
    conducted = [
        f"* commit {commit}, {programs} programs, {machine}: {len(seconds)} rows of {sum(seconds) / len(seconds):.0f} s"
        for (commit, programs, machine), seconds in runs.items()
    ]
    breaches = [
        f"* {result['fault']}, {result['journal']}, seed {result['seed']}: {law}: {evidence}"
        for result in played for law, _, evidence in result["convictions"]
    ]
    words = (_HERE / "report.md").read_text()
    parts = {
        "hours": f"{hours:.1f}", "runs": "\n".join(conducted), "table": "\n".join([HEAD, *lines(results)]),
        "faults": "\n".join(f"* `{name}`: {fault.words}" for name, fault in ROWS.items()),
        "breaches": "\n".join(breaches) or "No law was broken.",
        "planted": "\n".join(planted(results)),
    }
    for law in LAWS:
        names = sorted({one["planted"] for one in best(results).values() if law in one["law"].split(", ")})
        parts[f"planted:{law}"] = ", ".join(f"`{name}`" for name in names)
    for name, text in parts.items():
        words = words.replace("{{" + name + "}}", text)
    return words


def best(results):
    """The result of each planted fault: of several runs the last one that convicted it, if any did."""
    found = {}
    for result in results:
        if "planted" in result and (result["by"] or result["planted"] not in found):
            found[result["planted"]] = result
    return found


def planted(results):
    """The faults that can be planted in the product, and which row convicted each: a line for each."""
    yield "| planted | in | what is broken | convicted by | laws |\n| --- | --- | --- | --- | --- |"
    found = best(results)
    for fault in known():
        result = found.get(fault.name)
        by = "not played so far" if result is None else result["by"] or "nobody: a survivor"
        law = "–" if result is None else result["law"] or "–"
        yield f"| `{fault.name}` | `{fault.crate}` | {fault.words} | {by} | {law} |"
