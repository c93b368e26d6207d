"""Each planted fault says what is broken, is switched by its own name, and is played by rows that there are."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import planted  # noqa: E402
from faults import ROWS  # noqa: E402


class PlantedFaults(unittest.TestCase):
    def test_each_is_one_switch_in_one_file(self):
        self.assertGreaterEqual(len(planted.known()), 20)
        for fault in planted.known():
            text = fault.patch.read_text()
            self.assertEqual(text.count("\n+++ b/"), 1, fault.name)
            self.assertIn(f'"PLANTED").is_ok_and(|fault| fault == "{fault.name}")', text)
            self.assertTrue(fault.words.endswith("."), fault.name)
            self.assertLessEqual(set(fault.rows), set(ROWS), fault.name)

    def test_each_fits_the_product_as_it_is(self):
        root = Path(__file__).resolve().parents[2]
        for fault in planted.known():
            fits = subprocess.run(["git", "apply", "--check", fault.patch], cwd=root, capture_output=True, text=True)
            self.assertEqual(fits.returncode, 0, f"{fault.name}: {fits.stderr}")


if __name__ == "__main__":
    unittest.main()
