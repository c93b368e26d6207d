"""The merchant's side of the interface, for Python 3.9 and later, without dependencies.

sign, verify_callback   the signature of requests and callbacks
event_key               the name of the event of a callback, the same for each of its deliveries
verify_answer           the proof that an answer is the Signer's
parse, dump             JSON without loss: integers are exact, other numbers keep their text
Platform                every call of the platform: links, what is due, users, recharges, withdrawals
Signer                  bills it: splits, repeats what got no answer, sorts the verdicts
RETRY                   what to do about a subscription that could not be charged

docs/merchant.md says how to use it, docs/vectors/signing.json what it is held to.
"""

import base64
import email.utils
import hashlib
import hmac
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request

#: The version of this file; what it asks says so as its User-Agent.
__version__ = "0.1.0"

CLOCK_WINDOW_SECONDS = 60
#: How far a clock may be ahead of the Signer's.
SIGNER_AHEAD_SECONDS = 5
#: A clock that is behind seems less so by what a Date header in whole seconds and the way here hide.
HIDDEN_SECONDS = 5
#: The most entries that the Signer takes in one request, unless it is configured otherwise.
MOST_ENTRIES = 500
#: The longest body that the Signer reads is 1 MiB, unless it is configured otherwise.
MOST_BYTES = 1_000_000

#: By the `retry` of a failure: whether to post it again, who has to act first, and how.
RETRY = {
    "USER": {"again": True, "who": "customer", "what": "ask for an allowance or a balance, then post it again, with growing pauses"},
    "WAIT": {"again": True, "who": "nobody", "what": "post it again with the next list"},
    "RETRY": {"again": True, "who": "nobody", "what": "post it again after a pause"},
    "DONE": {"again": False, "who": "nobody", "what": "treat it as paid; the callback follows"},
    "LOST": {"again": False, "who": "nobody", "what": "not paid, and not to be billed for this period"},
    "STOP": {"again": False, "who": "merchant", "what": "end the subscription"},
    "FIX": {"again": False, "who": "operator", "what": "look at it: nothing will change by itself"},
}


def what_to_do(failure):
    """What to do about a failure; a word that is not known is for a person to look at."""
    return RETRY.get(failure.get("retry"), RETRY["FIX"])


# ---- signature


def _bytes(text):
    return text.encode("utf-8") if isinstance(text, str) else bytes(text)


def sign(secret, timestamp, method, path_and_query, body=b""):
    """base64(HMAC-SHA256(secret, timestamp + METHOD + path with query + body))."""
    return _mac(secret, f"{timestamp}{method}{path_and_query}".encode("utf-8") + _bytes(body))


def _mac(secret, message):
    return base64.b64encode(hmac.new(_bytes(secret), message, hashlib.sha256).digest()).decode("ascii")


class NotVerified(Exception):
    """Why a callback or an answer is not accepted."""


def verify_callback(headers, path_and_query, body, credentials, method="POST", now=None):
    """Checks a callback and returns its body, parsed. Raises NotVerified for everything else.

    headers: a mapping, or pairs of name and value. body: the raw bytes. path_and_query: of the notify
    address as it was given to the platform. credentials: {key: secret} or {key: [secret, former]}.
    now: Unix seconds.
    """
    key = _header(headers, "x-pay-key")
    known = credentials.get(key, [])
    secrets = [known] if isinstance(known, (str, bytes)) else list(known)
    if not all(secrets):
        raise ValueError(f"the secret of {key} is empty")
    _proven(headers, now, lambda timestamp: [sign(secret, timestamp, method, path_and_query, body) for secret in secrets])
    try:
        event = parse(_bytes(body).decode("utf-8"))
    except ValueError as error:
        raise NotVerified("the signature holds, but the body is no JSON") from error
    if not isinstance(event, dict):
        raise NotVerified("the signature holds, but the body is no JSON object")
    return event


def event_key(event, body):
    """What all deliveries of one event have in common, and no two events: keep it with a unique index, and take what
    is there already for a repeat.

    event: what verify_callback returned. body: the raw bytes that it was given.
    """
    kind, number = event.get("subscriptionType"), event.get("outTradeNo")
    if isinstance(kind, str) and isinstance(number, str):
        found = event.get("transferHash")
        when = found.lower() if isinstance(found, str) else ""
        if not when:
            block = event.get("blockTime")
            when = f"{block if type(block) is int else 0}/{event.get('createTime') or ''}"
        chain = event.get("chainId")
        return f"{kind}/{number}/{'' if chain is None else chain}/{when}"
    for word, name in (("recharge", "recharge"), ("withdrawal", "withdraw")):
        number, status = event.get(name + "Id"), event.get(name + "Status")
        if number is not None and type(status) is int:
            return f"{word}/{number}/{status}"
    return "unknown/" + hashlib.sha256(_bytes(body).strip(b" \t\r\n")).hexdigest()


def verify_answer(headers, status, body, secret, request_sign, now=None):
    """Checks that the Signer has made this answer, to the request that was sent with request_sign (its X-PAY-SIGN).

    Raises NotVerified: without this proof it is no answer, whatever it says. headers, body, now: as above.
    """

    def made(timestamp):
        message = f"{timestamp}{status}{request_sign}".encode("utf-8") + _bytes(body)
        return [_mac(secret, message)]

    _proven(headers, now, made)


def _proven(headers, now, made):
    """Checks time and form of a signature, and that it is one of those that `made` says for its timestamp."""
    timestamp, given = (_header(headers, name) for name in ("x-pay-timestamp", "x-pay-sign"))
    if not re.fullmatch(r"[0-9]{10}", timestamp):
        raise NotVerified("X-PAY-TIMESTAMP is not 10 digits")
    off = int(timestamp) - int(time.time() if now is None else now)
    if abs(off) > CLOCK_WINDOW_SECONDS:
        raise NotVerified(f"signed {off} s away from the time here; at most {CLOCK_WINDOW_SECONDS} s are allowed")
    if not re.fullmatch(r"[A-Za-z0-9+/]{43}=", given):
        raise NotVerified("X-PAY-SIGN is not the base64 of 32 bytes")
    wanted = base64.b64decode(given)
    if not any(hmac.compare_digest(wanted, base64.b64decode(one)) for one in made(timestamp)):
        raise NotVerified("signature or key is wrong")


def _header(headers, name):
    pairs = headers.items() if hasattr(headers, "items") else headers
    values = [value for given, value in pairs if given.lower() == name]
    if len(values) != 1 or "," in values[0]:
        raise NotVerified(f"header {name} is missing, or there more than once")
    return values[0]


# ---- JSON without loss


class JsonNumber(str):
    """A JSON number that is no integer, as it was written."""

    __slots__ = ()


def parse(text):
    """Reads JSON. Integers are exact (beyond 1,000 digits a JsonNumber), every other number becomes a JsonNumber."""
    level = 0
    for mark in re.findall(r"[][{}]", _STRING.sub("", text)):
        level += 1 if mark in "[{" else -1
        if level > DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels")
    read = json.loads(text, parse_int=_integer, parse_float=JsonNumber, parse_constant=_no_constant, object_pairs_hook=_fields)
    if "\\u" in text:
        _whole_pairs(read)
    return read


#: So many objects and lists may be within each other, and so many digits does an integer have that is an int.
DEEPEST, MOST_DIGITS = 100, 1000
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def _integer(text):
    return int(text) if len(text) <= MOST_DIGITS else JsonNumber(text)


def _no_constant(word):
    raise ValueError(f"{word} is no JSON")


def _fields(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is there twice")
    if any(name.startswith("\0") for name in fields):
        raise ValueError("the name of a field begins with NUL")
    return fields


def _whole_pairs(value):
    """Refuses half a surrogate pair, which no UTF-8 has."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, list):
        for one in value:
            _whole_pairs(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            name.encode("utf-8")
            _whole_pairs(one)


def dump(value):
    """Writes what `parse` has read, digit for digit. Refuses floats."""
    if isinstance(value, JsonNumber):
        return str(value)
    if value is None or isinstance(value, (str, bool)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dump, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{dump(field)}" for name, field in value.items()) + "}"
    raise TypeError(f"a {type(value).__name__} has no exact JSON")


# ---- calls


class CallError(Exception):
    """A call without the answer that it wants. status, code and msg are set if the peer gave them."""

    def __init__(self, message, status=None, code=None, msg=None, retry_after=None, max_batch=None):
        super().__init__(message)
        self.status, self.code, self.msg = status, code, msg
        self.retry_after, self.max_batch = retry_after, max_batch

    @property
    def passes(self):
        """Whether it passes by itself: no answer, half an answer, 408, 429, 5xx."""
        return self.status is None or self.status in (200, 408, 429) or self.status >= 500


    @property
    def may_have_happened(self):
        """Whether what was to be changed may have been changed: no answer, one without an envelope, or one of a peer in trouble."""
        return self.status is None or self.code is None or self.status == 408 or self.status >= 500 or 500 <= self.code < 600


class NotProven(CallError):
    """An answer that does not prove to be the Signer's, and so is none: nobody knows what became of the request. Post the same again."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args):
        return None


class _Peer:
    def __init__(self, url, key, secret, signed, timeout=15, tries=4, pause=0.5, clock=time.time):
        """signed: whether the peer signs its answers, as the Signer does."""
        if not (url and key and secret):
            raise ValueError("url, key and secret are needed")
        self.url, self.key, self.secret, self.signed = url.rstrip("/"), key, secret, signed
        self.timeout, self.tries, self.pause, self.clock = timeout, tries, pause, clock
        self._opener = urllib.request.build_opener(_NoRedirect)

    def call(self, method, path_and_query, body=None):
        """One request: (status, envelope, a function that makes the error)."""
        timestamp = str(int(self.clock()))
        data = None if body is None else body.encode("utf-8")
        request_sign = sign(self.secret, timestamp, method, path_and_query, data or b"")
        headers = {"User-Agent": f"merchant-python/{__version__}", "X-PAY-KEY": self.key, "X-PAY-TIMESTAMP": timestamp, "X-PAY-SIGN": request_sign}
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path_and_query, data=data, headers=headers, method=method)
        try:
            try:
                response = self._opener.open(request, timeout=self.timeout)
            except urllib.error.HTTPError as answer:
                response = answer
            with response:
                status, answered, text = response.status, response.headers, response.read()
        except Exception as error:  # urllib passes on whatever sockets, TLS and http.client raise
            raise CallError(f"no answer from {self.url}: {error}") from error
        wait = answered.get("Retry-After", "")
        wait = int(wait) if re.fullmatch("[0-9]{1,9}", wait) else None
        off = self._clock_off(status, answered)
        envelope = _envelope(text)
        if self.signed:
            try:
                verify_answer(answered, status, text, self.secret, request_sign, self.clock())
            except NotVerified as why:
                said = f"; it says: {envelope.get('msg')}" if envelope else ""
                # Whose clock is off, to him the Signer can prove nothing.
                said += off if status == 401 else ""
                raise NotProven(f"HTTP {status} without the Signer's proof, which is no answer ({why}){said}", status) from why
        if envelope is None:
            raise CallError(f"HTTP {status} with an answer that is no envelope", status, retry_after=wait)
        code = envelope["code"]

        def refused():
            msg, data = envelope.get("msg"), envelope.get("data")
            most = data.get("maxBatch") if isinstance(data, dict) else None
            most = most if type(most) is int else None
            return CallError(f"{msg} (code {code}, HTTP {status}){off}", status, code, msg, wait, most)

        return status, envelope, refused

    def _clock_off(self, status, answered):
        """Says that the clock here is off, if that alone explains a refusal."""
        try:
            theirs = int(email.utils.parsedate_to_datetime(answered["Date"]).timestamp())
        except (TypeError, ValueError):
            return ""
        off = int(self.clock()) - theirs
        allowed = SIGNER_AHEAD_SECONDS if self.signed and off > 0 else CLOCK_WINDOW_SECONDS
        # An answer that was long on its way makes a clock seem ahead: of the Signer's, 401 alone is put down to that.
        if allowed == SIGNER_AHEAD_SECONDS:
            suspected = status == 401 and off > allowed
        else:
            suspected = abs(off) + HIDDEN_SECONDS >= allowed
        way = "ahead" if off > 0 else "behind"
        return f"; the clock here is {abs(off)} s {way}, and at most {allowed} s are allowed" if suspected else ""

    def persistently(self, attempt, final=lambda _error: False):
        """Calls again while what failed passes by itself; not if `final` says that it is of no use."""
        for failures in range(1, self.tries + 1):
            try:
                return attempt()
            except CallError as error:
                if not error.passes or final(error) or failures == self.tries or (error.retry_after or 0) > 30:
                    raise
                grown = self.pause * 2 ** (failures - 1) * (1 + random.random() / 2)
                time.sleep(max(error.retry_after or 0, grown))


def _envelope(text):
    """The envelope in a body, if there is one."""
    try:
        envelope = parse(text.decode("utf-8"))
        return envelope if type(envelope["code"]) is int else None
    except (ValueError, TypeError, KeyError):
        return None


class NotKnown(CallError):
    """Nobody knows whether a withdrawal was taken: ask again with the same out_trade_no."""


class Conflict(CallError):
    """The out_trade_no belongs to another payment, which withdraw_id names: nothing was applied for."""

    withdraw_id = None


class Platform:
    """The platform. Options: timeout, tries, pause (seconds), clock.

    payment_url is needed for links. not_found_codes: the codes of your platform for "no such record" beside 404.
    Only reads are repeated. Records are the platform's own, read by parse(); None is one that it does not have.
    """

    def __init__(self, url, key, secret, payment_url=None, not_found_codes=(), **options):
        self._peer = _Peer(url, key, secret, signed=False, **options)
        self._payment_url, self._not_found = payment_url, {404, *not_found_codes}

    def create_link(self, chain_id, plan_id, external_user_id, redirection_url, notify_url):
        """A link on which one user can subscribe to one plan: {url, expiration, subscriptionId, answer}. Each call makes a new order."""
        request = {"chainId": chain_id, "planId": plan_id, "externalUserId": external_user_id, "redirectionUrl": redirection_url, "notifyUrl": notify_url}
        return self._link("/api/mer/subscribe/payment/create", request)

    def create_cancel_link(self, out_trade_no, redirection_url, notify_url):
        """A link on which the user can end a subscription."""
        request = {"outTradeNo": out_trade_no, "redirectionUrl": redirection_url, "notifyUrl": notify_url}
        return self._link("/api/mer/subscribe/cancel/create", request)

    def _link(self, path, request):
        if not self._payment_url:
            raise ValueError("payment_url is missing")
        answer = self._change(path, request)
        page = answer.get("paymentUrl") if isinstance(answer, dict) else None
        # "//host" would be another host's page.
        if not isinstance(page, str) or not re.match(r"/(?!/)", page):
            raise CallError(f"paymentUrl {page} is no path that begins with one /", 200)
        url = self._payment_url.rstrip("/") + page
        return {"url": url, "expiration": answer.get("expiration"), "subscriptionId": answer.get("subscriptionId"), "answer": answer}

    def subscriptions(self, size=500):
        """Every subscription, each once; read like what is due."""
        return self._whole("/api/mer/subscribe/list", size)

    def chains(self):
        """The chains of the platform, with its own ids for them."""
        return self._read("/api/mer/conf/list/chain")

    def currencies(self, chain_id):
        """The currencies of one chain."""
        return self._read(_question("/api/mer/conf/list/currency", {"chainId": chain_id}))

    def create_user(self, uuid):
        """Makes a user, or names the one that is there: the platform's id."""
        return self._change("/api/mer/user/create", {"uuid": uuid})

    def user(self, uuid):
        """A user, with recharge addresses."""
        return self._find(_question("/api/mer/user/detail", {"uuid": uuid}))

    def recharge(self, recharge_id):
        """A recharge."""
        return self._find(_question("/api/mer/recharge/detail", {"rechargeId": recharge_id}))

    def withdrawal(self, withdraw_id=None, out_trade_no=None):
        """A withdrawal, by the platform's id or by the number that it was applied for with."""
        if (withdraw_id is None) == (out_trade_no is None):
            raise ValueError("name a withdrawal by withdraw_id or by out_trade_no")
        return self._find(_question("/api/mer/withdraw/detail", {"withdrawId": withdraw_id, "outTradeNo": out_trade_no}))

    def withdraw(self, chain_id, currency_id, withdraw_address, withdraw_amount, out_trade_no, notify_url=None):
        """Applies for a withdrawal, unless one with this out_trade_no is there: {withdrawId, found}.

        withdraw_amount is a decimal in text. May be repeated after any failure: it looks first. Raises Conflict where
        the number belongs to another payment, NotKnown where nobody can tell whether it was taken, by this call or before.
        """
        if not isinstance(out_trade_no, str) or not out_trade_no.strip():
            raise ValueError("out_trade_no is what keeps a payment from being made twice")
        currency = next((one for one in self._looked(lambda: self.currencies(chain_id)) if str(one["currencyId"]) == str(currency_id)), None)
        if currency is None:
            raise ValueError(f"chain {chain_id} has no currency {currency_id}")
        units = _base_units(withdraw_amount, int(currency["decimals"]))
        wanted = {"chainId": str(chain_id), "currencyId": str(currency_id), "withdrawAddress": _spelling(withdraw_address), "withdrawAmount": str(units)}
        before = self._looked(lambda: self._applied(out_trade_no, wanted))
        if before:
            return before
        request = {"chainId": chain_id, "currencyId": currency_id, "withdrawAddress": withdraw_address, "withdrawAmount": withdraw_amount, "outTradeNo": out_trade_no}
        if notify_url is not None:
            request["notifyUrl"] = notify_url
        try:
            answer = self._change("/api/mer/withdraw/apply", request)
            if not isinstance(answer, dict) or "withdrawId" not in answer:
                raise CallError("the answer names no withdrawal", 200)
            return {"withdrawId": answer["withdrawId"], "found": False}
        except CallError as error:
            # A refusal may be for a number that was taken between the look and the application.
            try:
                after, looked = self._applied(out_trade_no, wanted), True
            except Conflict:
                raise
            except CallError:
                after, looked = None, False
            if after:
                return after
            if error.may_have_happened or not looked:
                raise NotKnown(f"whether the withdrawal was taken is not known; ask again with the same out_trade_no: {error}") from error
            raise

    @staticmethod
    def _looked(look):
        """What is seen before anything is applied for. Without that nobody knows what an earlier application has done."""
        try:
            return look()
        except Conflict:
            raise
        except CallError as error:
            raise NotKnown(f"whether there is a withdrawal of this number is not known, and nothing was applied for; ask again with the same out_trade_no: {error}") from error

    def _applied(self, number, wanted):
        found = self.withdrawal(out_trade_no=number)
        if found is None:
            return None
        if str(found.get("outTradeNo")) != number:
            raise CallError(f"the record is of outTradeNo {found.get('outTradeNo')}, and not of {number}", 200)
        has = {**found, "withdrawAddress": _spelling(str(found.get("withdrawAddress")))}
        other = next((field for field, value in wanted.items() if str(has.get(field)) != value), None)
        if other:
            conflict = Conflict(f"outTradeNo {number} is withdrawal {found['withdrawId']} already, with another {other}")
            conflict.withdraw_id = found["withdrawId"]
            raise conflict
        return {"withdrawId": found["withdrawId"], "found": True}

    def _read(self, path):
        """A read, repeated while what failed passes by itself."""
        return self._peer.persistently(lambda: self._once("GET", path))

    def _find(self, path):
        """A read of one record."""
        try:
            return self._read(path)
        except CallError as error:
            # A 404 without the platform's envelope is of somebody in between, who knows of no record.
            if error.code is not None and (error.status == 404 or error.code in self._not_found):
                return None
            raise

    def _change(self, path, request):
        """What changes something is sent once."""
        return self._once("POST", path, dump(request))

    def _once(self, method, path, body=None):
        status, envelope, refused = self._peer.call(method, path, body)
        if envelope["code"] != 200 or status >= 300:
            raise refused()
        return envelope.get("data")

    def chargeable(self, size=500):
        """Everything that is due, each subscription once.

        Reads the pages from the first to the last and back, and again until that brings nothing new:
        entries change pages while they are read.
        """
        return self._whole("/api/mer/subscribe/chargeable/list", size)

    def _whole(self, path, size):
        entries = {}
        for one in range(5):
            before = len(entries)
            length, count = self._page(path, 1, size, entries)
            if length == 0 and count > 0:
                # The last entry may have gone between the two; what stays so is no list that is empty.
                if one == 4:
                    raise CallError(f"the list has {count} entries, and its first page none", 200)
                continue
            if length < size and count <= length:
                if one == 0:
                    break
            else:
                last = 1
                while length > 0:
                    last += 1
                    length, _ = self._page(path, last, size, entries)
                for page in range(last - 1, 0, -1):
                    self._page(path, page, size, entries)
            if len(entries) == before:
                break
        return list(entries.values())

    def _page(self, path, page, size, entries):
        data = self._read(f"{path}?page={page}&size={size}")
        listed = data.get("list") if isinstance(data, dict) else data
        if not isinstance(listed, list):
            raise CallError("data has no list", 200)
        for entry in listed:
            entries[_id_of(entry)] = entry
        count = data.get("count") if isinstance(data, dict) else None
        return len(listed), count if type(count) is int else 0


class Signer:
    """The Signer. Options: most_entries, most_bytes, timeout, tries, pause (seconds), clock."""

    def __init__(self, url, key, secret, most_entries=MOST_ENTRIES, most_bytes=MOST_BYTES, **options):
        self._peer = _Peer(url, key, secret, signed=True, **options)
        self._most_entries, self._most_bytes = most_entries, most_bytes

    def bill(self, entries, families, dry_run=False):
        """Bills entries of the chargeable list. families: {139: "EVM", 136: "TVM"}.

        Every entry comes back in exactly one of three lists: "sent" ({txHash, subscriptionIds}, also
        where an earlier request has sent it: at finality the chain decides), "failed" (the Signer's words and "todo"), "open" ({entry, why}: no
        verdict; post it again, as often as it takes). Nothing is ever charged twice by posting it again.
        """
        result = {"sent": [], "failed": [], "open": []}
        for family, part in self._parts(entries, families):
            self._post(family, part, dry_run, result)
        return result

    def status(self, billing):
        """Every billing that has this transaction hash or request id, newest first. Raises NotProven for what the Signer has not signed."""

        def attempt():
            path = "/PayTool/billings/" + urllib.parse.quote(str(billing), safe="")
            status, envelope, refused = self._peer.call("GET", path)
            if status == 404 and envelope["code"] == 0:
                return []
            if envelope["code"] != 1:
                raise refused()
            return envelope["data"]

        return self._peer.persistently(attempt)

    def charges(self, **asked):
        """One page of the ledger: {charges, next}. asked: the parameters of GET /PayTool/charges, wallet="0x…", state="charged"."""
        return self._peer.persistently(lambda: self._control("GET", _question("/PayTool/charges", asked)))

    def control(self):
        """How the chains stand with whoever controls them. This and what follows need the key of a caller that may control."""
        return self._control("GET", "/PayTool/control")

    def pause(self, chain_id=None, why=None):
        """Has nothing new signed, on one chain or on all; why is kept in the history."""
        asked = {"chainId": chain_id, "why": why}
        return self._control("POST", "/PayTool/control/pause", {name: value for name, value in asked.items() if value is not None})

    def resume(self, pauses):
        """Ends pauses, each named by its chain and its pausedSince of control(): {139: 1767225600000}."""
        return self._control("POST", "/PayTool/control/resume", {"pauses": {str(chain): since for chain, since in pauses.items()}})

    def _control(self, method, path, body=None):
        _, envelope, refused = self._peer.call(method, path, None if body is None else dump(body))
        if envelope["code"] != 1:
            raise refused()
        return envelope.get("data")

    def _parts(self, entries, families):
        chains, seen = {}, set()
        known = {str(chain): family for chain, family in families.items()}
        for entry in entries:
            chain, number = str(entry.get("chainId")), _id_of(entry)
            if known.get(chain) not in ("EVM", "TVM"):
                raise ValueError(f"families does not say whether chain {chain} is EVM or TVM")
            if number in seen:
                raise ValueError(f"subscription {number} is in the list twice")
            seen.add(number)
            chains.setdefault(chain, []).append(entry)
        for chain, listed in chains.items():
            for part in self._split(listed):
                yield known[chain], part

    def _split(self, listed):
        part, size = [], 0
        for entry in listed:
            length = len(dump(entry).encode("utf-8")) + 1
            if part and (len(part) >= self._most_entries or size + length > self._most_bytes - 200):
                yield part
                part, size = [], 0
            part.append(entry)
            size += length
        if part:
            yield part

    def _post(self, family, part, dry_run, result):
        text = dump(part)
        # The same entries make the same request, whenever they are posted.
        request = hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]
        flag = "true" if dry_run else "false"
        body = f'{{"requestId":"{request}","mode":"partial","dryRun":{flag},"list":{text}}}'

        def attempt():
            status, envelope, refused = self._peer.call("POST", f"/PayTool/{family}/subscribe/signProcessSubscribePlan", body)
            rehearsed = dry_run and envelope["code"] == 0 and envelope.get("data")
            if status >= 300 or not (envelope["code"] in (1, 2) or rehearsed):
                raise refused()
            return envelope

        def too_large(error):
            fits = error.max_batch is None or len(part) <= error.max_batch
            return len(part) > 1 and (error.status == 413 or not fits)

        try:
            envelope = self._peer.persistently(attempt, too_large)
        except CallError as error:
            if too_large(error):
                half = (len(part) + 1) // 2
                most = half if error.max_batch is None else max(1, min(error.max_batch, half))
                for start in range(0, len(part), most):
                    self._post(family, part[start : start + most], dry_run, result)
            else:
                result["open"] += [{"entry": entry, "why": str(error)} for entry in part]
            return
        _sort(envelope, part, result)


def _sort(envelope, part, result):
    """Puts every entry where the verdict says; one that the Signer does not speak of is open."""
    waiting = {_id_of(entry): entry for entry in part}
    code, data = envelope["code"], envelope["data"]
    failures = data if code == 2 else data.get("failed") or []
    for failure in failures:
        if waiting.pop(_number(failure.get("subscribeId")), None) is not None:
            result["failed"].append({**failure, "todo": what_to_do(failure)})
    if code != 2:
        named = data.get("subscriptionIds" if code == 1 else "wouldCharge") or []
        sent = [number for number in map(_number, named) if waiting.pop(number, None) is not None]
        if sent:
            result["sent"].append({"txHash": data.get("txHash"), "address": data.get("address"), "subscriptionIds": sent})
    earlier = envelope.get("earlier") if code == 2 else data.get("earlier")
    for one in earlier or []:
        number = _number(one.get("subscribeId"))
        if waiting.pop(number, None) is not None:
            result["sent"].append({"txHash": one.get("txHash"), "state": one.get("state"), "subscriptionIds": [number]})
    result["open"] += [{"entry": entry, "why": "the Signer said nothing about it"} for entry in waiting.values()]


def _question(path, asked):
    """A path with its query, encoded as it is signed and sent."""
    pairs = [(name, str(value)) for name, value in asked.items() if value is not None]
    return f"{path}?{urllib.parse.urlencode(pairs, quote_via=urllib.parse.quote, safe='')}"


def _base_units(decimal, decimals):
    """A decimal in text as base units. Refuses what is finer than the currency."""
    parts = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?", decimal) if isinstance(decimal, str) else None
    if not parts:
        raise ValueError(f'{decimal} is no decimal such as "10.5"')
    whole, part = parts[1], parts[2] or ""
    if part[decimals:].strip("0"):
        raise ValueError(f"{decimal} is finer than {decimals} decimals")
    return int(whole + part[:decimals].ljust(decimals, "0"))


def _spelling(address):
    """Hex addresses may be spelled in capitals for their checksum; base58 ones differ by case."""
    return address.lower() if address[:2] in ("0x", "0X") else address


def _id_of(entry):
    number = _number(entry.get("subscribeId", entry.get("subscriptionId")) if isinstance(entry, dict) else None)
    if number is None:
        raise ValueError("an entry has no subscribeId")
    return number


def _number(value):
    """The integer of an id that is an integer or its digits."""
    if type(value) is int:
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}", value) else None
