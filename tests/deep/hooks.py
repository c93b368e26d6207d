"""What Schemathesis needs to speak to a Signer: every request is signed as a caller signs it, over the
bytes that are sent."""

import base64
import hashlib
import hmac
import os
import time

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation

KEY, SECRET = os.environ["SIGNER_KEY"], os.environ["SIGNER_SECRET"].encode()


class Signing(requests.auth.AuthBase):
    def __call__(self, request):
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        stamp = str(int(time.time()))
        message = f"{stamp}{request.method}{request.path_url}".encode() + body
        sign = hmac.new(SECRET, message, hashlib.sha256).digest()
        signed = {"X-PAY-KEY": KEY, "X-PAY-TIMESTAMP": stamp, "X-PAY-SIGN": base64.b64encode(sign).decode()}
        request.headers.update(signed)
        return request


@schemathesis.auth()
class Caller:
    def get(self, _case, _context):
        return Signing()

    def set(self, case, data, _context):
        # Where the headers are what is wrong with a request, they are left as they are.
        component = case.meta.components.get(ParameterLocation.HEADER) if case.meta else None
        if component is None or not component.mode.is_negative:
            case._auth = data


def has_whole_floats(value):
    """JSON Schema takes 7.0 for an integer. The Signer takes no number with a point, which is said in words."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(has_whole_floats(one) for one in value)
    return isinstance(value, float) and value.is_integer()


@schemathesis.hook
def filter_body(_context, body):
    return not has_whole_floats(body)


@schemathesis.check
def nobody_is_charged_by_what_is_wrong(_context, response, case):
    """What is wrong with one entry is a verdict on that entry: HTTP 200, and never code 1."""
    wrong = case.meta and case.meta.generation.mode.is_negative
    if wrong and case.operation.path.endswith("signProcessSubscribePlan") and response.status_code == 200:
        answer = response.json()
        assert answer["code"] != 1, answer["msg"]
