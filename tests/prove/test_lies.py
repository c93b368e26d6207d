"""A lie is another answer than the honest one, and false refusals say every text that the product knows."""

import asyncio
import json
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import lies  # noqa: E402
import proxy  # noqa: E402

RECEIPT = {"status": "0x1", "logs": [{"data": "0x01"}], "blockNumber": "0x10", "blockHash": "0xff"}


class Asked(proxy.Question):
    """A question whose node answers with a receipt."""

    def __init__(self, name):
        body = json.dumps({"jsonrpc": "2.0", "id": 4, "method": name, "params": []}).encode()
        super().__init__(139, None, "POST", "", {}, body)
        self.asked = 0

    async def honest(self):
        self.asked += 1
        return 200, self.told(RECEIPT)


def told(kind, name="eth_getTransactionReceipt", seed=1):
    question = Asked(name)
    return question, asyncio.run(kind(random.Random(seed), 1).tell(question, None))


class Lies(unittest.TestCase):
    def test_an_altered_answer_differs(self):
        for kind in (lies.Alters, lies.Withholds, lies.Forges, lies.Html, lies.Huge):
            for seed in range(20):
                question, (_, body, *_) = told(kind, seed=seed)
                self.assertNotEqual(body, question.told(RECEIPT), kind)

    def test_an_answer_that_is_doubled_was_asked_for_twice(self):
        self.assertEqual(told(lies.Doubles)[0].asked, 2)

    def test_a_stale_answer_is_the_first_one(self):
        lie, question = lies.Stale(random.Random(1), 1), Asked("eth_blockNumber")
        self.assertIsNone(asyncio.run(lie.tell(question, None)))
        self.assertEqual(asyncio.run(lie.tell(question, None)), (200, question.told(RECEIPT)))
        self.assertEqual(question.asked, 1)

    def test_only_transactions_are_refused(self):
        self.assertIsNone(told(lies.Refuses)[1])
        _, (_, body) = told(lies.Refuses, "eth_sendRawTransaction")
        self.assertIn(json.loads(body)["error"]["message"], lies.known_texts())

    def test_every_text_of_the_table_is_read(self):
        table = (Path(__file__).resolve().parents[2] / "crates/evm-testimony/src/errors/table.rs").read_text()
        self.assertEqual(len(lies.known_texts()), table.count('\n    row("'))


if __name__ == "__main__":
    unittest.main()
