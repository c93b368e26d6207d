"""Keccak-256 as Ethereum uses it: the permutation of FIPS 202 with the padding of the original submission."""

_MASK = (1 << 64) - 1
_RATE = 136


def _round_constants():
    state, constants = 1, []
    for _ in range(24):
        constant = 0
        for power in range(7):
            if state & 1:
                constant ^= 1 << ((1 << power) - 1)
            state = (state << 1) ^ (0x171 if state & 0x80 else 0)
        constants.append(constant)
    return constants


_CONSTANTS = _round_constants()


def _rotate(word, by):
    return ((word << by) | (word >> (64 - by))) & _MASK if by else word


def _permute(a):
    for constant in _CONSTANTS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[(x + 4) % 5] ^ _rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [a[i] ^ d[i % 5] for i in range(25)]
        x, y, moved = 1, 0, a[1]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            place = x + 5 * y
            a[place], moved = _rotate(moved, (step + 1) * (step + 2) // 2 % 64), a[place]
        a = [
            a[i] ^ (~a[i - i % 5 + (i + 1) % 5] & _MASK & a[i - i % 5 + (i + 2) % 5])
            for i in range(25)
        ]
        a[0] ^= constant
    return a


def keccak256(data):
    """The digest of some bytes, 32 bytes."""
    padded = bytearray(data) + bytearray(_RATE - len(data) % _RATE)
    padded[len(data)] ^= 0x01
    padded[-1] ^= 0x80
    state = [0] * 25
    for begin in range(0, len(padded), _RATE):
        for i in range(_RATE // 8):
            state[i] ^= int.from_bytes(padded[begin + 8 * i : begin + 8 * i + 8], "little")
        state = _permute(state)
    return b"".join(word.to_bytes(8, "little") for word in state[:4])
