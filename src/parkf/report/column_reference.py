"""What the columns of the tables mean, and in which units: for ``parkf schema`` and the documentation.

:mod:`parkf.io.tables` says what a file must hold; a test holds that every column there has its words here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.io.errors import ParkfError
from parkf.io.planes import RICH_PLANES
from parkf.io.tables import (
    CANDIDATES,
    CLOSURE_TRACKS,
    FATES,
    FITTED,
    HITS,
    PARTICLES,
    REMOVED_HITS,
    RICH_STATES,
    ROBUST,
    SCORES,
    STATES,
    STEP_DATA,
    Table,
)
from parkf.params.exchange.parquet import NUMBERS

TABLES = (PARTICLES, STATES, FATES, HITS, CANDIDATES, CLOSURE_TRACKS, STEP_DATA, FITTED, NUMBERS)
# What `parkf fit` adds to `fitted` when it is asked to, by option.
OPTIONAL: Mapping[str, tuple[tuple[str, pa.DataType], ...]] = {
    "--outliers": REMOVED_HITS,
    "--robust": ROBUST,
    "--score": SCORES,
    "--rich-states": RICH_STATES,
}


@dataclass(frozen=True)
class Described:
    """Description of a column.

    Attributes
    ----------
    option : str
        The option of `parkf fit` that adds it; empty where it is always there.
    """

    name: str
    type: str
    unit: str
    meaning: str
    option: str = ""


def table_named(name: str) -> Table:
    """Find a table by its name.

    Raises
    ------
    ParkfError
        When there is none of this name.
    """
    known = {one.name: one for one in TABLES}
    if name not in known:
        raise ParkfError(f"no table '{name}'; tables are {', '.join(known)}")
    return known[name]


def described(table: Table) -> list[Described]:
    """Describe the columns of a table in their order, those that options add at the end."""
    always = [Described(name, _type(kind), *_words(table, name)) for name, kind in table.columns]
    if table is not FITTED:
        return always
    return always + [
        Described(name, _type(kind), *_words(table, name), option)
        for option, columns in OPTIONAL.items()
        for name, kind in columns
    ]


def _type(kind: pa.DataType) -> str:
    """Name a type as NumPy does: float32, and float32[26] for lists of so many."""
    if pa.types.is_fixed_size_list(kind):
        return f"{_type(kind.value_type)}[{kind.list_size}]"
    return {"float": "float32", "double": "float64"}.get(str(kind), str(kind))


def _words(table: Table, name: str) -> tuple[str, str]:
    own = _OF_ONE_TABLE.get(table.name, {})
    return own[name] if name in own else _EVERYWHERE[name]


_STATE = {
    "x": ("mm", "x"),
    "y": ("mm", "y"),
    "tx": ("", "slope dx/dz"),
    "ty": ("", "slope dy/dz"),
}


def _states(suffix: str, where: str) -> dict[str, tuple[str, str]]:
    return {f"{name}{suffix}": (unit, f"{what} {where}") for name, (unit, what) in _STATE.items()}


_DETECTORS = {"velo": "VELO", "ut": "UT", "scifi": "SciFi"}
_EVERYWHERE: Mapping[str, tuple[str, str]] = {
    "event": ("", "number of the bunch crossing, or of the collision of a signal sample"),
    "particle": ("", "number of the particle within its event, from 0"),
    "candidate": ("", "number of the track candidate within its event, from 0"),
    "pdg_id": ("", "what the particle is, in the numbering of the Particle Data Group"),
    "charge": ("e", "electric charge"),
    "polarity": ("", "of the magnet: +1 MagUp, -1 MagDown"),
    "plane": (
        "",
        f"number of the plane along the beam: {VELO_PLANES[0]}-{VELO_PLANES[-1]} VELO,"
        f" {UT_PLANES[0]}-{UT_PLANES[-1]} UT, {SCIFI_PLANES[0]}-{SCIFI_PLANES[-1]} SciFi",
    ),
    "set": ("", "parameter set of the step: layer gap, direction of flight or sign of y"),
}
_OF_CANDIDATES: Mapping[str, tuple[str, str]] = {
    "qop": ("1/MeV", "charge over momentum as the pattern recognition estimates it"),
    "velo_n": ("", "how many VELO hits there are; the slots behind them hold NaN"),
    **{f"velo_{c}": ("mm", f"{c} of the VELO hits, in ascending z") for c in "xyz"},
    **{
        f"{prefix}_{name}": (unit, f"{detector}, layer by layer: {what}; NaN where the layer has no hit")
        for prefix, detector in _DETECTORS.items()
        if prefix != "velo"
        for name, unit, what in (
            ("x", "mm", "x of the strip at y = 0"),
            ("z", "mm", "z of the strip at y = 0"),
            ("dxdy", "", "slope dx/dy of the strip"),
            ("sigma", "mm", "measurement error across the strip"),
        )
    },
    "particle": ("", "the particle with most of the hits, by truth; -1: noise. A fit does not need it"),
    "purity": ("", "fraction of the hits that are its own; below 0.7: a ghost. A fit does not need it"),
}
_OF_ONE_TABLE: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "particles": {
        "collision": ("", "pp collision of the event that it stems from, from 0"),
        "mother": ("", "PDG number of the mother, 0 if there is none"),
        "mass": ("MeV", "mass"),
        **{c: ("mm", f"{c} of the production vertex") for c in "xyz"},
        **{f"p{c}": ("MeV", f"momentum along {c} at production") for c in "xyz"},
        "z_end": ("mm", "where it decays or interacts; infinite if it does neither"),
    },
    "states": {
        "active": ("", "whether it passes through the sensitive area of the plane"),
        "z": ("mm", "z where it crosses the plane"),
        **_states("", "there, true"),
        "p": ("MeV", "momentum there, after the energy lost so far"),
    },
    "fates": {
        "hardest": (
            "",
            "its largest scattering in one layer: the angle in space over the width that multiple scattering"
            " has in a projection",
        ),
    },
    "hits": {
        "particle": ("", "the particle that left it; -1: noise"),
        "x": ("mm", "VELO: x of the point; UT and SciFi: x of the strip at y = 0"),
        "y": ("mm", "VELO: y of the point; UT and SciFi: y of the strip's middle"),
        "z": ("mm", "VELO: z of the point; UT and SciFi: z of the strip at y = 0"),
        "dxdy": ("", "slope dx/dy of the strip; 0 in the VELO"),
        "dzdy": ("", "slope dz/dy of the strip; 0 in the VELO"),
        "sigma": ("mm", "measurement error: of each coordinate in the VELO, across the strip elsewhere"),
    },
    "candidates": _OF_CANDIDATES,
    "closure-tracks": {
        **_OF_CANDIDATES,
        **_states("_in", "on the plane before the magnet, true"),
        "true_tx": ("", "slope dx/dz at production"),
        "true_ty": ("", "slope dy/dz at production"),
        "true_qop": ("1/MeV", "charge over momentum at production"),
        "loss": ("MeV", "momentum lost from production to each SciFi layer"),
        "full_qop": ("1/MeV", "charge over momentum of the full fit of the same hits"),
        "full_status": ("", "status of the full fit, as in `fitted`"),
    },
    "step-data": {
        "qop": ("1/MeV", "charge over momentum at production"),
        "z0": ("mm", "z of the origin"),
        **_states("0", "at the origin, true"),
        "z1": ("mm", "z of the target"),
        **_states("1", "at the target, true"),
        **_states("e", "at the target, by Runge-Kutta from the origin without scattering"),
        "p_true": ("MeV", "momentum at the origin, true"),
    },
    "fitted": {
        "z": ("mm", "where the state is: closest to the beam line"),
        **_states("", "there, as fitted"),
        "qop": ("1/MeV", "charge over momentum as fitted, at production"),
        "xx": ("mm²", "variance of x"),
        "xtx": ("mm", "covariance of x and tx"),
        "txtx": ("", "variance of tx"),
        "yy": ("mm²", "variance of y"),
        "yty": ("mm", "covariance of y and ty"),
        "tyty": ("", "variance of ty"),
        "qopqop": ("1/MeV²", "variance of q/p"),
        **{
            name: text
            for prefix, detector in _DETECTORS.items()
            for name, text in {
                f"chi2_{prefix}": ("", f"χ² of the {detector} hits"),
                f"ndof_{prefix}": ("", f"degrees of freedom of the {detector} hits"),
                f"chi2_{prefix}_before": ("", f"χ² of the {detector} hits in the plain fit"),
            }.items()
        },
        "status": ("", "0: a good fit; else bits that say what is wrong with it, or with what came in"),
        "removed": (
            "",
            "bits of the hits that were taken out: VELO slots 0-25, UT layers 26-29, SciFi layers 30-41",
        ),
        "ndof_ut_before": ("", "degrees of freedom of the UT hits in the plain fit"),
        "treated": ("", "bits of what the robust fit did: 1 UT hits taken out, 2 noise of a step enlarged"),
        "scattered": (
            "",
            "where the step ends whose noise was enlarged: UT layers 26-29, SciFi layers 30-41"
            " (30: the step through the magnet); -1: none",
        ),
        "score": ("", "log odds that the track is genuine, by how well it fits"),
        "score_kinematic": ("", "the same, by momentum and direction as well"),
        **{f"state_{z}": ("mm, mm, -, -", f"x, y, tx, ty at z = {z} mm") for z in RICH_PLANES},
        **{
            f"covariance_{z}": (
                "mm², mm, -",
                f"covariance of the state at z = {z} mm: lower triangle, row by row",
            )
            for z in RICH_PLANES
        },
    },
    "parameters": {
        "block": ("", "block of the set that the number is in"),
        "set": ("", "set within the block; of the magnet table its bin"),
        "index": ("", "place within the set, from 0"),
        "name": ("", "name of the number in the formulas"),
        "unit": ("", "unit of value times scale"),
        "scale": ("", "what the value is multiplied with in the formulas"),
        "value": ("", "the number in the blob"),
        "error": ("", "statistical error of the value; null where no fit determined it"),
        "parity": ("", "sign that the number changes by when the field is reversed: h to -h"),
    },
}
