"""Checks Ed25519 signatures (RFC 8032) with the integers of Python; secret keys stay in ``ssh-keygen``.

The C++ reader (``consumer/ed25519.hpp``) accepts the same signatures. Both refuse the second form of a
signature, in which a multiple of the group's order is added.
"""

import hashlib
from functools import lru_cache

# Affine coordinates x, y as X/Z, Y/Z, and X·Y/Z.
Point = tuple[int, int, int, int]

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)
_ZERO: Point = (0, 1, 1, 0)


@lru_cache(maxsize=16)
def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature, 64 bytes, is that of the message by the owner of a public key, 32 bytes."""
    a = _point(key)
    scalar = int.from_bytes(signature[32:], "little")
    if a is None or len(signature) != 64 or scalar >= _ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    minus_a = (-a[0] % _P, a[1], a[2], -a[3] % _P)
    return _bytes(_sum_of(scalar, int.from_bytes(digest, "little") % _ORDER, minus_a)) == signature[:32]


def _sum_of(first: int, second: int, point: Point) -> Point:
    """Return first · base point + second · point, bit by bit."""
    chosen = (_ZERO, _BASE, point, _add(_BASE, point))
    total = _ZERO
    for bit in range(252, -1, -1):
        total = _add(total, total)
        if index := (first >> bit & 1) + 2 * (second >> bit & 1):
            total = _add(total, chosen[index])
    return total


def _add(one: Point, other: Point) -> Point:
    a, b = (one[1] - one[0]) * (other[1] - other[0]) % _P, (one[1] + one[0]) * (other[1] + other[0]) % _P
    c, d = 2 * _D * one[3] * other[3] % _P, 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _point(encoded: bytes) -> Point | None:
    """Return the point with these 32 bytes: y, and in the last bit the sign of x. None if there is none."""
    number = int.from_bytes(encoded, "little")
    y, sign = number & (1 << 255) - 1, number >> 255
    u, v = y * y - 1, _D * y * y + 1
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if (v * x * x - u) % _P:
        x = x * _ROOT % _P
    if len(encoded) != 32 or y >= _P or (v * x * x - u) % _P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else _P - x
    return x, y, 1, x * y % _P


def _bytes(point: Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


# The standard's base point: y = 4/5, and x is even.
_BASE = _point((4 * pow(5, -1, _P) % _P).to_bytes(32, "little")) or _ZERO
