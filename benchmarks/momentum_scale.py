"""Momentum scale on LHCb's full simulation, with the shipped field and with a field measured on half of it.

``python -m benchmarks.momentum_scale ../shared/data [--json benchmarks/results/momentum_scale.json]``

The field from 3 to 7 m is known from LHCb's own propagations. The fields before and behind are measured on
the events of one half, odd or even; the full fit of the other half then has the measured field. No track is
in the fit that corrects it. The bias is the mean of the core of (p - p_true)/p_true, from 2 to 100 GeV and
for 2 < η < 5. Its error in the corrected rows includes that of the measurement.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.command import lhcb_events, parser, write

from parkf.data.field.measure import Measured, measure
from parkf.data.field.nuisances import NUISANCES, changed_field
from parkf.data.field.tracks import read_true_tracks
from parkf.detector.field import FieldMap, evaluate_on_grid, read_source
from parkf.detector.geometry import Geometry
from parkf.detector.transport import propagate
from parkf.fit import fit_file_full
from parkf.fit.sample import load_sample, momentum_residual
from parkf.fit.truth import Files
from parkf.io.terminal import aligned
from parkf.proof.validation.core import fit_core
from parkf.simulation.pattern import find_candidates

ROOT = Path(__file__).parents[1]
FIELDS = ("field_before", "field_middle", "field_behind")
ACCEPTANCE = (0.25, 0.2)  # x/z and y/z at 3 m of the propagations; the tracks of the fits are within


def middle_scale(field: FieldMap, file: Path) -> tuple[float, float]:
    """Scale of the field from 3 to 7 m less one, from LHCb's propagations, and its error."""
    rows = np.load(file)
    start, end, z0, z1 = (rows[name] for name in ("start", "end", "z0", "z1"))
    states = np.column_stack([start, 1e-3 / rows["qp"]])
    ours = propagate(field, -1, states, z0, (z1, 0.0, 0.0), tolerance=1e-5).states[:, 2] - start[:, 2]
    inside = (np.abs(start[:, 0] / z0) < ACCEPTANCE[0]) & (np.abs(start[:, 1] / z0) < ACCEPTANCE[1])
    bends = inside & np.isfinite(end).all(axis=1) & (np.abs(ours) > 0.01)
    ratio = (end[:, 2] - start[:, 2])[bends] / ours[bends] - 1.0
    low, middle, high = np.quantile(ratio, (0.1587, 0.5, 0.8413))
    return float(middle), float(1.2533 * 0.5 * (high - low) / np.sqrt(len(ratio)))


def residuals(files: Files) -> dict[str, np.ndarray]:
    """Event, charge and (p - p_true)/p_true of good tracks."""
    rows = load_sample([files]).good
    eta = np.arcsinh(1.0 / np.hypot(rows["true_tx"], rows["true_ty"]))
    p = np.asarray(rows["p_true"])
    keep = (eta > 2.0) & (eta < 5.0) & (p > 2e3) & (p < 1e5)
    columns = {"event": rows["event"], "charge": np.sign(rows["true_qop"]), "excess": momentum_residual(rows)}
    return {name: np.asarray(values)[keep] for name, values in columns.items()}


def bias(rows: dict[str, np.ndarray], own: np.ndarray, extra: float = 0.0) -> dict[str, float]:
    """Mean of the core of the chosen rows in %, with its error, to which `extra` is added in squares."""
    core = fit_core(rows["excess"][own])
    return {"bias": 100 * core.mean, "error": 100 * float(np.hypot(core.mean_error, extra)), "tracks": core.n}


def full_fit(work: Path, name: str, geometry: Geometry, field: FieldMap) -> dict[str, np.ndarray]:
    """Residuals of the full fit with a field."""
    fitted = work / f"{name}.parquet"
    fit_file_full(work / "candidates.parquet", fitted, geometry=geometry, field=field, threads=1)
    return residuals(Files(work / "particles.parquet", work / "candidates.parquet", fitted))


def by_name(found: Measured) -> dict[str, list[float]]:
    """Value and error of each nuisance."""
    errors = found.nuisances.error.tolist()
    return {
        name: [value, error]
        for (name, value), error in zip(found.nuisances.by_name.items(), errors, strict=True)
    }


def run(shared: Path, work: Path) -> dict[str, object]:
    """Measure on each half and correct the other."""
    geometry, field, hits, particles = lhcb_events(shared / "lhcb_fullsim", work)
    candidates = work / "candidates.parquet"
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=1, matched=True)
    middle = middle_scale(field, shared / "lhcb_extrapolations/extrapolations.npz")
    # The direction of the propagations is not that of the tracks; the two differ by up to 1e-4.
    known = {"field_middle": (middle[0], float(np.hypot(middle[1], 1e-4)))}
    plain = full_fit(work, "plain", geometry, field)
    tracks = read_true_tracks(candidates, particles)
    halves, parts = {}, []
    for name, parity in (("even", 0), ("odd", 1)):
        found = measure(tracks.select(tracks.event % 2 == parity), geometry, field, names=FIELDS, known=known)
        other = full_fit(work, name, geometry, changed_field(field, found.nuisances.by_name))
        scale = float(np.sum(found.error**-2) ** -0.5)  # of the momentum, from the measuring half
        parts.append((other, other["event"] % 2 != parity, scale))
        halves[name] = {"nuisances": by_name(found), "scale_error": 100 * scale}
        halves[name] |= {"other_half": bias(*parts[-1])}
    joined = {n: np.concatenate([rows[n][own] for rows, own, _ in parts]) for n in plain}
    shares = np.array([own.sum() for _, own, _ in parts]) / len(joined["event"])
    extra = float(np.hypot(*(shares * [scale for *_, scale in parts])))
    everything = measure(tracks, geometry, field, known=known)
    rows = {}
    for name, sample, error in (("plain", plain, 0.0), ("corrected", joined, extra)):
        for charge, sign in (("all", 0), ("positive", 1), ("negative", -1)):
            own = (sample["charge"] == sign) | (sign == 0)
            rows[f"{name}, {charge}"] = bias(sample, own, error)
    cubic = evaluate_on_grid(read_source(ROOT / "data/field/lhcb.json"), interpolation="cubic")
    return {
        "sample": "LHCb's full simulation, ten events, MagDown",
        "known": {name: list(both) for name, both in known.items()},
        "bias_percent": rows,
        "halves": halves,
        "all_events": by_name(everything),
        "cubic_interpolation_percent": bias(full_fit(work, "cubic", geometry, cubic), plain["event"] >= 0),
        "by_momentum_percent": by_momentum(work),
    }


def by_momentum(work: Path) -> dict[str, object]:
    """Bias of the plain full fit in bins of p, GeV: an energy loss that is wrong goes like 1/p."""
    rows = load_sample(
        [Files(work / "particles.parquet", work / "candidates.parquet", work / "plain.parquet")]
    ).good
    p, excess = 1e-3 * np.asarray(rows["p_true"]), momentum_residual(rows)
    bins = ((2, 5), (5, 10), (10, 100))
    return {f"{a}-{b}": bias({"excess": excess}, (p >= a) & (p < b)) for a, b in bins}


def main() -> None:
    """Print the table, and write it if asked."""
    line = parser(__doc__)
    line.add_argument("shared", type=Path)
    options = line.parse_args()
    with tempfile.TemporaryDirectory() as work:
        result = run(options.shared, Path(work))
    table = [
        (n, f"{r['bias']:+.3f}", f"{r['error']:.3f}", r["tracks"]) for n, r in result["bias_percent"].items()
    ]
    print(aligned(("sample", "bias/%", "error/%", "tracks"), table))
    for name, (value, error) in result["all_events"].items():
        print(f"{name}: {value:+.5f} ± {error:.5f} {NUISANCES[name].unit}")
    print(json.dumps(result["halves"], indent=1))
    write(options.json, result)


if __name__ == "__main__":
    main()
