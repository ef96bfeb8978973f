"""The ghost score of a parameter set: numbers of two small networks, in a file of their own.

A row of weights and an offset for each hidden unit, max(0, w·f + b); then the weights of these and an
offset: log odds that a track is genuine. The inputs of the first network describe how well a track fits; the
second also has momentum and direction. The kernel evaluates both, and computes their inputs
(``src/kernel/fit/score.hpp``).
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import existing, read_json, replacing, write_sealed
from parkf.params.manifest import Blob, GhostScore, ScoreNetwork

SCORE_FILE = "ghosts.f32"
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
    """A trained score.

    Attributes
    ----------
    numbers : (m,) float32
        Both networks.
    genuine, ghosts : int
        Candidates of each kind that it was trained on.
    """

    numbers: NDArray[np.float32]
    genuine: int
    ghosts: int

    def save(self, path: Path) -> None:
        """Write it, for :func:`load_score`."""
        write_sealed(path, {"numbers": self.numbers.tolist(), "genuine": self.genuine, "ghosts": self.ghosts})

    def description(self) -> GhostScore:
        """Give what the manifest says of it."""
        blob = Blob(
            numbers=self.numbers.size, sha256=hashlib.sha256(self.numbers.astype("<f4").tobytes()).hexdigest()
        )
        networks = []
        first = 0
        for name, inputs in zip(NAMES, (OWN, FEATURES), strict=True):
            networks.append(ScoreNetwork(name=name, first=first, inputs=list(inputs)))
            first += count(len(inputs))
        return GhostScore(
            version=VERSION,
            blob=blob,
            hidden=HIDDEN,
            networks=networks,
            genuine=self.genuine,
            ghosts=self.ghosts,
        )


def count(inputs: int) -> int:
    """Numbers of a network of so many inputs."""
    return int(HIDDEN * (inputs + 1) + HIDDEN + 1)


def load_score(path: Path) -> Score:
    """Read a trained score.

    Raises
    ------
    ParkfError
        When the file is missing or not of this kernel's networks.
    """
    content = read_json(path)
    numbers = np.array(content.get("numbers", []), dtype=np.float32)
    if numbers.shape != (NUMBERS,):
        raise ParkfError(f"{path}: {numbers.size} numbers, expected {NUMBERS}; train the score again")
    return Score(numbers, content["genuine"], content["ghosts"])


def write_blob(folder: Path, score: Score | None) -> None:
    """Write a set's file of the score; without one, none is left over from before."""
    if score is None:
        (folder / SCORE_FILE).unlink(missing_ok=True)
        return
    with replacing(folder / SCORE_FILE) as temporary:
        temporary.write_bytes(score.numbers.astype("<f4").tobytes())


def read_blob(folder: Path, said: GhostScore | None) -> Score | None:
    """Read a set's score; None where it has none, or one of another version than this kernel evaluates.

    Raises
    ------
    ParkfError
        When the file is missing, truncated, does not match its checksum, or has a number that is not finite.
    """
    if said is None or said.version != VERSION:
        return None
    path = folder / SCORE_FILE
    content = existing(path).read_bytes()
    if len(content) != 4 * NUMBERS or said.blob.numbers != NUMBERS:
        raise DamagedFileError.said(
            path, f"{path}: {len(content)} bytes, expected {4 * NUMBERS} ({NUMBERS} numbers of float32)"
        )
    got = hashlib.sha256(content).hexdigest()
    if got != said.blob.sha256:
        raise DamagedFileError.said(
            path, f"{path}: sha256 {got}, the manifest says {said.blob.sha256}; one of the two was changed"
        )
    numbers = np.frombuffer(content, dtype="<f4").astype(np.float32)
    for position in np.flatnonzero(~np.isfinite(numbers))[:1]:
        raise ParkfError(f"{path}: index {position}: got {numbers[position]}, expected a number")
    return Score(numbers, said.genuine, said.ghosts)
