"""What each row of a step dataset must fulfil by itself: numbers, ranges, signs, no defaults of a tuple."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.checks import POLARITY, Rule, within
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.legs import SETS

Floats = NDArray[np.float64]
Right = NDArray[np.bool_]

# Columns, their smallest and largest value, and what a message expects there.
_RANGES = (
    ("x0 y0 x1 y1 xe ye", -10_000.0, 10_000.0, "mm, within ±10000"),
    ("z0 z1", -2_000.0, 13_000.0, "mm, between -2000 and 13000"),
    ("tx0 ty0 tx1 ty1 txe tye", -2.0, 2.0, "a slope dx/dz or dy/dz, within ±2"),
    ("p_true", 100.0, 1e7, "MeV, between 100 and 1e+07"),
)
# Limits of p at the origin over p at production. A particle loses energy on its way, so a backward step
# starts with less.
_LARGEST_LOSS, _LARGEST_GAIN = 0.5, 1.2
# Sign of z1 - z0 of each set; 0 if both signs are possible.
_DIRECTIONS = {
    **{"V": (1, -1), "VUT": (1,), "UT": (1, 1, 1, -1, -1, -1)},
    **{"UTTF": (1,), "TFT": (0,), "T": (1,) * 22, "BEAM": (-1, -1)},
}
_NEAR = 20.0  # mm; so close to y = 0 a row may belong to the set of either side
_DEFAULTS = 999, 9999
_NO_DEFAULT = "a number of its own: 0 and multiples of 999 or 9999 are defaults of tuples"


def row_rules(step: str) -> list[Rule]:
    """Return the rules for rows of a step, the simplest first; columns are those of STEP_DATA."""
    rules: list[Rule] = []
    for name, kind in STEP_DATA.fields:
        if kind != np.float64:
            rules.append((name, _whole(kind), f"a whole number that {kind} holds"))
        elif name[0] in "txyz":
            said = _slope_said if name[0] == "t" else _place_said if name[0] in "xy" else _z_said
            rules.append((name, said, _NO_DEFAULT))
    for names, low, high, expected in _RANGES:
        rules += [(name, within(low, high), expected) for name in names.split()]
    return [
        *rules,
        POLARITY,
        ("set", within(0, SETS[step] - 1), f"a set of step {step}, 0 to {SETS[step] - 1}"),
        ("charge", lambda charge: np.abs(charge) == 1, "+1 or -1"),
        ("qop charge", lambda qop, charge: qop * charge > 0, "q/p at production with the charge's sign"),
        (
            "p_true charge qop",
            lambda p, charge, qop: within(_LARGEST_LOSS, _LARGEST_GAIN)(p * np.abs(qop / charge)),
            f"MeV, {_LARGEST_LOSS:g} to {_LARGEST_GAIN:g} times p at production from q/p in 1/MeV",
        ),
        *_places(step),
    ]


def _places(step: str) -> list[Rule]:
    """Rules for where rows begin and end."""
    signs = np.array(_DIRECTIONS[step])
    rules: list[Rule] = [
        (
            "z1 z0 set",
            lambda z1, z0, number: (z1 - z0) * signs[number.astype(np.intp) % len(signs)] >= 0,
            "the side of z0 that its set goes to",
        ),
    ]
    # The first layer of the SciFi leans through the plane where TFT begins.
    if step != "TFT":
        rules.append(("z0 z1", lambda z0, z1: z0 != z1, "another z than the origin's"))
    if step == "T":
        expected = "y of its set, which is odd for y < 0"
        rules.append(("y0 set", _of_its_half, expected))
    return rules


def _of_its_half(y: Floats, number: NDArray[Any]) -> Right:
    return np.asarray(((y < 0) == (number % 2 == 1)) | (np.abs(y) < _NEAR))


def _whole(kind: np.dtype[Any]) -> Callable[[NDArray[Any]], Right]:
    bounds = np.iinfo(kind)

    def holds(values: NDArray[Any]) -> Right:
        if values.dtype == kind:
            return np.ones(len(values), np.bool_)
        return np.asarray((values == np.rint(values)) & (values >= bounds.min) & (values <= bounds.max))

    return holds


def _place_said(values: Floats) -> Right:
    right = values != np.trunc(values)
    # Places that happen to be whole numbers are rare, except in tables of few digits.
    whole = np.flatnonzero(~right)
    right[whole] = np.all([values[whole] % one != 0 for one in _DEFAULTS], axis=0)
    return right


def _z_said(values: Floats) -> Right:
    right = values >= 0
    below = np.flatnonzero(~right)
    right[below] = np.all([values[below] % one != 0 for one in _DEFAULTS], axis=0)
    return right


def _slope_said(values: Floats) -> Right:
    right = values != 0
    # 999 mrad, in single precision too.
    steep = np.flatnonzero(np.abs(values) > 0.9)
    right[steep] &= np.abs(np.abs(values[steep]) - 1e-3 * _DEFAULTS[0]) > 1e-7
    return np.asarray(right)
