"""Every law convicts a history that breaks it, and no law convicts an honest one."""

import copy
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import curve  # noqa: E402
from blocks import Charge, base58, tron_hex  # noqa: E402
from judge import LAWS, History, Post, judge  # noqa: E402
from keccak import keccak256  # noqa: E402
from transactions import message, rlp  # noqa: E402

HASH, OTHER = "aa" * 32, "bb" * 32
ENTRY = {"subscribeId": 7, "period": 3}


def sent(hash_, ids=(7,), earlier=()):
    return {"data": {"txHash": f"0x{hash_}", "subscriptionIds": list(ids), "earlier": list(earlier)}}


def status(hash_, state="charged", charge="charged"):
    return {
        "txHash": hash_, "txHashes": [hash_], "state": state, "chainId": 139,
        "subscriptions": [{"subscribeId": 7, "period": "3", "state": charge}],
    }


def honest():
    """One charge that was asked for twice: the first caller heard nothing, the second its hash."""
    row = {"chain": 139, "subscription": 7, "period": 3, "amount": 5}
    return History(
        posts=[Post(139, [ENTRY], 1.0, 2.0), Post(139, [ENTRY], 3.0, 4.0, 1, sent(HASH))],
        charges=[Charge(139, 7, 3, 5, HASH)],
        transactions={HASH},
        billings={HASH: status(HASH)},
        ledger=[row], copies=[("restore", "", [row])], totals=[{"chain": 139, "amount": 5}], told=[(139, 7, 3)],
        certificates=[(Charge(139, 7, 3, 5, HASH), "")],
    )


def refused():
    """One subscription that was refused, and not charged."""
    return History([Post(139, [ENTRY], 1.0, 2.0, 2, {"data": []})], [], set(), {}, copies=[("restore", "", [])])


class TheJudge(unittest.TestCase):
    def convicts(self, law, change, of=honest):
        history = copy.deepcopy(of())
        self.assertEqual(judge(history), [])
        change(history)
        self.assertIn(law, {name for name, _, _ in judge(history)})
        self.assertIn(law, LAWS)

    def test_a_period_that_is_charged_twice(self):
        self.convicts("twice", lambda h: h.charges.append(Charge(139, 7, 3, 5, OTHER)))

    def test_a_promise_that_is_never_kept(self):
        self.convicts("lost", lambda h: h.charges.clear())

    def test_a_promise_whose_end_is_told_is_kept(self):
        history = honest()
        history.charges.clear()
        history.billings = {HASH: status(HASH, "reverted", "reverted")}
        self.assertNotIn("lost", {law for law, _, _ in judge(history)})

    def test_a_name_that_nobody_knows(self):
        self.convicts("named", lambda h: h.billings.update({HASH: None}))

    def test_a_name_that_is_in_no_block(self):
        self.convicts("named", lambda h: h.transactions.clear())

    def test_a_charge_after_a_refusal(self):
        self.convicts("refused", lambda h: h.charges.append(Charge(139, 7, 3, 5, HASH)), refused)

    def test_a_charge_by_another_request_than_the_one_that_was_promised(self):
        def change(history):
            history.posts = [
                Post(139, [ENTRY | {"tag": 1}], 1.0, 2.0, 2, {"data": []}),
                Post(139, [ENTRY | {"tag": 2}], 3.0, 4.0, 1, sent(HASH)),
            ]
            history.charges = [Charge(139, 7, 3, 5, HASH, 1)]

        self.convicts("refused", change)

    def test_a_charge_after_no_verdict(self):
        def change(history):
            history.posts = [Post(139, [ENTRY], 1.0, 2.0, 0, {"data": None})]

        self.convicts("refused", change)

    def test_a_charge_of_which_only_a_repeat_hears(self):
        def change(history):
            history.posts = [
                Post(139, [ENTRY], 1.0, 2.0, 0, {"data": None}),
                Post(139, [ENTRY], 3.0, 4.0, 1, sent(HASH) | {"msg": "Already sent: the transaction is open"}),
            ]

        self.convicts("refused", change)

    def test_a_repeat_that_names_another_billing(self):
        def change(history):
            history.posts.append(Post(139, [ENTRY], 5.0, 6.0, 1, sent(OTHER)))
            history.billings[OTHER] = status(OTHER)

        self.convicts("repeats", change)

    def test_a_repeat_after_an_end_without_a_charge(self):
        history = honest()
        history.posts.insert(0, Post(139, [ENTRY], 0.1, 0.2, 1, sent(OTHER)))
        history.billings[OTHER] = status(OTHER, "reverted", "reverted")
        history.failed = {OTHER}
        self.assertEqual(judge(history), [])

    def test_a_repeat_whose_name_is_that_of_another(self):
        def change(history):
            taken = {"msg": "this requestId stands for other entries already", "data": None}
            history.posts += [Post(139, [ENTRY], 5.0 + at, 6.0, code, body, "one", status)
                              for at, code, body, status in ((0, None, None, None), (1, 0, taken, 409))]

        self.convicts("repeats", change)

    def test_a_charge_that_is_due_and_is_not_made(self):
        self.convicts("made", lambda h: h.due.append((139, 7, 3)), refused)

    def test_a_status_that_the_chain_contradicts(self):
        self.convicts("status", lambda h: h.billings.update({HASH: status(HASH, "charged", "failed")}))
        self.convicts("status", lambda h: h.failed.add(HASH))
        self.convicts("status", lambda h: h.billings.update({HASH: status(HASH, "reverted")}))

    def test_a_ledger_with_a_row_too_many_and_with_one_too_few(self):
        self.convicts("ledger", lambda h: h.ledger.append(h.ledger[0]))
        self.convicts("ledger", lambda h: h.ledger.clear())
        self.convicts("ledger", lambda h: h.pages.update(newest=[]))

    def test_sums_that_are_others_than_those_of_the_chain(self):
        self.convicts("totals", lambda h: h.totals.clear())
        self.convicts("totals", lambda h: setattr(h, "totals_proven", "1 difference"))

    def test_a_charge_of_which_no_event_tells(self):
        self.convicts("events", lambda h: h.told.clear())
        self.convicts("events", lambda h: h.told.append((139, 8, 3)))

    def test_a_charge_whose_certificate_proves_nothing(self):
        self.convicts("certificate", lambda h: h.certificates.append((h.charges[0], "altered since it was written")))

    def test_what_the_journal_says_of_itself(self):
        self.convicts("audit", lambda h: setattr(h, "audit", "batch 1 differs"))
        self.convicts("backup", lambda h: h.copies.append(("backup", "the copy is not kept", None)))
        self.convicts("backup", lambda h: h.copies.append(("restore", "", [])))

    def test_what_does_not_end(self):
        self.convicts("ends", lambda h: setattr(h, "undecided", {139: 1}))
        self.convicts("ends", lambda h: setattr(h, "ready", False))
        self.convicts("ends", lambda h: setattr(h, "unheard", [(139, [(139, 7, 3)])]))

    def test_every_law_has_a_history_that_breaks_it(self):
        text = Path(__file__).read_text()
        self.assertEqual([law for law in LAWS if f'convicts("{law}"' not in text], [])


class TheReader(unittest.TestCase):
    def test_digests(self):
        empty = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
        self.assertEqual(keccak256(b"").hex(), empty)
        transfer = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
        self.assertEqual(keccak256(b"Transfer(address,address,uint256)").hex(), transfer)

    def test_addresses(self):
        # The zero address, as explorers of TRON spell it.
        self.assertEqual(tron_hex("T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"), "00" * 20)
        self.assertEqual(base58(bytes(20)), "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb")

    def test_signatures(self):
        # The example of EIP-155, whose nonce is another: the address follows from the key alone.
        self.assertEqual(curve.address(0x4646464646464646464646464646464646464646464646464646464646464646).hex(),
                         "9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f")
        r, s, parity = curve.sign(7, bytes(range(32)))
        self.assertEqual(curve.recover(bytes(range(32)), r, s, parity), curve.address(7))

    def test_encodings(self):
        self.assertEqual(rlp([1, b"dog", [], 1024, bytes(56)])[:3].hex(), "f84301")
        self.assertEqual(rlp([b"cat", b"dog"]), b"\xc8\x83cat\x83dog")
        self.assertEqual(message((1, 150), (2, b"testing"), (3, 0)), bytes.fromhex("089601120774657374696e67"))


if __name__ == "__main__":
    unittest.main()
