"""Mistakes in tables of candidates. Each is written down with what it is, and changes the columns alone."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[np.float64]]
Change = Callable[[Columns], None]


def add(name: str, by: float) -> Change:
    """Add a number to a column."""

    def change(columns: Columns) -> None:
        columns[name] = columns[name] + by

    return change


def times(factor: float, *names: str) -> Change:
    """Multiply columns by a factor."""

    def change(columns: Columns) -> None:
        for name in names:
            columns[name] = columns[name] * factor

    return change


def exchange(detector: str, names: str, one: int, other: int) -> Change:
    """Exchange two layers in some columns of a detector."""

    def change(columns: Columns) -> None:
        for name in names.split():
            values = columns[f"{detector}_{name}"].copy()
            values[:, [one, other]] = values[:, [other, one]]
            columns[f"{detector}_{name}"] = values

    return change


def both(*changes: Change) -> Change:
    """Make several changes."""

    def change(columns: Columns) -> None:
        for one in changes:
            one(columns)

    return change


def some_polarities(columns: Columns) -> None:
    """Turn the polarity of a third of the rows."""
    columns["polarity"] = np.where(np.arange(len(columns["polarity"])) % 3 == 0, -1, 1) * columns["polarity"]


def move_halves(columns: Columns) -> None:
    """Move the halves of the VELO apart by 0.6 mm each."""
    columns["velo_x"] = columns["velo_x"] + 0.6 * np.sign(columns["velo_x"][:, :1])


def shuffle(detector: str) -> Change:
    """Take each candidate's hits of a detector from the next candidate."""

    def change(columns: Columns) -> None:
        for name in columns:
            if name.startswith(detector):
                columns[name] = np.roll(columns[name], 1, axis=0)

    return change


def reverse_scifi(columns: Columns) -> None:
    """Reverse the order of the SciFi layers."""
    for name in ("x", "z", "dxdy", "sigma"):
        columns[f"scifi_{name}"] = columns[f"scifi_{name}"][:, ::-1]


def no_velo(columns: Columns) -> None:
    """Leave out the VELO: downstream tracks."""
    columns["velo_n"] = 0 * columns["velo_n"]
    for axis in "xyz":
        columns[f"velo_{axis}"] = np.full_like(columns[f"velo_{axis}"], np.nan)


def stereo_layer(columns: Columns) -> None:
    """Move one stereo layer of SciFi by 3 mm."""
    values = columns["scifi_x"].copy()
    values[:, 5] += 3.0
    columns["scifi_x"] = values


MISTAKES: dict[str, Change] = {
    "polarity turned": times(-1, "polarity"),
    "polarity of a third of the rows turned": some_polarities,
    "sign of q/p turned": times(-1, "qop"),
    "q/p in 1/GeV": times(1000, "qop"),
    "q/p in 1/TeV": times(1e6, "qop"),
    "q/p in 1/keV": times(1e-3, "qop"),
    "q/p a fifth too large: another current in the magnet": times(1.2, "qop"),
    "q/p 5 % too small: another field": times(0.95, "qop"),
    "SciFi z + 5 mm": add("scifi_z", 5.0),
    "SciFi z − 5 mm": add("scifi_z", -5.0),
    "SciFi z + 1.5 mm": add("scifi_z", 1.5),
    "SciFi x + 1 mm": add("scifi_x", 1.0),
    "SciFi x − 1 mm": add("scifi_x", -1.0),
    "SciFi dx/dy turned": times(-1, "scifi_dxdy"),
    "SciFi dx/dy 10 % too large": times(1.1, "scifi_dxdy"),
    "SciFi x in cm": times(0.1, "scifi_x"),
    "x of SciFi layers 0 and 3 exchanged": exchange("scifi", "x", 0, 3),
    "SciFi layers 1 and 2 exchanged": exchange("scifi", "x z dxdy sigma", 1, 2),
    "SciFi layers numbered backwards": reverse_scifi,
    "SciFi layer 5 at x + 3 mm": stereo_layer,
    "SciFi errors four times too large": times(4.0, "scifi_sigma"),
    "SciFi errors three times too small": times(1 / 3, "scifi_sigma"),
    "SciFi weights in place of errors": lambda columns: columns.update(
        scifi_sigma=columns["scifi_sigma"] ** -2
    ),
    "SciFi hits of the next candidate": shuffle("scifi"),
    "UT x + 1 mm": add("ut_x", 1.0),
    "UT x − 0.5 mm": add("ut_x", -0.5),
    "UT z + 15 mm": add("ut_z", 15.0),
    "UT dx/dy turned": times(-1, "ut_dxdy"),
    "UT errors pitch/12 in place of pitch/√12": times(12**-0.5, "ut_sigma"),
    "UT errors pitch in place of pitch/√12": times(12**0.5, "ut_sigma"),
    "UT hits of the next candidate": shuffle("ut"),
    "VELO z + 15 mm": add("velo_z", 15.0),
    "VELO x + 0.6 mm": add("velo_x", 0.6),
    "VELO y + 2 mm": add("velo_y", 2.0),
    "VELO y turned": times(-1, "velo_y"),
    "VELO halves 0.6 mm too far apart, each": move_halves,
    "VELO in cm": times(0.1, "velo_x", "velo_y", "velo_z"),
    "VELO hits of the next candidate": shuffle("velo"),
    "x turned in all detectors": times(-1, "velo_x", "ut_x", "scifi_x", "ut_dxdy", "scifi_dxdy"),
    "x turned in VELO and UT": times(-1, "velo_x", "ut_x", "ut_dxdy"),
    "no VELO hits: downstream tracks": no_velo,
}
"""Mistakes by their names; the four rows of the issue that they were first seen in are among them."""
