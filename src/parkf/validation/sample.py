"""Fitted candidates beside their truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from parkf.errors import ParkfError
from parkf.tables import CANDIDATES, FATES, FITTED, PARTICLES

GHOST_PURITY = 0.7  # below it a candidate is a ghost (paper, Fig. 6)
STATE = ("x", "y", "tx", "ty", "qop")
DETECTORS = ("velo", "ut", "scifi")
VARIANCES = {"x": "xx", "y": "yy", "tx": "txtx", "ty": "tyty", "qop": "qopqop"}
_ELECTRON = 11


@dataclass(frozen=True)
class Files:
    """The files of one sample that belong together; without fates nothing is known of hard scatters."""

    particles: Path
    candidates: Path
    fitted: Path
    fates: Path | None = None


@dataclass(frozen=True)
class Sample:
    """Candidates with fit and truth, one row each.

    Attributes
    ----------
    rows : pandas.DataFrame
        Columns of the fitted table, number of the file, purity, polarity and numbers of hits (``velo_n``,
        ``ut_n``, ``scifi_n``), the particle's id and momentum, ``true_z`` of its vertex, ``z_end`` where it
        decays or interacts, ``hardest``, its largest scattering (of ``parkf.tables.FATES``), and
        ``true_<component>``: its state at the fitted z, on the straight line through its production vertex
        (units as in the tables; the field is negligible that close to the beam).
    """

    rows: pd.DataFrame

    @property
    def genuine(self) -> pd.DataFrame:
        """Candidates of which one particle, no electron, above 2 GeV, made at least 70% of the hits."""
        rows = self.rows
        return rows[(rows.purity >= GHOST_PURITY) & (rows.p_true > 2000.0) & (rows.pdg_id.abs() != _ELECTRON)]

    @property
    def ghosts(self) -> pd.DataFrame:
        """Candidates that stem from no single particle."""
        return self.rows[self.rows.purity < GHOST_PURITY]


def load_sample(files: Sequence[Files]) -> Sample:
    """Join fits and truth of several samples (both polarities, say).

    Raises
    ------
    ParkfError
        When candidates and fits are not of the same rows.
    """
    several = [_load(one).assign(file=number) for number, one in enumerate(files)]
    return Sample(pd.concat(several, ignore_index=True))


def _load(files: Files) -> pd.DataFrame:
    fitted = FITTED.open(files.fitted).read().to_pandas()
    columns = ["event", "candidate", "particle", "purity", "qop", "polarity", "velo_n"]
    found = CANDIDATES.open(files.candidates).read([*columns, "ut_x", "scifi_x"])
    candidates = found.select(columns).to_pandas().rename(columns={"qop": "seed_qop"})
    for name in ("ut", "scifi"):
        x = found[f"{name}_x"].combine_chunks()
        hit = np.isfinite(x.flatten().to_numpy()).reshape(len(x), -1)
        candidates[f"{name}_n"] = hit.sum(1)
    if not fitted[["event", "candidate"]].equals(candidates[["event", "candidate"]]):
        raise ParkfError(
            f"{files.fitted}: its rows are not those of {files.candidates}; fit this file of candidates again"
        )
    particles = PARTICLES.open(files.particles).read().to_pandas().set_index(["event", "particle"])
    key = pd.MultiIndex.from_frame(candidates[["event", "particle"]])
    truth = particles.reindex(key).reset_index(drop=True)
    rows = pd.concat([fitted, candidates.drop(columns=["event", "candidate", "particle"])], axis=1)
    rows["pdg_id"] = truth.pdg_id.fillna(0).astype(np.int32)
    rows["p_true"] = np.sqrt(truth.px**2 + truth.py**2 + truth.pz**2)
    rows["true_tx"], rows["true_ty"] = truth.px / truth.pz, truth.py / truth.pz
    for name in ("x", "y"):
        rows[f"true_{name}"] = truth[name] + rows[f"true_t{name}"] * (rows.z - truth.z)
    rows["true_qop"] = truth.charge / rows.p_true
    rows["true_z"], rows["z_end"] = truth.z, truth.z_end
    rows["hardest"] = np.nan
    if files.fates is not None:
        fates = FATES.open(files.fates).read().to_pandas().set_index(["event", "particle"])
        rows["hardest"] = fates.reindex(key).hardest.to_numpy(np.float64)
    return rows


def pulls(rows: pd.DataFrame, component: str) -> npt.NDArray[np.float64]:
    """Return (fit − truth) / fitted σ of one of x, y, tx, ty, qop; finite entries only."""
    variance = rows[VARIANCES[component]].to_numpy(np.float64)
    difference = rows[component].to_numpy(np.float64) - rows[f"true_{component}"].to_numpy(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        pull = difference / np.sqrt(variance)
    return pull[np.isfinite(pull)]


def momentum_residual(rows: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return (p − p_true) / p_true of every row."""
    return 1.0 / (rows.qop.abs().to_numpy(np.float64) * rows.p_true.to_numpy(np.float64)) - 1.0


def chi2_per_ndof(rows: pd.DataFrame, detectors: Sequence[str] = DETECTORS) -> npt.NDArray[np.float64]:
    """Return χ²/ndof summed over `detectors`; infinite where the fit failed."""
    chi2 = sum(rows[f"chi2_{name}"].to_numpy(np.float64) for name in detectors)
    ndof = sum(rows[f"ndof_{name}"].to_numpy(np.float64) for name in detectors)
    good = (rows.status.to_numpy() == 0) & np.isfinite(chi2)
    return np.where(good, chi2 / np.maximum(ndof, 1.0), np.inf)
