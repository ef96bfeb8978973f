"""The ghost score of a parameter set: numbers of two small networks, in a file of their own.

A network has a row of weights and an offset for each hidden unit, max(0, w·f + b), then the weights of the
hidden units and a last offset. Its output is the log odds that a track is genuine. The inputs of the first
network describe how well a track fits; the second also has momentum and direction. The kernel evaluates both,
and computes their inputs (``src/kernel/fit/score.hpp``).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.params.binary_form import SCORE_FILE
from parkf.params.blobs import blob_of, read_blob
from parkf.params.manifest import GhostScore, ScoreNetwork
from parkf.params.set_folder import SetFolder

VERSION, HIDDEN, NUMBERS = _fitter.score["version"], _fitter.score["hidden"], _fitter.score["numbers"]
# Inputs of the networks. The logarithm is to base two, interpolated linearly between powers of two.
FEATURES = (
    *(f"log(0.05 + chi2/ndof) of the {name}" for name in ("VELO", "UT", "SciFi")),
    "1 if the UT saw the track",
    "ndof of the UT",
    "ndof of SciFi",
    "log(1 + chi2) of the first UT layer",
    "log(1 + chi2) of the first two UT layers",
    *(f"log(0.1 + chi2) of the {which} SciFi station" for which in ("first", "second", "third")),
    *(f"log(1 + what chi2 of the {name} would fall by if it chose q/p)" for name in ("UT", "VELO")),
    "log(5 GeV/p)",
    "log(tx^2 + ty^2)",
    "|tx|",
    "|ty|",
)
OWN = FEATURES[: _fitter.score["own"]]
NAMES = ("score", "score_kinematic")
"""Columns of `fitted` with the networks' outputs: without momentum and direction, and with them."""


@dataclass(frozen=True, eq=False)
class Score:
    """A trained score."""

    numbers: NDArray[np.float32]  # (m,), both networks
    genuine: int  # candidates of each kind in the training
    ghosts: int

    def save(self, path: Path) -> None:
        """Write the file that :func:`load_score` reads."""
        content = {"numbers": self.numbers.tolist(), "genuine": self.genuine, "ghosts": self.ghosts}
        write_sealed(path, content)

    def description(self) -> GhostScore:
        """Return the entry of the manifest."""
        networks = [
            ScoreNetwork(name=NAMES[0], first=0, inputs=list(OWN)),
            ScoreNetwork(name=NAMES[1], first=count(len(OWN)), inputs=list(FEATURES)),
        ]
        about = {"version": VERSION, "hidden": HIDDEN, "genuine": self.genuine, "ghosts": self.ghosts}
        about |= {"networks": networks, "blob": blob_of(self.numbers)}
        return GhostScore.model_validate(about)


def count(inputs: int) -> int:
    """Count the numbers of a network with this number of inputs."""
    return int(HIDDEN * (inputs + 1) + HIDDEN + 1)


def load_score(path: Path) -> Score:
    """Read a trained score; a file that is missing or not of this kernel's networks raises a ParkfError."""
    content = read_json(path)
    numbers = np.array(content.get("numbers", []), dtype=np.float32)
    if numbers.shape != (NUMBERS,):
        raise ParkfError(f"{path}: {numbers.size} numbers, expected {NUMBERS}; train the score again")
    return Score(numbers, content["genuine"], content["ghosts"])


def read_score(files: SetFolder, described: GhostScore | None) -> Score | None:
    """Read a set's score; None if it has none, or if this kernel evaluates another version.

    A file that is not as described, or a number that is not finite, raises a ParkfError.
    """
    if described is None or described.version != VERSION:
        return None
    numbers = read_blob(files, SCORE_FILE, described.blob, NUMBERS)
    return Score(numbers, described.genuine, described.ghosts)
