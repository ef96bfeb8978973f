"""The tuning trees of LHCb's parameterised Kalman filter, ``ParameterizedKalmanTuning_<run>_<event>.root``.

A file has one event. Trees ``V_0``, ``V_1``, ``VUT_0``, ``UT_1`` …, with or without ``predictState`` before
the name, have branches of states in mm and 1/MeV. A row counts if `MCstatus` is 1 and the track has four UT
and twelve SciFi hits. The number of a tree determines its parameter set. In the VELO, tree 1 is backward. In
the UT, trees 1 to 3 are forward (set tree - 1) and 5 to 7 backward (set 10 - tree). In the SciFi, trees 2 to
23 are forward (set tree - 2, odd ones with y <= 0). Other trees hold steps that a fit does not use. No tree
holds the step from the VELO to the beam.

The branches do not identify particles. Rows of one event with the same true q/p at production count as one
particle.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.imports.steps.rows import Seen
from parkf.io.errors import ParkfError
from parkf.io.root_files import open_root, read_branches, tree_names
from parkf.training.datasets.carry import Rows

# Parameter set of each tree that a fit uses.
TREES: dict[str, dict[int, int]] = {
    "V": {0: 0, 1: 1},
    "VUT": {0: 0},
    "UT": {1: 0, 2: 1, 3: 2, 5: 5, 6: 4, 7: 3},
    "UTTF": {0: 0},
    "TFT": {0: 0},
    "T": {tree: tree - 2 for tree in range(2, 24)},
}
_BRANCHES = {
    f"{name}{end}": branch.format(name)
    for end, branch in (("0", "true_{}_prev"), ("1", "true_{}"), ("e", "{}_extr"))
    for name in ("x", "y", "tx", "ty")
}
_BRANCHES |= {"z0": "z_prev", "z1": "z", "qop": "true_qop", "qop_here": "true_qop_prev"}
_CHOICE = {"MCstatus": 1, "nHitsUT": 4, "nHitsT": 12}
_NAME = re.compile(r"(?:predictState)?([A-Z]+)_(\d+)")


def tuning_rows(paths: list[Path], step: str, polarity: int, seen: Seen) -> Iterator[Rows]:
    """Read the rows of a step, a key of :data:`TREES`, from many files, one after another.

    A file is one event, numbered by the file's name or else by its index in the list. The trees do not
    contain the polarity, +1 MagUp, -1 MagDown. Yield columns (n,) of `parkf.io.tables.STEP_DATA`; `seen` gets
    the files. A ParkfError reports that no file has a tuning tree; an event without tracks has none.
    """
    for index, path in enumerate(paths):
        numbered = re.fullmatch(r".*_(\d+)_(\d+)", path.stem)
        event = index if numbered is None else int(numbered[2]) % (1 << 63)
        with open_root(path) as file:
            known = {
                (match[1], int(match[2])): name
                for name in tree_names(file)
                if (match := _NAME.fullmatch(name)) is not None and match[1] in TREES
            }
            if not known:
                seen.count("files without tuning trees", 1)
                continue
            seen.files.append(path)
            for number, parameter_set in TREES[step].items():
                if (step, number) in known:
                    rows, numbers = _rows(file[known[step, number]], path)
                    constants = {"event": event, "polarity": polarity, "set": parameter_set, "pdg_id": 0}
                    rows |= {name: np.full(len(numbers), one) for name, one in constants.items()}
                    yield seen.placed(rows, numbers)
    if not seen.files:
        raise ParkfError(f"{paths[0]}: no tuning tree in it (V_0, VUT_0, UT_1 …)")


def _rows(tree: Any, path: Path) -> tuple[Rows, NDArray[np.int64]]:
    """Return the chosen rows of a tree, and their numbers in it."""
    arrays = read_branches(tree, (*_BRANCHES.values(), *_CHOICE), path)
    keep = np.logical_and.reduce([arrays[name] == value for name, value in _CHOICE.items()])
    rows = {own: arrays[name][keep].astype(np.float64) for own, name in _BRANCHES.items()}
    # A hash of q/p below 2**31; one in 2**31 pairs of unequal q/p has equal hashes.
    bits = np.ascontiguousarray(rows["qop"]).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    particle = (bits >> np.uint64(33)).astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows |= {"p_true": 1.0 / np.abs(rows.pop("qop_here")), "charge": np.sign(rows["qop"])}
    return dict[str, Any](rows) | {"particle": particle}, np.flatnonzero(keep)
