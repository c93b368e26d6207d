"""The curve that both chains sign with, secp256k1: addresses of keys, and signatures over digests."""

import hashlib
import hmac

from keccak import keccak256

_P = 2**256 - 2**32 - 977
_N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)


def _add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % _P == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, _P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, _P)
    x = (slope * slope - a[0] - b[0]) % _P
    return x, (slope * (a[0] - x) - a[1]) % _P


def _multiply(number, point):
    product = None
    while number:
        if number & 1:
            product = _add(product, point)
        point, number = _add(point, point), number >> 1
    return product


def key(name):
    """The key that a name stands for."""
    return int.from_bytes(keccak256(name.encode()), "big") % _N


def address(secret):
    """The 20 bytes of the address of a key."""
    x, y = _multiply(secret, _G)
    return keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:]


def sign(secret, digest):
    """The signature of 32 bytes as r, s and the parity of R; s is the lower of the two. One digest has one signature."""
    number = int.from_bytes(digest, "big")
    nonce = int.from_bytes(hmac.new(secret.to_bytes(32, "big"), digest, hashlib.sha256).digest(), "big") % _N
    x, y = _multiply(nonce, _G)
    r, parity = x % _N, y & 1
    s = pow(nonce, -1, _N) * (number + r * secret) % _N
    return (r, _N - s, parity ^ 1) if s > _N // 2 else (r, s, parity)


def recover(digest, r, s, parity):
    """The address of whoever made a signature over 32 bytes."""
    y = pow(r**3 + 7, (_P + 1) // 4, _P)
    point = (r, y if y & 1 == parity else _P - y)
    inverse, number = pow(r, -1, _N), int.from_bytes(digest, "big")
    x, y = _add(_multiply(s * inverse % _N, point), _multiply(-number * inverse % _N, _G))
    return keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:]
