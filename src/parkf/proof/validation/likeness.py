"""Figures of a simulated sample and of fits of its tracks, for comparison with another sample."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.fit.sample import DETECTORS, GHOST_PURITY, Sample, chi2_per_ndof
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import central_widths
from parkf.proof.validation.figures import ENOUGH, share
from parkf.proof.validation.validate import measure_alone

ETA = (2.0, 5.0)
P_MIN = 2.0  # GeV
P_EDGES = (2.0, 5.0, 20.0, 100.0)  # GeV, of fits
CHI2_LARGE = 3.0  # χ²/ndof above which a track looks wrong (the paper's cut)
PLANES = {"velo": VELO_PLANES, "ut": UT_PLANES, "scifi": SCIFI_PLANES}
# Particles that come from within this of the beam line, in mm, count as prompt.
PROMPT_RADIUS = 0.5

Figure = tuple[float, float]  # value and statistical error

_EDGES = {
    "p": np.geomspace(2.0, 100.0, 19),
    "eta": np.linspace(*ETA, 13),
    "velo": np.arange(-0.5, 27.0),
    "ut": np.arange(-0.5, 5.0),
    "scifi": np.arange(-0.5, 13.0),
}
_ELECTRON = 11


def characterise(hits: Path, particles: Path, matched: Path, found: Path) -> dict[str, Any]:
    """Describe events, long tracks (p > 2 GeV, 2 < η < 5, no electrons) and candidates.

    Candidates are `matched`, by truth, and `found`, from the search. A file that is no such table, or fewer
    than 50 tracks, raise a ParkfError.

    The result has ``events``, ``tracks`` (counts), ``histograms.{p, eta, velo, ut, scifi}`` (fractions with
    errors; GeV; numbers of modules or layers), and ``figures.<name>.{value, error}``:

    - of an event: ``long_tracks`` of any momentum, ``<detector>_hits`` (per long track), ``<detector>_noise``
      (fraction of hits without a particle), ``candidates`` of the search, ``ghosts`` (their fraction);
    - of prompt particles: ``reconstructible`` (fraction with enough hits), ``vertex_spread`` (mm along z);
    - of tracks: ``displaced`` (fraction that is not prompt), ``velo_modules`` (mean), ``ut_none``,
      ``ut_all``, ``scifi_<10, 11, 12>`` (fractions).

    How far hits lie from their tracks, how much tracks scatter, and how strong the field is show in the fits
    of :func:`measure_tracks`.
    """
    true = with_momenta(PARTICLES.open(particles).read().to_pandas())
    points = HITS.open(hits).read(["event", "plane", "particle", "x", "y"]).to_pandas()
    by_truth = CANDIDATES.open(matched).read().to_pandas()
    searched = CANDIDATES.open(found).read(["event", "purity"]).to_pandas()

    everything = by_truth[["event", "particle"]].merge(true, on=["event", "particle"])
    tracks = by_truth.merge(true[true.accepted], on=["event", "particle"])
    if len(tracks) < ENOUGH:
        raise ParkfError(f"{matched}: {len(tracks)} tracks, expected at least {ENOUGH}")
    layers = {"velo": tracks.velo_n.to_numpy(np.int64)}
    for name in ("ut", "scifi"):
        layers[name] = np.array([np.isfinite(x).sum() for x in tracks[f"{name}_x"]], np.int64)
    values = {"p": tracks.p.to_numpy(), "eta": tracks.eta.to_numpy(), **layers}
    figures = (
        _of_events(points, everything, searched)
        | _of_prompt(true[true.accepted & (true.radius < PROMPT_RADIUS)], by_truth)
        | _of_tracks(tracks, layers)
    )
    return {
        "events": points.event.nunique(),
        "tracks": len(tracks),
        "histograms": {name: _histogram(column, _EDGES[name]) for name, column in values.items()},
        "figures": {name: {"value": value, "error": error} for name, (value, error) in figures.items()},
    }


def with_momenta(particles: pd.DataFrame) -> pd.DataFrame:
    """Return momenta (GeV), η, origin along and off the beam line (mm), and which particles are accepted."""
    p = np.sqrt(particles.px**2 + particles.py**2 + particles.pz**2)
    eta = np.arctanh(particles.pz / p)
    accepted = (p > 1000.0 * P_MIN) & (eta > ETA[0]) & (eta < ETA[1]) & (particles.charge != 0)
    return particles[["event", "particle", "pdg_id", "charge"]].assign(
        p=p / 1000.0,
        eta=eta,
        z=particles.z,
        radius=np.hypot(particles.x, particles.y),
        accepted=accepted & (particles.pdg_id.abs() != _ELECTRON),
    )


def hits_of(hits: pd.DataFrame, detector: str) -> pd.DataFrame:
    """Rows of a table with a column ``plane`` that are of one detector."""
    planes = PLANES[detector]
    return hits[(hits.plane >= planes.start) & (hits.plane < planes.stop)]


def owners(rows: pd.DataFrame) -> pd.MultiIndex:
    """Event and particle of each row."""
    return pd.MultiIndex.from_frame(rows[["event", "particle"]])


def mean_of(values: npt.ArrayLike) -> Figure:
    """Return the mean and its statistical error."""
    several = np.asarray(values, np.float64)
    return float(several.mean()), float(several.std(ddof=1) / len(several) ** 0.5)


def fraction_of(which: npt.ArrayLike) -> Figure:
    """Return the fraction of true values and its binomial error, at least 1/n, even if the fraction is 0."""
    fraction, error = share("", np.asarray(which, bool)).values()
    return fraction, error


def _of_events(hits: pd.DataFrame, tracks: pd.DataFrame, found: pd.DataFrame) -> dict[str, Figure]:
    several = {"long_tracks": tracks, "candidates": found}
    figures = {name: mean_of(_counts(rows, hits)) for name, rows in several.items()}
    for name in PLANES:
        # A hit of several particles has a row for each.
        distinct = hits_of(hits, name).drop_duplicates(["event", "plane", "x", "y"])
        figures[f"{name}_hits"] = _ratio(distinct, tracks, hits)
        figures[f"{name}_noise"] = fraction_of(distinct.particle < 0)
    return figures | {"ghosts": fraction_of(found.purity < GHOST_PURITY)}


def _counts(rows: pd.DataFrame, hits: pd.DataFrame) -> npt.NDArray[Any]:
    """Count rows in each event that has hits."""
    return rows.groupby("event").size().reindex(hits.event.unique(), fill_value=0).to_numpy()


def _ratio(rows: pd.DataFrame, tracks: pd.DataFrame, hits: pd.DataFrame) -> Figure:
    """Return the number of rows per track, and its error from the differences between events."""
    above, below = _counts(rows, hits), _counts(tracks, hits)
    ratio = float(above.sum() / below.sum())
    scatter = (above - ratio * below).std(ddof=1)
    return ratio, float(scatter / below.mean() / len(below) ** 0.5)


def _of_prompt(prompt: pd.DataFrame, matched: pd.DataFrame) -> dict[str, Figure]:
    reached = fraction_of(owners(prompt).isin(owners(matched)))
    # All particles of one collision have the same z, except for a few from decays in flight.
    z = prompt[["event", "z"]].round(2).drop_duplicates().z.to_numpy()
    spread = float(z.std())
    return {"reconstructible": reached, "vertex_spread": (spread, spread / (2 * len(z)) ** 0.5)}


def _of_tracks(tracks: pd.DataFrame, layers: dict[str, npt.NDArray[np.int64]]) -> dict[str, Figure]:
    return {
        "displaced": fraction_of(tracks.radius >= PROMPT_RADIUS),
        "velo_modules": mean_of(layers["velo"]),
        "ut_none": fraction_of(layers["ut"] == 0),
        "ut_all": fraction_of(layers["ut"] == len(UT_PLANES)),
        **{f"scifi_{number}": fraction_of(layers["scifi"] == number) for number in (12, 11, 10)},
    }


def _histogram(values: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]) -> dict[str, list[float]]:
    """Fractions of all `values` by bin, and their statistical errors."""
    content, _ = np.histogram(values, edges)
    return {
        "edges": edges.tolist(),
        "content": (content / len(values)).tolist(),
        "error": (np.sqrt(content) / len(values)).tolist(),
    }


def select_by_eta(sample: Sample) -> Sample:
    """Return the candidates of particles with 2 < η < 5."""
    eta = np.arcsinh(1.0 / np.hypot(sample.rows["true_tx"], sample.rows["true_ty"]))
    return Sample(sample.rows[(eta > ETA[0]) & (eta < ETA[1])])


def measure_tracks(sample: Sample) -> dict[str, Any]:
    """Measure resolution, pulls and χ² of genuine tracks with 2 < η < 5 and a good fit.

    The result has ``counts.{tracks, failed}``, ``pulls`` and ``momentum[]`` of
    :func:`parkf.proof.validation.validate.measure_alone` in bins of :data:`P_EDGES`, and ``chi2.{velo, ut,
    scifi, all} = {median, median_error, large}`` of χ²/ndof, where `large` is the fraction above three. Fewer
    than 50 such tracks raise a ParkfError.
    """
    seen = select_by_eta(sample)
    tracks, good = len(seen.genuine), seen.good
    if len(good) < ENOUGH:
        raise ParkfError(f"measure: {len(good)} genuine tracks with a good fit, expected at least {ENOUGH}")
    chi2 = {name: _chi2(good[good[f"ndof_{name}"] > 0], (name,)) for name in DETECTORS}
    return {
        "counts": {"tracks": tracks, "failed": tracks - len(good)},
        **measure_alone(seen, P_EDGES),
        "chi2": {"all": _chi2(good, DETECTORS), **chi2},
    }


def _chi2(rows: Rows, detectors: tuple[str, ...]) -> dict[str, float]:
    values = chi2_per_ndof(rows, detectors)
    # The error is that of a Gaussian's median.
    error = 1.2533 * central_widths(values)["width68"].value / len(values) ** 0.5
    return {
        "median": float(np.median(values)),
        "median_error": error,
        "large": float((values > CHI2_LARGE).mean()),
    }
