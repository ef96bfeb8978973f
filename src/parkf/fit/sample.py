"""Fitted candidates beside their truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.truth import Files, joined
from parkf.io.errors import ParkfError
from parkf.io.tables import FITTED
from parkf.io.track_columns import Rows, Tracks

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap

GENUINE_P = 2000.0  # MeV; candidates of particles with less true momentum are not genuine
GHOST_PURITY = 0.7  # below it a candidate is a ghost (paper, Fig. 6)
STATE = ("x", "y", "tx", "ty", "qop")
DETECTORS = ("velo", "ut", "scifi")
VARIANCES = {"x": "xx", "y": "yy", "tx": "txtx", "ty": "tyty", "qop": "qopqop"}
# Largest number of candidates; a larger sample is thinned. This number determines widths to 1.4 per mille.
MOST = 250_000
_ELECTRON = 11


@dataclass(frozen=True)
class Sample:
    """Candidates with fit and truth, one row each.

    `rows` has the columns of the fitted table, and the number of the file, purity, polarity, numbers of hits
    (``velo_n``, ``ut_n``, ``scifi_n``), and x of the first SciFi hit (``scifi_x``, mm). Other columns
    describe the particle: its id and momentum, ``true_z`` of its vertex and the vertex's distance from the z
    axis (``born``, mm), ``z_end`` where it decays or interacts, and ``hardest``, its largest scattering (from
    ``parkf.io.tables.FATES``). ``true_<component>`` is its state at the fitted z: carried through the field
    from its origin if the sample was loaded with a field, else on the straight line. The field is negligible
    on the way from a collision. A track that is born half a metre from the fitted z bends by one σ of tx on
    it. Units are those of the tables.
    """

    rows: Rows

    @property
    def is_track(self) -> npt.NDArray[np.bool_]:
        """Whether a particle that is no electron made at least 70% of the hits and did not decay, (n,)."""
        return self._is_made & ~np.isfinite(np.asarray(self.rows["z_end"], np.float64))

    @property
    def is_decayed(self) -> npt.NDArray[np.bool_]:
        """Whether a candidate would be genuine if its particle had not decayed on its way, (n,)."""
        hard = np.asarray(self.rows["p_true"]) > GENUINE_P
        return self._is_made & np.isfinite(np.asarray(self.rows["z_end"], np.float64)) & hard

    @property
    def _is_made(self) -> npt.NDArray[np.bool_]:
        made = np.asarray(self.rows["purity"]) >= GHOST_PURITY
        return made & np.isfinite(self.rows["p_true"]) & (np.abs(self.rows["pdg_id"]) != _ELECTRON)

    @property
    def is_genuine(self) -> npt.NDArray[np.bool_]:
        """Whether `is_track` holds and the particle has more than 2 GeV, (n,)."""
        return self.is_track & (np.asarray(self.rows["p_true"]) > GENUINE_P)

    @property
    def is_ghost(self) -> npt.NDArray[np.bool_]:
        """Whether no single particle made enough hits of a candidate, (n,)."""
        return np.asarray(self.rows["purity"]) < GHOST_PURITY

    @property
    def genuine(self) -> Rows:
        """Candidates that are genuine."""
        return self.rows[self.is_genuine]

    @property
    def good(self) -> Rows:
        """Genuine candidates with a good fit."""
        genuine = self.genuine
        return genuine[is_good(genuine["status"])]

    @property
    def decayed(self) -> Rows:
        """Candidates whose particle decayed on its way; they are neither genuine nor ghosts."""
        return self.rows[self.is_decayed]

    @property
    def ghosts(self) -> Rows:
        """Candidates that are ghosts."""
        return self.rows[self.is_ghost]


def load_sample(files: Sequence[Files], field: "FieldMap | None" = None) -> Sample:
    """Join fits and truth of several samples, for example of both polarities.

    With `field`, true states are carried through it to the fitted z, else on a straight line.

    If there are more than :data:`MOST` candidates, only some events are kept, with about that number of
    candidates. The choice depends only on the numbers of the events, so that all fits are measured on the
    same candidates. Memory holds some events at a time; TMPDIR holds 181 bytes of each candidate as
    long as the sample exists. A ParkfError is raised if there are no candidates, if the rows of fits and
    candidates differ, or if a file is not sorted by event.
    """
    count = 0
    for one in files:
        with FITTED.open(one.fitted) as file:
            count += file.metadata.num_rows
    if count == 0:
        raise ParkfError(f"{' '.join(str(one.fitted) for one in files)}: no candidates")
    tracks = Tracks()
    for number, one in enumerate(files):
        for rows in joined(one, field):
            kept = drawn(rows["event"]) < MOST / count
            rows["file"] = np.full(len(kept), number, np.int16)
            tracks.append(rows if kept.all() else {name: values[kept] for name, values in rows.items()})
    tracks.write()
    return Sample(tracks)


def drawn(event: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Draw a number below one for each event, from the event's number alone (SplitMix64), (n,)."""
    number = (event.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ (number >> np.uint64(shift))) * np.uint64(factor)
    return (number ^ (number >> np.uint64(31))) / 2.0**64


def pulls(rows: Rows, component: str, *, finite_only: bool = True) -> npt.NDArray[np.float64]:
    """Return (fit − truth) / fitted σ of x, y, tx, ty or qop; only finite entries, or those of every row."""
    variance = np.asarray(rows[VARIANCES[component]], np.float64)
    difference = np.asarray(rows[component], np.float64) - np.asarray(rows[f"true_{component}"], np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        pull = difference / np.sqrt(variance)
    return pull[np.isfinite(pull)] if finite_only else pull


def momentum_residual(rows: Rows) -> npt.NDArray[np.float64]:
    """Return (p − p_true) / p_true of every row."""
    p_true = np.asarray(rows["p_true"], np.float64)
    return 1.0 / (np.abs(np.asarray(rows["qop"], np.float64)) * p_true) - 1.0


def chi2_per_ndof(rows: Rows, detectors: Sequence[str] = DETECTORS) -> npt.NDArray[np.float64]:
    """Return χ²/ndof summed over `detectors`; infinite where the fit failed."""
    chi2 = sum(np.asarray(rows[f"chi2_{name}"], np.float64) for name in detectors)
    ndof = sum(np.asarray(rows[f"ndof_{name}"], np.float64) for name in detectors)
    good = is_good(rows["status"]) & np.isfinite(chi2)
    return np.where(good, chi2 / np.maximum(ndof, 1.0), np.inf)
