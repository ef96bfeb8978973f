"""Electrons: their momenta, fitted as pions and as electrons, and the peaks of J/ψ → ee and γ → ee."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parkf.detector.geometry import VELO_PLANES
from parkf.fit import fit_file, is_good
from parkf.fit.sample import GENUINE_P, GHOST_PURITY
from parkf.fit.truth import Files
from parkf.io.arrow import numbers
from parkf.io.events import particle_key
from parkf.io.files import scratch_folder
from parkf.io.tables import ELECTRON, PARTICLES
from parkf.io.track_columns import Rows
from parkf.proof.validation.figures import ENOUGH, binned, share
from parkf.proof.validation.fitting import fitted_samples, write_changed
from parkf.proof.validation.kinds import Simulated
from parkf.proof.validation.masses import RANGE, invariant_masses
from parkf.simulation.generate.decays import DECAYS, Decay
from parkf.simulation.particles import ELECTRON as PDG_ID
from parkf.simulation.pattern import find_candidates

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry

F64 = NDArray[np.float64]

P_EDGES, ETA_EDGES = (3.0, 10.0, 30.0, 100.0), (2.0, 3.0, 4.0, 5.0)
COLLISIONS = "collisions"
# Of histograms: of masses in MeV, and of (p − p_true)/p_true.
MASS_EDGES, RESIDUAL_EDGES = np.linspace(1500.0, 4000.0, 51), np.linspace(-1.0, 1.0, 51)
_CENTRAL = (0.15865525393145707, 0.8413447460685429)
_DENSEST, _FEWEST = 0.05, 20  # fraction of the entries, and number, whose interval is the shortest
_REPLICAS = 50
_OF_A_TRACK = ("file", "event", "pdg_id", "tx", "ty", "true_qop", "qop", "pion_qop", "mean_qop")


def measure_electrons(
    parameters: Path,
    samples: Sequence[Files],
    decays: Sequence[Simulated],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> dict[str, Any]:
    """Fit electrons with a set, as pions and as electrons.

    `samples` are of collisions; `decays` are files ``<decay>_<polarity>.parquet``, with candidates made by
    truth. The result has ``tracks.<sample>`` with the figures of :func:`momenta`, and ``peaks.<decay>`` with
    those of :func:`peak`; samples with fewer than 50 electrons or pairs are left out.
    """
    velo_end = float(geometry.planes()[VELO_PLANES, 0].max())
    detector: Any = {"geometry": geometry, "field": field, "workers": threads}
    tracks: dict[str, Any] = {}
    peaks: dict[str, Any] = {}
    with scratch_folder() as name:
        folder = Path(name)
        of: dict[str, list[Files]] = {COLLISIONS: []}
        for number, sample in enumerate(samples):
            path = folder / f"{number}.parquet"
            _write_electrons(sample, path)
            of[COLLISIONS].append(replace(sample, candidates=path))
        for part in decays:
            path = folder / part.particles.name
            find_candidates(part.hits, path, polarity=part.polarity, matched=True, **detector)
            of.setdefault(part.particles.stem.rpartition("_")[0], []).append(Files(part.particles, path))
        for name, files in of.items():
            rows = electrons_fitted(parameters, files, velo_end, threads)
            if len(rows) >= ENOUGH:
                tracks[name] = momenta(rows)
            if name in DECAYS and (found := peak(rows, DECAYS[name])):
                peaks[name] = found
    return {"tracks": tracks, "peaks": peaks}


def _write_electrons(sample: Files, path: Path) -> None:
    """Write the candidates whose hits are an electron's."""
    names = ["event", "particle", "pdg_id"]
    known = PARTICLES.open(sample.particles).read(names)
    known = known.filter(pc.equal(pc.abs(known["pdg_id"]), PDG_ID))
    keys = particle_key({name: numbers(known[name]) for name in names})

    def electrons(rows: pa.Table) -> pa.Table:
        own = particle_key({name: numbers(rows[name]) for name in names[:2]})
        return rows.filter(pa.array(np.isin(own, keys) & (numbers(rows["purity"]) >= GHOST_PURITY)))

    write_changed(sample.candidates, path, electrons)


def electrons_fitted(
    parameters: Path, samples: Sequence[Files], velo_end: float, threads: int | None = None
) -> Rows:
    """Fit candidates with a set; return electrons above 2 GeV with a good fit.

    An electron that begins behind the VELO has VELO hits of another particle, and is left out.
    """
    fit = partial(fit_file, parameters, electrons=True, trust=True, threads=threads)
    rows = fitted_samples(samples, fit).rows
    keep = (np.abs(rows["pdg_id"]) == PDG_ID) & (np.asarray(rows["purity"]) >= GHOST_PURITY)
    keep &= is_good(rows["status"]) & (np.asarray(rows["true_z"]) < velo_end) & np.isfinite(rows["hard"])
    chosen: Rows = rows[keep & (np.asarray(rows["p_true"]) > GENUINE_P)]
    return chosen


def momenta(rows: Rows) -> dict[str, Any]:
    """Measure (p − p_true)/p_true of electrons, fitted as electrons and as pions.

    The result has ``n``; ``most_probable``, ``width68`` (half of the central 68 %), ``pion_most_probable``,
    ``pion_width68`` and ``width68_over_pion``; ``one_width68_over_pion`` of the mean of q/p; ``inside``, the
    fraction of electrons whose true q/p is in the central 68 % that the fit says, ``pion_inside``, the
    fraction within one error of the fit as a pion; ``hard``, the mean probability of hard radiation. All have
    errors. ``cells[]`` has the same in cells of p (GeV) and η, ``histogram`` both residuals of all.
    """
    table = {
        name: np.asarray(rows[name], np.float64)
        for name in ("p_true", "true_qop", "true_tx", "true_ty", "qop", *dict(ELECTRON))
    }
    eta = np.arcsinh(1 / np.hypot(table["true_tx"], table["true_ty"]))
    cells = [
        {"p_min": low, "p_max": high, "eta_min": near, "eta_max": far, **_figures(table, inside & there)}
        for (low, high, inside), (near, far, there) in product(
            binned(table["p_true"] / 1000, P_EDGES), binned(eta, ETA_EDGES)
        )
        if np.count_nonzero(inside & there) >= ENOUGH
    ]
    return {
        **_figures(table, np.ones(len(eta), bool)),
        "cells": cells,
        "histogram": _histogram(_residuals(table), RESIDUAL_EDGES),
    }


def _residuals(of: Mapping[str, F64]) -> dict[str, F64]:
    truth, names = np.abs(of["true_qop"]), {"": "qop", "pion_": "pion_qop", "one_": "mean_qop"}
    return {kind: truth / np.abs(of[name]) - 1 for kind, name in names.items()}


def _histogram(of: Mapping[str, F64], edges: F64) -> dict[str, list[float]]:
    """Return the numbers of entries of fits as electrons and as pions, and the edges of their bins."""
    content = {f"{kind}content": np.histogram(of[kind], edges)[0].tolist() for kind in ("", "pion_")}
    return {"edges": edges.tolist(), **content}


def _figures(table: Mapping[str, F64], chosen: NDArray[np.bool_]) -> dict[str, float]:
    of = {name: values[chosen] for name, values in table.items()}
    truth = np.abs(of["true_qop"])
    lost = _residuals(of)
    inside = (truth < np.abs(of["low_qop"])) & (truth > np.abs(of["high_qop"]))
    within = np.abs(of["pion_qop"] - of["true_qop"]) < np.sqrt(of["pion_qopqop"])

    def measured(at: NDArray[Any]) -> dict[str, float]:
        widths = {kind: width68(values[at]) for kind, values in lost.items()}
        return {
            "most_probable": most_probable(lost[""][at]),
            "pion_most_probable": most_probable(lost["pion_"][at]),
            "width68": widths[""],
            "pion_width68": widths["pion_"],
            "width68_over_pion": widths[""] / widths["pion_"],
            "one_width68_over_pion": widths["one_"] / widths["pion_"],
            "hard": float(of["hard"][at].mean()),
        }

    return {
        "n": int(chosen.sum()),
        **_with_errors(measured, len(truth)),
        **share("inside", inside),
        **share("pion_inside", within),
    }


def peak(rows: Rows, decay: Decay) -> dict[str, Any] | None:
    """Measure the peak of a decay, with momenta of the fits as electrons and as pions.

    Every event is one decay. For J/ψ the result has ``most_probable`` and ``width68`` of the mass, MeV; for
    photons, of (p − p_true)/p_true of both electrons together. ``pion_`` precedes the names for fits as
    pions; ``width68_over_pion`` compares both. ``near`` is the fraction of pairs within 5 % of the truth.
    ``histogram`` has pairs by mass. The result is None for too few pairs.
    """
    columns = pd.DataFrame({name: np.asarray(rows[name]) for name in _OF_A_TRACK})
    columns = columns.drop_duplicates(["file", "event", "true_qop"])
    pairs = columns[columns.qop > 0].merge(
        columns[columns.qop < 0], on=["file", "event"], suffixes=("_a", "_b")
    )
    for suffix in ("_a", "_b"):
        p = 1 / pairs[f"pion_qop{suffix}"].abs()
        slope = np.hypot(pairs[f"tx{suffix}"], pairs[f"ty{suffix}"])
        wanted = (p >= decay.p_min) & (p * slope / np.sqrt(1 + slope**2) >= decay.pt_min)
        pairs = pairs[wanted.to_numpy()]
    if len(pairs) < ENOUGH:
        return None
    of = {
        kind: invariant_masses(pairs, momenta=kind) if decay.mass else _sums(pairs, kind) - 1
        for kind in ("", "pion_")
    }

    def measured(at: NDArray[Any]) -> dict[str, float]:
        widths = {kind: width68(values[at]) for kind, values in of.items()}
        return {
            **{f"{kind}most_probable": most_probable(values[at]) for kind, values in of.items()},
            **{f"{kind}width68": width for kind, width in widths.items()},
            "width68_over_pion": widths[""] / widths["pion_"],
        }

    near = {
        kind: np.abs(values / decay.mass - 1 if decay.mass else values) < RANGE for kind, values in of.items()
    }
    return {
        "n": len(pairs),
        **_with_errors(measured, len(pairs)),
        **share("near", near[""]),
        **share("pion_near", near["pion_"]),
        "histogram": _histogram(of, MASS_EDGES if decay.mass else RESIDUAL_EDGES),
    }


def _sums(pairs: pd.DataFrame, kind: str) -> F64:
    """Return the sum of both momenta over the true sum, (n,)."""
    sums = [
        sum(1 / pairs[f"{name}qop{suffix}"].abs().to_numpy(np.float64) for suffix in ("_a", "_b"))
        for name in (kind, "true_")
    ]
    return np.asarray(sums[0] / sums[1])


def most_probable(values: F64) -> float:
    """Return the median of the values in the shortest interval with a twentieth of all values (n,)."""
    values = np.sort(values)
    wide = min(max(int(_DENSEST * len(values)), _FEWEST), len(values) - 1)
    first = int(np.argmin(values[wide:] - values[:-wide]))
    return float(np.median(values[first : first + wide + 1]))


def width68(values: F64) -> float:
    """Return half of the central 68 % of values (n,)."""
    low, high = np.quantile(values, _CENTRAL)
    return float(high - low) / 2


def _with_errors(measure: Callable[[NDArray[Any]], dict[str, float]], count: int) -> dict[str, float]:
    """Return figures of all entries, and their errors from samples drawn from them, with replacement."""
    random = np.random.default_rng(1)
    drawn = [measure(random.integers(count, size=count)) for _ in range(_REPLICAS)]
    return {
        key: value
        for name, figure in measure(np.arange(count)).items()
        for key, value in ((name, figure), (f"{name}_error", float(np.std([one[name] for one in drawn]))))
    }
