"""``parkf align``: the alignment that files of candidates ask for, and its inputs for other programs."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.detector.geometry import Geometry
from parkf.fit.alignment.derivatives import FREEDOMS, Elements, derivatives
from parkf.fit.alignment.moving import Moving
from parkf.fit.alignment.solve import Equations, Solution
from parkf.fit.candidates import Candidates, check_rows, from_arrow
from parkf.fit.fitted import Fitted, is_good
from parkf.fit.residuals import SLOT_OF, Residuals, fit_residuals
from parkf.io.arrow import numbers
from parkf.io.tables import ALIGNMENT_RESIDUALS, MEASURED
from parkf.params.parameter_set import ParameterSet

_AT_A_TIME = 2048  # candidates whose covariances are in memory: 100 MB
GOOD_CHI2 = 3.0


def align(
    parameters: ParameterSet,
    candidates: Sequence[Path],
    geometry: Geometry,
    *,
    freedoms: Sequence[str],
    survey: Mapping[str, float] | None = None,
    table: Path | None = None,
) -> Solution:
    """Align modules and layers by candidates in float64; also write their residuals, if asked.

    `geometry` has its elements where the candidates' reconstruction assumed them. The tracks of :func:`good`
    count. `survey` has the errors of freedoms that are known without data.
    """
    elements = Elements.of(geometry)
    equations = Equations(elements, freedoms)
    with ExitStack() as files:
        rows_to = None if table is None else files.enter_context(ALIGNMENT_RESIDUALS.writer(table))
        for path in candidates:
            file = files.enter_context(MEASURED.open(path))
            count = 0
            for rows in file.iter_batches(batch_size=_AT_A_TIME):
                check_rows(rows, path, count)
                count += rows.num_rows
                tracks = from_arrow(rows, "float64")
                fitted, residuals = fit_residuals(parameters, tracks, covariances=True)
                use = good(fitted)
                equations.add(tracks, fitted, residuals, use)
                if rows_to is not None:
                    event = numbers(rows.column("event"))
                    candidate = numbers(rows.column("candidate"))
                    rows_to.write_table(_table(event, candidate, tracks, fitted, residuals, elements, use))
    return equations.solve(survey=survey)


def good(fitted: Fitted) -> NDArray[np.bool_]:
    """Whether tracks have a good fit and a χ²/ndof below 3, or 3 times the median if this is above 1, (n,).

    Where elements are displaced by more than the errors of their hits, all tracks have a large χ².
    """
    fits = is_good(fitted.status) & (fitted.ndof > 0)
    reduced = np.divide(fitted.chi2, fitted.ndof, out=np.full(len(fits), np.inf), where=fits)
    median = float(np.median(reduced[fits])) if fits.any() else 1.0
    return np.asarray(reduced < GOOD_CHI2 * max(1.0, median))


def equations_of(
    parameters: ParameterSet,
    tracks: Candidates,
    geometry: Geometry,
    freedoms: Sequence[str],
    moving: Moving | None = None,
) -> Equations:
    """Sum the normal equations of candidates in memory, whose hits are where `geometry` has them.

    With `moving`, this is where it moves them to.
    """
    equations = Equations(Elements.of(geometry), freedoms)
    for begin in range(0, tracks.count, _AT_A_TIME):
        some = tracks.rows(slice(begin, begin + _AT_A_TIME))
        some = (some if moving is None else moving(some)).in_precision("float64")
        fitted, residuals = fit_residuals(parameters, some, covariances=True)
        equations.add(some, fitted, residuals, good(fitted))
    return equations


def _table(
    event: np.ndarray,
    candidate: np.ndarray,
    tracks: Candidates,
    fitted: Fitted,
    residuals: Residuals,
    elements: Elements,
    use: np.ndarray,
) -> pa.Table:
    """Return a row of each coordinate of the tracks of `use` (n,)."""
    element, slopes = derivatives(tracks, fitted, residuals, elements)
    of, coordinate = np.nonzero((residuals.has & use).T)
    at = coordinate, of
    sections = np.array([section for section, _ in elements.names])
    keys = np.array([key for _, key in elements.names])
    columns = {
        "event": event[of],
        "candidate": candidate[of],
        "section": sections[element[at]],
        "element": keys[element[at]],
        "coordinate": coordinate,
        "residual": residuals.unbiased[at],
        "error": 1 / np.sqrt(residuals.weight[at]),
        "sigma": np.sqrt(residuals.variance[at]),
        **{f"by_{one}": slopes[coordinate, i, of] for i, one in enumerate(FREEDOMS)},
        **{
            name: residuals.state[SLOT_OF[coordinate], i, of] for i, name in enumerate(("x", "y", "tx", "ty"))
        },
        "qop": fitted.qop[of],
    }
    arrays = [pa.array(columns[name], kind) for name, kind in ALIGNMENT_RESIDUALS.columns]
    return pa.Table.from_arrays(arrays, schema=ALIGNMENT_RESIDUALS.schema)
