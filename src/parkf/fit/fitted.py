"""Fitted tracks, and the meaning of their status."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.io.tables import FITTED
from parkf.params.manifest import Blobs

NUMBERS = (
    *("z", "x", "y", "tx", "ty", "qop", "xx", "xtx", "txtx", "yy", "yty", "tyty", "qopqop"),
    *("chi2_velo", "chi2_ut", "chi2_scifi"),
)
INTEGERS = ("ndof_velo", "ndof_ut", "ndof_scifi", "status")
# Additional rows of a robust fit. χ² and ndof here are those of the plain fit. Cuts on ghosts need them,
# because the treatment makes ghosts fit well, too. Only the UT's ndof changes. `treated` has bits of
# `TREATED`. `scattered` is the layer at the end of the step whose noise was enlarged, 26 + UT layer or 30 +
# SciFi layer (30 is the magnet); it is -1 if no noise was enlarged.
NUMBERS_BEFORE = ("chi2_velo_before", "chi2_ut_before", "chi2_scifi_before")
INTEGERS_BEFORE = ("ndof_ut_before", "treated", "scattered")

TRIANGLE = (
    *("xx", "xy", "yy", "xtx", "ytx", "txtx", "xty", "yty", "txty", "tyty"),
    *("xqop", "yqop", "txqop", "tyqop", "qopqop"),
)

FAR = 0.2
"""Fraction by which q/p of a long track is far from its seed's."""

# Meanings and names of the bits of a status, as the kernel lists them (fit/status.hpp), and one that is found
# here. A fit is good if it has no bits but those of WARNINGS.
_FAR_SEED = (
    1 << 15,
    "far_seed",
    f"a warning: q/p is more than {100 * FAR:.0f} % off its seed's; fit again from the fitted q/p",
)
STATUS: Mapping[int, str] = {bit: meaning for bit, _, meaning in (*_fitter.status, _FAR_SEED)}
STATUS_BITS: Mapping[str, int] = {name: bit for bit, name, _ in (*_fitter.status, _FAR_SEED)}
WARNINGS: int = _fitter.warnings | _FAR_SEED[0]

# Bits of `treated` describe how a robust fit treated a track; 0 is the plain fit.
TREATED: Mapping[int, str] = {
    1: "its UT hits were taken out",
    2: "the noise was enlarged where the track scattered hardest, and in the magnet, which may hide it",
}


def is_good(status: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether fits with these statuses (n,) are good: they have no bits but warnings, (n,)."""
    return (np.asarray(status) & ~WARNINGS) == 0


def explain_status(status: int) -> list[str]:
    """Describe the bits of a status."""
    return [text for bit, text in STATUS.items() if status & bit]


# Prefix of the metadata keys in a fitted file under which the parameter set's fingerprints are.
_SET = "parkf.set."


def set_metadata(blobs: Blobs) -> dict[str, str]:
    """Return the metadata that identifies the parameter set in a file of fitted tracks."""
    return {f"{_SET}{name}": sha256 for name, sha256 in blobs.fingerprints().items()}


def fitted_with(path: Path) -> dict[str, str] | None:
    """Return the SHA-256 of both blobs that a file was fitted with; None without a parameter set."""
    with FITTED.open(path) as file:
        metadata = {name.decode(): value.decode() for name, value in file.schema_arrow.metadata.items()}
    return {key.removeprefix(_SET): value for key, value in metadata.items() if key.startswith(_SET)} or None


def common_set(paths: Iterable[Path]) -> dict[str, str] | None:
    """Return the fingerprints of the set that all these files were fitted with, or None without any set."""
    sets = [(path, found) for path in paths if (found := fitted_with(path))]
    for path, found in sets:
        if found != sets[0][1]:
            raise ParkfError(
                f"{path}: fitted with another parameter set than {sets[0][0]}; fit all files with one"
            )
    return sets[0][1] if sets else None


@dataclass(frozen=True)
class Fitted:
    """Tracks at their closest approach to the beam line; every attribute is (n,).

    z, x, y are in mm, tx, ty in rad, and qop at production in 1/MeV, in the precision of the fit. The
    elements of the covariance are xx, xtx, txtx, yy, yty, tyty, qopqop. χ² of the VELO, UT and SciFi hits is
    evaluated at the q/p from all hits together. The status is a sum of the bits in :data:`STATUS`, and
    :func:`is_good` says which fits are good. The start from two hits reduces the VELO's ndof by four. q/p
    reduces SciFi's ndof by one, or the UT's if there is no SciFi hit. The full fit counts in the order of its
    filter, so q/p reduces the UT's ndof if there are UT hits.

    ``more`` has what some fits add, (n,) by name: a robust fit `NUMBERS_BEFORE` and `INTEGERS_BEFORE`; ghost
    scores, if requested, log odds that a track is genuine; tracks without VELO hits, which are at their first
    layer, with q/p there, the elements `BEHIND_VELO` of the covariance; electrons, whose q/p is the one where
    they were produced, the columns `ELECTRON` of the table ``fitted``. Position and direction of tracks
    without VELO hits cost four degrees of freedom: the UT's, then the SciFi's.
    """

    z: NDArray[Any]
    x: NDArray[Any]
    y: NDArray[Any]
    tx: NDArray[Any]
    ty: NDArray[Any]
    qop: NDArray[Any]
    xx: NDArray[Any]
    xtx: NDArray[Any]
    txtx: NDArray[Any]
    yy: NDArray[Any]
    yty: NDArray[Any]
    tyty: NDArray[Any]
    qopqop: NDArray[Any]
    chi2_velo: NDArray[Any]
    chi2_ut: NDArray[Any]
    chi2_scifi: NDArray[Any]
    ndof_velo: NDArray[np.int32]
    ndof_ut: NDArray[np.int32]
    ndof_scifi: NDArray[np.int32]
    status: NDArray[np.int32]
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def chi2(self) -> NDArray[Any]:
        """Total χ² of each track, (n,)."""
        return self.chi2_velo + self.chi2_ut + self.chi2_scifi

    @property
    def ndof(self) -> NDArray[np.int32]:
        """Total degrees of freedom of each track, (n,)."""
        return self.ndof_velo + self.ndof_ut + self.ndof_scifi

    @property
    def covariances(self) -> NDArray[Any]:
        """Lower triangles (n, 15) of the covariances of x, y, tx, ty, q/p of tracks without VELO hits."""
        found = {name: getattr(self, name) for name in NUMBERS} | dict(self.more)
        return np.stack([found[name] for name in TRIANGLE], axis=1)

    @classmethod
    def from_kernel(
        cls, numbers: NDArray[Any], integers: NDArray[np.int32], more: Iterable[str] = ()
    ) -> "Fitted":
        """Name the rows of the kernel's arrays, (16, n) and (4, n), which are not copied.

        The arrays of a robust fit are (19, n) and (7, n). `more` are the names of further rows of numbers.
        """
        robust = len(integers) > len(INTEGERS)
        names = (*NUMBERS, *(NUMBERS_BEFORE if robust else ()), *more)
        rows = dict(zip(names, numbers, strict=True))
        rows |= zip(INTEGERS + (INTEGERS_BEFORE if robust else ()), integers, strict=True)
        plain = {name: rows.pop(name) for name in (*NUMBERS, *INTEGERS)}
        return cls(**plain, more=rows)

    def for_output(self) -> tuple["Fitted", dict[str, NDArray[Any]]]:
        """Return the tracks with χ² and ndof of the plain fit, and all additional columns.

        The treatment of a robust fit makes ghosts fit well, too, so that its χ² is a poor cut. Its χ² and the
        UT's ndof are therefore additional columns with names that end in ``_treated``.
        """
        plain = {
            name.removesuffix("_before"): values
            for name, values in self.more.items()
            if name.endswith("_before")
        }
        columns = {f"{name}_treated": getattr(self, name) for name in plain}
        columns |= {name: values for name, values in self.more.items() if not name.endswith("_before")}
        changed: dict[str, Any] = {**plain, "more": {}}
        return replace(self, **changed), columns

    def flagged(self, rows: NDArray[np.bool_] | None, name: str) -> "Fitted":
        """Return the same tracks, with the bit `name` of the status set where `rows` (n,) is true."""
        if rows is None:
            return self
        bit = np.int32(STATUS_BITS[name])
        return replace(self, status=self.status | np.where(rows, bit, np.int32(0)))
