"""Toy datasets drawn from the step functions themselves, with known parameters."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from parkf.io.option_types import FormsName
from parkf.io.tables import STEP_DATA
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.layout import TABLE_SHAPE
from parkf.model.steps import FORMS, Step
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.form import make_header
from parkf.training.result import BinAccuracy, FitResult, SetResult
from parkf.training.rows import StoredRows, store_sets
from parkf.training.train import train_sets

STEPS = FORMS["improved"].steps
Rows = dict[str, np.ndarray]
# z of origin and target, and the range in which the origin's z varies, in mm.
PLANES = {
    "V": (0.0, 25.0, 300.0),
    "VUT": (600.0, 2327.5, 150.0),
    "UT": (2327.5, 2372.5, 0.0),
    "TFT": (7820.0, 7830.0, 3.0),
    "T": (7826.0, 7896.0, 0.0),
    "BEAM": (50.0, 0.0, 20.0),
}
COMPONENTS = ("x", "y", "tx", "ty")
# Size of δ_par in units of the scattering: the forms describe the toys up to this noise.
MISFIT = 0.05
# Slopes gained before z_in, times momentum.
BENDS = {"bendx": -29.5, "bendx_x2": -35.0, "bendx_y2": 310.0, "bendy_xy": -140.0}  # MeV
# Energy lost before the step, MeV.
LOSS = 15.0


def truth(step: str) -> np.ndarray:
    """Parameters that the toys are drawn from; they differ from those that the fits start with."""
    shifts = {"extrapolation": lambda start: start + 0.2, "loss": lambda _: LOSS}
    return np.array([shifts.get(p.kind, float)(p.start) for p in STEPS[step].parameters])


def draw(step: str, count: int, seed: int, p: np.ndarray, tail: float = 0.0) -> Rows:
    """Rows of a step, equally many for each set; a fraction `tail` scatters four times as widely."""
    random = np.random.Generator(np.random.Philox(key=[seed, 0]))
    functions = numpy_step(STEPS[step])
    start, end, spread = PLANES[step]
    momentum = 1500 * (100e3 / 1500) ** random.uniform(size=count)
    charge = np.where(random.uniform(size=count) < 0.5, -1.0, 1.0)
    slopes = random.uniform(-1, 1, (2, count)) * [[0.25], [0.2]]
    rows: Rows = {
        "event": np.arange(count),
        "particle": np.zeros(count, dtype=np.int64),
        "set": np.arange(count) % (STEPS[step].joined * len(STEPS[step].sets)),
        "pdg_id": np.full(count, 211.0),
        "charge": charge,
        "polarity": np.where(random.uniform(size=count) < 0.5, -1.0, 1.0),
        "qop": charge / momentum,
        "p_true": momentum - LOSS,
    }
    rows["z0"] = start + spread * random.uniform(-1, 1, count)
    rows["z1"] = rows["z0"] + 25 if step == "V" else np.full(count, end)
    rows |= dict(zip(("tx0", "ty0"), slopes, strict=True))
    rows |= {f"{c}0": rows[f"t{c}0"] * rows["z0"] + random.normal(size=count) for c in ("x", "y")}
    _orient(rows, step)
    _scatter(functions, rows, p, random, tail)
    return rows


def _orient(rows: Rows, step: str) -> None:
    """Let backward sets go backwards, and sets of y < 0 begin there."""
    backward = rows["set"] >= {"V": 1, "UT": 3}.get(step, 22)
    ends = rows["z0"], rows["z1"]
    rows |= {f"z{end}": np.where(backward, ends[1 - end], ends[end]) for end in (0, 1)}
    if step == "T":
        turn = np.where((rows["y0"] < 0) == (rows["set"] % 2 == 1), 1.0, -1.0)
        rows |= {name: turn * rows[name] for name in ("y0", "ty0")}


def _scatter(functions, rows: Rows, p: np.ndarray, random: np.random.Generator, tail: float) -> None:
    """Add the truth (scattered) and the Runge–Kutta target (with a small misfit)."""
    count = len(rows["qop"])
    predicted = dict(zip(COMPONENTS, functions.predict(p, rows), strict=True))
    noise = (
        functions.noise(p, rows) if functions.step.noise else dict.fromkeys(COMPONENTS, np.abs(rows["qop"]))
    )
    width = np.where(random.uniform(size=count) < tail, 4.0, 1.0)
    for plane in ("x", "y"):
        a, b = random.normal(size=(2, count)) * width
        rho = noise.get(f"rho_{plane}", np.zeros(count))
        rows[f"t{plane}1"] = predicted[f"t{plane}"] + noise[f"t{plane}"] * a
        rows[f"{plane}1"] = predicted[plane] + noise[plane] * (rho * a + np.sqrt(1 - rho**2) * b)
    for c in COMPONENTS:
        rows[f"{c}e"] = predicted[c] + MISFIT * noise[c] * random.normal(size=count)


def write(rows: Rows, path: Path, *groups: np.ndarray) -> Path:
    """Write rows as a step dataset; `groups` are the numbers of the rows of each row group."""
    columns = [pa.array(rows[name]).cast(kind) for name, kind in STEP_DATA.columns]
    table = pa.Table.from_arrays(columns, schema=STEP_DATA.schema)
    with STEP_DATA.writer(path) as writer:
        for group in groups or [np.arange(len(table))]:
            writer.write_table(table.take(pa.array(group)))
            writer.flush()
    return path


def groups_of_sets(rows: Rows) -> list[np.ndarray]:
    """Numbers of the rows of each set."""
    return [np.flatnonzero(rows["set"] == number) for number in np.unique(rows["set"])]


def store(rows: Rows, step: str, folder: Path) -> list[StoredRows]:
    """Rows of a step, sorted by set into scratch files."""
    return store_sets([rows], range(len(STEPS[step].sets)), STEPS[step].joined, folder)


def train_rows(
    batches: Iterable[Rows], step: Step, *, numbers: range | None = None, **options: Any
) -> list[SetResult]:
    """Fit the sets of a step with these numbers, or all, to batches of rows."""
    numbers = range(len(step.sets)) if numbers is None else numbers
    with TemporaryDirectory() as folder:
        return train_sets(store_sets(batches, numbers, step.joined, Path(folder)), step, numbers, **options)


def mean_core(bins: list[BinAccuracy], component: str) -> float:
    """Mean core width of a component over all momenta."""
    own = [one for one in bins if one.component == component]
    return float(np.average([one.truth_width for one in own], weights=[one.n for one in own]))


def no_field(forms: FormsName = "improved") -> MagnetTable:
    """Let every track go straight through the magnet."""
    header = make_header(FORMS[forms].table, 2665.0, 7826.0, BENDS).numbers.astype(np.float32)
    return MagnetTable(header, np.zeros(TABLE_SHAPE, np.float32))


def result_of(name: str, p: np.ndarray | None = None) -> FitResult:
    """The result of a fit that found these parameters, by default those that the toys are drawn from."""
    values = (truth(name) if p is None else p).tolist()
    sets = [
        SetResult(
            label=label,
            rows=1,
            values=values,
            errors=[None] * len(values),
            minima=[],
            accuracy=[],
            profiles=[],
        )
        for label in STEPS[name].sets
    ]
    formula = STEPS[name].formula_hash()
    return FitResult(forms="improved", step=name, formula=formula, dataset="0" * 64, table=None, sets=sets)
