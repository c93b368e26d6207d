"""The Python client against the vectors, the stub ($STUB) and, where one runs, the sandbox ($SANDBOX)."""

import ast
import base64
import inspect
import json
import os
import pathlib
import unittest

import merchant

SHARED = json.loads((pathlib.Path(__file__).parents[2] / "docs/vectors/signing.json").read_text("utf-8"))
VECTORS, ANSWERS, CLOCKS, CALLBACK, BODIES = (SHARED[name] for name in ("vectors", "answers", "clocks", "callback", "bodies"))
EVENTS = SHARED["events"]
STUB, SANDBOX = os.environ.get("STUB"), os.environ.get("SANDBOX")


class Vectors(unittest.TestCase):
    def test_every_vector_is_made_accepted_and_refused_with_one_byte_changed(self):
        for one in VECTORS:
            with self.subTest(one["name"]):
                self.vector(one)

    def vector(self, one):
        secret, at, path, body = one["secret"], one["timestamp"], one["pathAndQuery"], one["body"].encode("utf-8")
        self.assertEqual(merchant.sign(secret, at, one["method"], path, body), one["sign"])
        headers = {"X-Pay-Key": "k", "X-Pay-Timestamp": at, "X-Pay-Sign": one["sign"]}

        def check(headers=headers, path=path, body=body, credentials={"k": ["former", secret]}, now=int(at)):
            return merchant.verify_callback(headers, path, body, credentials, one["method"], now)

        if one["body"].startswith("{"):
            self.assertIsInstance(check(), dict)
        else:
            self.assertRaisesRegex(merchant.NotVerified, "no JSON", check)
        twice = [*headers.items(), ("X-Pay-Key", "k")]
        for wrong in ({"body": body + b" "}, {"path": path + "x"}, {"now": int(at) + 61}, {"now": int(at) - 61}, {"credentials": {"o": secret}}, {"headers": {}}, {"headers": twice}):
            with self.assertRaises(merchant.NotVerified, msg=str(wrong)):
                check(**wrong)


    def test_an_answer_is_taken_where_it_is_proven_and_nowhere_else(self):
        self.assertGreater(len(ANSWERS), 20)
        for one in ANSWERS:
            with self.subTest(one["name"]):
                given = (one["headers"], one["status"], one["body"].encode("utf-8"), one["secret"], one["requestSign"], one["now"])
                if one["proven"]:
                    merchant.verify_answer(*given)
                else:
                    self.assertRaises(merchant.NotVerified, merchant.verify_answer, *given)


    def test_of_what_is_signed_json_objects_alone_are_taken_and_all_else_is_one_error(self):
        self.assertGreater(len(BODIES), 40)
        for one in BODIES:
            with self.subTest(one["name"]):
                headers = {"X-Pay-Key": "k", "X-Pay-Timestamp": CALLBACK["timestamp"], "X-Pay-Sign": one["sign"]}
                given = (headers, CALLBACK["pathAndQuery"], base64.b64decode(one["body"]), {"k": CALLBACK["secret"]}, "POST", int(CALLBACK["timestamp"]))
                if one["taken"]:
                    self.assertIsInstance(merchant.verify_callback(*given), dict)
                else:
                    self.assertRaises(merchant.NotVerified, merchant.verify_callback, *given)


class Events(unittest.TestCase):
    def test_all_deliveries_of_an_event_have_one_key_and_no_two_events(self):
        for one in EVENTS:
            with self.subTest(one["name"]):
                body = one["body"].encode("utf-8")
                self.assertEqual(merchant.event_key(merchant.parse(one["body"]), body), one["key"])


class Package(unittest.TestCase):
    def test_the_package_is_this_one_in_this_version(self):
        text = (pathlib.Path(__file__).parent / "pyproject.toml").read_text("utf-8")
        self.assertIn(f'\nversion = "{merchant.__version__}"\n', text)
        self.assertIn('\npackages = ["merchant"]\n', text)

    def test_the_types_name_what_is_there(self):
        types = ast.parse(pathlib.Path(merchant.__file__).with_suffix(".pyi").read_text("utf-8"))
        for one in types.body:
            if not isinstance(one, (ast.ClassDef, ast.FunctionDef)) or not hasattr(merchant, one.name):
                self.assertTrue(not isinstance(one, ast.FunctionDef), getattr(one, "name", ""))
                continue
            real = getattr(merchant, one.name)
            if isinstance(one, ast.FunctionDef):
                self.assertEqual([arg.arg for arg in one.args.args], list(inspect.signature(real).parameters), one.name)
                continue
            named = {method.name for method in one.body if isinstance(method, ast.FunctionDef)}
            self.assertLessEqual({name for name in vars(real) if not name.startswith("_")}, named | {"withdraw_id"}, one.name)
            self.assertTrue(all(hasattr(real, name) for name in named), one.name)


class Json(unittest.TestCase):
    def test_it_goes_through_without_loss(self):
        text = '{"a":[1,%d,-0.5e3,1e400,"a,b:{\\"",{},[]],"":true,"n":null}' % (2**256 - 1)
        self.assertEqual(merchant.dump(merchant.parse(text)), text)
        for bad in ("", "{", "[1,]", "NaN", '{"a":1,"a":2}'):
            self.assertRaises(ValueError, merchant.parse, bad)
        self.assertRaises(TypeError, merchant.dump, 0.1)


class Calls(unittest.TestCase):
    @unittest.skipUnless(STUB, "no $STUB")
    def test_every_entry_has_exactly_one_end_whatever_the_signer_does(self):
        peer = {"url": STUB, "key": "python", "secret": "the secret of the clients", "pause": 0.01}
        entries = merchant.Platform(**peer).chargeable()
        ids = {entry["subscribeId"] % 1_000_000 for entry in entries}
        self.assertLessEqual(set(range(20, 1235)), ids)
        signer = merchant.Signer(**peer)
        result = signer.bill(entries, {139: "EVM", 136: "TVM"})
        ends = [number for sent in result["sent"] for number in sent["subscriptionIds"]]
        ends += [failure["subscribeId"] for failure in result["failed"]] + [one["entry"]["subscribeId"] for one in result["open"]]
        self.assertEqual(sorted(ends), sorted(entry["subscribeId"] for entry in entries))
        self.assertTrue(len(result["failed"]) > 100 and all(one["todo"]["who"] == "customer" for one in result["failed"]))
        self.assertTrue(all(one["entry"]["subscribeId"] % 1_000_000 % 7 == 0 for one in result["open"]))
        self.assertEqual(signer.status("a/b?c"), [])
        with self.assertRaisesRegex(merchant.NotProven, "signature or key is wrong"):
            merchant.Signer(**{**peer, "secret": "another"}).status("x")
        with self.assertRaisesRegex(ValueError, "twice"):
            signer.bill([entries[0], entries[0]], {139: "EVM", 136: "TVM"})

    @unittest.skipUnless(STUB, "no $STUB")
    def test_every_call_of_the_platform_asks_and_is_answered_without_loss(self):
        platform = merchant.Platform(STUB, "python", "the secret of the clients", "https://pay.example/", (1404,), pause=0.01)
        thanks, bye, hooks = (f"https://shop.example/{page}" for page in ("thanks", "bye", "hooks"))
        link = platform.create_link(139, 7, "u-1", thanks, hooks)
        self.assertEqual((link["url"], link["subscriptionId"]), ("https://pay.example/pay/a?b=c", 9007199254740993))
        self.assertRaisesRegex(merchant.CallError, "no path", platform.create_cancel_link, "SUB1", bye, hooks)
        self.assertEqual(platform.subscriptions()[0]["subscriptionId"], 9007199254740993)
        self.assertEqual(platform.chains()[0]["chainId"], 139)
        self.assertEqual(platform.currencies(139)[0]["decimals"], 18)
        self.assertEqual(platform.create_user("u/1 &\u00e9"), 9007199254740993)
        self.assertEqual(platform.user("u/1 &\u00e9")["uuid"], "u")
        self.assertIsNone(platform.user("nobody"))
        self.assertEqual(platform.recharge(9007199254740993)["rechargeId"], 9007199254740993)
        payment = (139, 1391, "0xAbC", "10.50")
        taken = {"withdrawId": 9007199254740993, "found": True}
        self.assertEqual(platform.withdraw(*payment, "w-1"), taken, "the answer was lost")
        self.assertEqual(platform.withdraw(*payment, "w-1"), taken, "and it is made once")
        with self.assertRaises(merchant.Conflict) as other:
            platform.withdraw(*payment, "taken")
        self.assertEqual(other.exception.withdraw_id, 5)
        for number in ("nobody knows", "busy", "behind a proxy", "behind a proxy", "a proxy alone", "mistaken"):
            self.assertRaises(merchant.NotKnown, platform.withdraw, *payment, number)
        self.assertRaises(ValueError, platform.withdraw, 139, 1391, "0xAbC", "0.0000000000000000001", "w-2")

    @unittest.skipUnless(STUB, "no $STUB")
    def test_a_first_page_that_is_empty_of_a_list_that_is_not_is_an_error(self):
        platform = merchant.Platform(STUB, "empty", "the secret of the clients", pause=0.01)
        self.assertRaisesRegex(merchant.CallError, "has 3 entries", platform.chargeable)

    @unittest.skipUnless(STUB, "no $STUB")
    def test_the_signer_tells_charges_and_is_paused(self):
        signer = merchant.Signer(STUB, "python", "the secret of the clients")
        self.assertEqual(signer.charges(wallet="0xab", state="charged")["charges"][0]["subscribeId"], "7")
        paused = signer.pause(139, "a drill")[0]["pausedSince"]
        self.assertEqual(signer.control()[0]["pausedSince"], paused)
        self.assertIsNone(signer.resume({139: paused})[0]["pausedSince"])

    @unittest.skipUnless(STUB, "no $STUB")
    def test_an_impostor_is_no_verdict(self):
        for forgery in ("nothing", "another-secret", "another-request", "an-echo"):
            with self.subTest(forgery):
                impostor = merchant.Signer(f"{STUB}/impostor/{forgery}", "python", "the secret of the clients", tries=2, pause=0.01)
                result = impostor.bill([{"subscribeId": 1, "chainId": 139}, {"subscribeId": 2, "chainId": 136}], {139: "EVM", 136: "TVM"})
                self.assertEqual((len(result["sent"]), len(result["failed"]), len(result["open"])), (0, 0, 2))
                self.assertIn("without the Signer's proof", result["open"][0]["why"])
                self.assertRaises(merchant.NotProven, impostor.status, "0xab")

    @unittest.skipUnless(STUB, "no $STUB")
    def test_a_clock_that_is_off_is_told_where_it_explains_a_refusal_and_nowhere_else(self):
        self.assertGreater(len(CLOCKS), 10)
        for one in CLOCKS:
            with self.subTest(one):
                proven, off = "proven" if one["proven"] else "unproven", one["off"]
                peer = (f"{STUB}/clock/{one['status']}/{proven}/{off}", "python", "the secret of the clients")
                options = {"tries": 1, "clock": lambda: 1767225600}
                ask = merchant.Signer(*peer, **options).control if one["signer"] else merchant.Platform(*peer, **options).chains
                with self.assertRaises(merchant.CallError) as refused:
                    ask()
                allowed = 5 if one["signer"] and off > 0 else 60
                words = f"the clock here is {abs(off)} s {'ahead' if off > 0 else 'behind'}, and at most {allowed} s are allowed"
                said = str(refused.exception)
                self.assertEqual((words in said, "the clock here" in said), (one["told"], one["told"]), said)

    def test_nobody_there_is_no_verdict(self):
        signer = merchant.Signer("http://127.0.0.1:1", "k", "s", tries=2, pause=0.01)
        result = signer.bill([{"subscribeId": 1, "chainId": 139}], {139: "EVM"})
        self.assertEqual((len(result["sent"]), len(result["open"])), (0, 1))

    @unittest.skipUnless(SANDBOX, "no $SANDBOX")
    def test_the_sandbox_bills_once_however_often_it_is_asked(self):
        sandbox = json.loads(SANDBOX)
        signer = merchant.Signer(**sandbox["signer"])
        for family, file in sandbox["lists"].items():
            entries = merchant.parse(pathlib.Path(file).read_text("utf-8"))
            families = {entries[0]["chainId"]: family}
            first = signer.bill(entries, families)
            self.assertEqual(len(first["sent"]), 1, first)
            again = signer.bill(entries, families)
            self.assertEqual((again["sent"] or again["failed"])[0]["txHash"], first["sent"][0]["txHash"])
            billing = signer.status(first["sent"][0]["txHash"])[0]
            self.assertEqual(billing["subscriptions"][0]["subscribeId"], entries[0]["subscribeId"])


if __name__ == "__main__":
    unittest.main()
