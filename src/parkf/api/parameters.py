"""Parameter sets: load a published one, a folder or that of a run, look at its steps, and fit with it."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from parkf.api.hits import candidates_of
from parkf.api.steps import StepFunction
from parkf.api.tracks import Tracks
from parkf.fit.fitter import fit
from parkf.io.errors import ParkfError
from parkf.io.option_types import Backend, Precision
from parkf.io.tables import FITTED
from parkf.model.steps.frozen import forms_of
from parkf.params.manifest import Manifest
from parkf.params.parameter_set import MANIFEST_FILE, ParameterSet
from parkf.params.parameter_set import load as load_set
from parkf.params.registry import FOLDER, SHIPPED, Registry


def published() -> list[str]:
    """Return the names of the published sets: those below ``params/``, else those that were installed."""
    return _registry().versions()


def load(which: str | Path) -> "Parameters":
    """Load a parameter set, and check all of it.

    Parameters
    ----------
    which : str or Path
        Name of a published set, folder of a set, folder of a run, or name of a run in ``results/``.

    Returns
    -------
    parkf.Parameters
        The set, whose arrays are read-only.

    Raises
    ------
    ParkfError
        When there is no such set, or a file of it is missing or damaged.
    """
    for folder in (Path(which), Path(which) / "set", Path("results") / which / "set"):
        if (folder / MANIFEST_FILE).is_file():
            return Parameters(load_set(folder), str(which))
    registry = _registry()
    if str(which) in registry.versions():
        return Parameters(registry.load(str(which)), str(which))
    near = get_close_matches(str(which), registry.versions(), n=3, cutoff=0.5)
    there = (
        f"did you mean {' or '.join(near)}?" if near else f"published are {', '.join(registry.versions())}"
    )
    raise ParkfError(f"{which}: no set of this name, no folder of a set and no run; {there}")


def _registry() -> Registry:
    return Registry(FOLDER if FOLDER.is_dir() else SHIPPED)


class Parameters:
    """A parameter set: its numbers, its steps, and the fit with it. Its arrays are read-only.

    Parameters
    ----------
    numbers : ParameterSet
        The set as the rooms below know it.
    name : str
        What it was loaded as.
    """

    def __init__(self, numbers: ParameterSet, name: str) -> None:
        self._numbers = numbers
        self.name = numbers.manifest.version or name
        self.steps: Mapping[str, StepFunction] = _Steps(numbers)
        for array in (numbers.constant, numbers.table):
            array.flags.writeable = False

    def __repr__(self) -> str:
        about = f"{self.manifest.forms} forms, {self.manifest.state}, detector {self.manifest.detector}"
        return f"<Parameters {self.name}: {about}>"

    @property
    def manifest(self) -> Manifest:
        """What the set was made of, how it was trained, and the gates that it met."""
        return self._numbers.manifest

    @property
    def constant(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The constant numbers, ``(466,)`` or ``(561,)`` float32, in the order of the layout."""
        return self._numbers.constant

    @property
    def table(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The magnet table, ``(60, 50, 80)`` float32."""
        return self._numbers.table

    def gates(self) -> pd.DataFrame:
        """Return the gates that the set was published with: figure, measured, bar, met."""
        columns = ["what", "value", "measured", "bar", "met", "reason"]
        return pd.DataFrame([gate.model_dump() for gate in self.manifest.gates], columns=columns)

    def fit(
        self,
        hits: Any,
        *,
        precision: Precision = "float32",
        backend: Backend = "cpu",
        threads: int | None = None,
        robust: bool = False,
        score: bool = False,
    ) -> Tracks:
        """Fit track candidates in memory.

        Parameters
        ----------
        hits : path, pyarrow.Table, pandas.DataFrame, mapping of str to array_like, or awkward.Array
            Columns as ``parkf schema candidates`` lists them; positions in mm, q/p in 1/MeV. ``event``,
            ``candidate``, ``particle`` and ``purity`` may be missing.
        precision : {'float32', 'float64'}
            Numbers that the kernel computes with.
        backend : {'cpu', 'gpu'}
            Processor cores, or the current GPU through CuPy.
        threads : int, optional
            Threads of the CPU; as many as cores by default.
        robust : bool
            Treat tracks whose χ² shows a wrong UT hit or a hard scattering. Do not cut on the χ² of this fit:
            ghosts fit well after the treatment, too.
        score : bool
            Add ghost scores: log odds that a track is genuine.

        Returns
        -------
        Tracks
            One row for each candidate, in the same order.

        Raises
        ------
        ParkfError
            When a column or an option is wrong; the message names it.
        """
        if threads is not None and threads < 1:
            raise ParkfError(f"threads: got {threads}, expected at least 1")
        candidates = candidates_of(hits)
        fitted = fit(
            self._numbers,
            candidates,
            precision=precision,
            backend=backend,
            threads=threads,
            robust=robust,
            score=score,
        )
        # The table `fitted` has float32; here the numbers keep the precision of the fit.
        names = [name for name, _ in FITTED.columns if name not in ("event", "candidate")]
        columns = {name: candidates.column(name) for name in ("event", "candidate")}
        columns |= {name: pa.array(_on_host(getattr(fitted, name))) for name in names}
        more = {**(vars(fitted.before) if fitted.before else {}), **(fitted.scores or {})}
        columns |= {name: pa.array(_on_host(values)) for name, values in more.items()}
        return Tracks(pa.table(columns))


def _on_host(values: Any) -> np.ndarray[Any, Any]:
    return np.asarray(values.get() if hasattr(values, "get") else values)


class _Steps(Mapping[str, StepFunction]):
    """Steps of a set by name; the formulas are built when the first one is asked for."""

    def __init__(self, numbers: ParameterSet) -> None:
        self._numbers = numbers
        self._steps: dict[str, StepFunction] = {}

    def _known(self) -> dict[str, StepFunction]:
        if not self._steps:
            forms = forms_of(self._numbers.manifest.forms, self._numbers.manifest.formulas)
            self._steps = {name: StepFunction(self._numbers, step) for name, step in forms.steps.items()}
        return self._steps

    def __getitem__(self, name: str) -> StepFunction:
        if name not in self._known():
            raise ParkfError(f"no step {name!r}; steps are {', '.join(self)}")
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())
