"""Results of several runs add up, and the table shows them."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import report  # noqa: E402
import row  # noqa: E402


def result(seed, injected, recovery, **family):
    plain = {"injected": injected, "charges": 10, "twice": 0, "lost": 0, "stuck": 0, "false": 0, "recovery": recovery}
    return {"fault": "kill", "journal": "file", "seed": seed, "families": {"139": plain | family}}


class TheTable(unittest.TestCase):
    def test_runs_add_up(self):
        told = list(report.lines([result(1, 2, {"0.5": 2}), result(2, 3, {"0.5": 1, "9.0": 1}, twice=1), result(5, 0, {})]))
        self.assertEqual(told, ["| kill | EVM | file | 5 | 30 | 1 | 0 | 0 | 0 | 0.5 | 9.0 | 1–2, 5 |"])

    def test_recovery_is_the_time_to_the_next_verdict(self):
        self.assertEqual(row.recoveries([1.0, 2.0, 8.0], [0.5, 2.5, 3.0]), {"1.5": 1, "0.5": 1})

    def test_convictions_are_counted_by_family(self):
        convictions = [("twice", 139, ""), ("status", 139, ""), ("audit", None, ""), ("lost", 136, "")]
        self.assertEqual(row.count(convictions, 139), {"twice": 1, "lost": 0, "stuck": 0, "false": 2})
        self.assertEqual(row.count(convictions, 136), {"twice": 0, "lost": 1, "stuck": 0, "false": 1})

    def test_the_page_is_what_the_results_make(self):
        here = Path(__file__).resolve().parent
        made = report.page(report.read([here / "results.jsonl"]))
        self.assertEqual((here.parents[1] / "docs/reliability.md").read_text(), made)


if __name__ == "__main__":
    unittest.main()
