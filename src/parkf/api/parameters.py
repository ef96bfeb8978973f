"""Parameter sets: load a published set or the set of a run, look at its steps, and fit with it."""

import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkf.api.hits import hits_given
from parkf.api.tracks import Tracks
from parkf.fit.detector_check import DetectorCheck
from parkf.fit.fitted import STATUS_BITS, is_good
from parkf.fit.fitter import FitOptions, fit_columns
from parkf.fit.inside import Carried, carry_inside
from parkf.fit.summary import note_on_seeds
from parkf.io.errors import ParkfError
from parkf.io.extras import extras_named
from parkf.io.kinds import LONG
from parkf.io.option_types import Backend, Origin, Precision, Scheme
from parkf.io.tables import FITTED
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.comparison import described_blocks
from parkf.params.index import VERSION
from parkf.params.manifest import Gate, Manifest, NumberDescription
from parkf.params.parameter_set import ParameterSet
from parkf.params.parameter_set import load as load_set
from parkf.params.registry import readable_registry

if TYPE_CHECKING:
    import pandas as pd

    from parkf.api.steps import StepFunction


def published() -> list[str]:
    """Return the names of the published sets: those in ``params/``, and those of the installation."""
    return readable_registry().names()


def load(which: str | Path, *, sha256: str | None = None, withdrawn: bool = False) -> "Parameters":
    """Load a parameter set, and check all of it.

    `which` is the name of a published set, the folder of a set or a run, or the name of a run in
    ``results/``. `sha256` is the digest that the set must have: who keeps it with a result knows later that
    the set is the same. A set that was withdrawn is read only with `withdrawn`, to repeat old results.

    Raises a ParkfError when there is no such set, a file of it is missing or damaged, it has another digest,
    or it was withdrawn; and when ``params/`` and the installation have different sets of this name.
    """
    registry, versions = readable_registry(), published()
    if str(which) in versions:
        numbers = registry.load(str(which), sha256=sha256, withdrawn=withdrawn)
        return Parameters(numbers, str(which))
    places = (Path(which), Path(which) / "set", Path("results") / which / "set")
    # A folder in the working folder does not stand for a version, whatever its name is.
    for folder in places if VERSION.fullmatch(str(which)) is None else ():
        if (folder / MANIFEST_FILE).is_file():
            return Parameters(load_set(folder, sha256=sha256, withdrawn=withdrawn), str(which))
    near = get_close_matches(str(which), versions, n=3, cutoff=0.5)
    there = f"did you mean {' or '.join(near)}?" if near else f"published are {', '.join(versions)}"
    raise ParkfError(f"{which}: no set of this name, no folder of a set and no run; {there}")


@extras_named()
def gates_table(gates: Sequence[Gate]) -> "pd.DataFrame":
    """Return gates as a table: what, value, measured, bar, met, reason."""
    import pandas as pd

    columns = ["what", "value", "measured", "bar", "met", "reason"]
    return pd.DataFrame([gate.model_dump() for gate in gates], columns=columns)


class Parameters:
    """A parameter set: its numbers, its steps, and the fit with it. Its arrays are read-only."""

    def __init__(self, numbers: ParameterSet, name: str) -> None:
        self._numbers = numbers
        self.name = numbers.manifest.version or name

    def __repr__(self) -> str:
        about = f"{self.manifest.forms} forms, {self.manifest.state}, detector {self.manifest.detector}"
        return f"<Parameters {self.name}: {about}>"

    @property
    def sha256(self) -> str | None:
        """The digest of the set, to pin it: ``parkf.load(name, sha256=...)``."""
        return self._numbers.sha256

    @property
    def manifest(self) -> Manifest:
        """The origin of the set, its training, and the gates that it met."""
        return self._numbers.manifest

    @cached_property
    @extras_named()
    def steps(self) -> "Mapping[str, StepFunction]":
        """The steps of the set, by name."""
        # The formulas take time to import, and fits do not need them.
        from parkf.api.steps import StepFunction
        from parkf.model.steps.frozen import forms_of

        forms = forms_of(self.manifest.forms, self.manifest.formulas)
        return _Steps({name: StepFunction(self._numbers, step) for name, step in forms.steps.items()})

    def __getitem__(self, block: str | tuple[str, str | int]) -> "Numbers":
        """Return the numbers of a block by name: ``parameters["VUT"].p9`` has value, error, unit and text.

        ``parameters["T", 3]`` or ``parameters["T", label]`` is another set than its first. Raises
        a ParkfError when there is no such block or set.
        """
        name, which = (block, 0) if isinstance(block, str) else block
        blocks = {one.name: one for one in described_blocks(self._numbers)}
        if name not in blocks:
            raise ParkfError(f"set {self.name}: no block {name!r}; blocks are {', '.join(blocks)}")
        labels = [one.label for one in blocks[name].sets]
        number = labels.index(which) if which in labels else which
        if not isinstance(number, int) or not 0 <= number < len(labels):
            raise ParkfError(f"block {name}: no set {which!r}, expected 0 to {len(labels) - 1}, or a label")
        return Numbers({one.name: one for one in blocks[name].sets[number].numbers})

    @property
    def constant(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The constant numbers, ``(466,)`` or ``(561,)`` float32, in the order of the layout."""
        return self._numbers.constant

    @property
    def table(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The magnet table, ``(60, 50, 80)`` float32."""
        return self._numbers.table

    def gates(self) -> "pd.DataFrame":
        """Return the gates that the set was published with: what, value, measured, bar, met, reason."""
        return gates_table(self.manifest.gates)

    def fit(
        self,
        hits: Any,
        *,
        scheme: Scheme = "smoother",
        precision: Precision = "float32",
        backend: Backend = "cpu",
        threads: int | None = None,
        robust: bool = False,
        score: bool = False,
        origin: Origin = "vertex",
        kind: str = "long",
        electrons: bool = False,
        rich_states: bool = False,
        trust: bool = False,
    ) -> Tracks:
        """Fit track candidates in memory; the tracks have one row for each candidate, in the same order.

        `hits` are a path, an Arrow or pandas table, a mapping from names to arrays, or an Awkward array.
        Their columns are those that ``parkf schema candidates`` lists, with positions in mm and q/p in 1/MeV;
        ``event``, ``candidate``, ``particle`` and ``purity`` may be missing. The back end ``gpu`` is the
        current GPU, through CuPy; on the CPU, the default of `threads` is the number of cores. Raises a
        ParkfError that names the wrong column or option.

        `robust` treats tracks whose χ² shows a wrong UT hit or a hard scattering. ``chi2_*`` stays the χ² of
        the plain fit. The χ² after the treatment is in ``chi2_*_treated``: do not cut on it, because ghosts
        then have a small χ², too. `score` adds ghost scores: log odds that a track is genuine.
        The `origin` ``first-hit`` is for tracks that are born behind the material
        around the beam: their covariance has no scattering in it.

        The `scheme` ``trigger`` is the arithmetic of LHCb's trigger, for sets of production's forms.
        `rich_states` adds states and covariances at the RICH detectors.

        All candidates are of one `kind`: ``long``, ``upstream`` (VELO and UT), ``downstream`` (UT and SciFi)
        or ``scifi``. Tracks without VELO hits have their state in their first layer.

        With `electrons`, all candidates are taken for electrons, which radiate: q/p is the one where they
        were produced. More columns have the fit as a pion, the weight of hard radiation (``hard``), and q/p
        with little and with hard radiation. The set must have numbers for electrons.

        Candidates of another detector than the set's raise a ParkfError. A warning names sizes that are only
        doubtful. With `trust`, all are fitted, and the warning names what disagrees.
        """
        how = FitOptions(
            scheme, precision, backend, threads, robust, score, origin, kind, electrons, rich_states
        )
        how.check(self._numbers)
        candidates = hits_given(hits)
        check = DetectorCheck(self._numbers, f"hits, set {self.name}", candidates.recorded, trust=trust)
        tracks = candidates.candidates(precision)
        if kind == LONG.name:
            check.add(tracks)
        for note in check.notes:
            if not note.startswith("polarity"):
                warnings.warn(note, stacklevel=2)
        fitted, more = fit_columns(self._numbers, tracks, how)
        far = int(np.count_nonzero(np.asarray(fitted.status) & STATUS_BITS["far_seed"]))
        for note in note_on_seeds(far, int(np.count_nonzero(is_good(fitted.status)))):
            warnings.warn(note.removeprefix("warning: "), stacklevel=2)
        # The table `fitted` in a file has float32; here numbers keep the precision of the fit.
        given = {name: candidates.arrays[name] for name in ("event", "candidate")}
        computed: dict[str, Any] = {
            name: getattr(fitted, name) for name, _ in FITTED.fields if name not in given
        }
        computed |= more
        # Arrays of CuPy are copied from the GPU.
        computed = {
            name: values.get() if hasattr(values, "get") else values for name, values in computed.items()
        }
        return Tracks({name: np.asarray(values) for name, values in (given | computed).items()})

    def carry(
        self,
        states: NDArray[Any],
        z_from: ArrayLike,
        z_to: ArrayLike,
        polarity: ArrayLike,
        *,
        covariances: NDArray[Any] | None = None,
        threads: int | None = None,
    ) -> Carried:
        """Carry states inside the magnet from one z to another, upstream or downstream, from 2500 to 7850 mm.

        `states` (n, 5) are x, y in mm, tx, ty in rad, and q/p inside the magnet in 1/MeV, float32 or float64.
        `covariances` (n, 15) are their lower triangles row by row, zeros by default. z in mm and the
        polarity, +1 for MagUp, are numbers or (n,). The result has ``states``, ``covariances`` with the
        scattering on the way, ``jacobians`` (n, 4, 5) and ``ok`` (n,), which is False where a track left the
        grid. Raises a ParkfError if arrays do not fit together, or if the set has no steps inside the magnet.
        """
        if self._numbers.slices is None:
            raise ParkfError(
                f"set {self.name}: it has no steps inside the magnet (slices.f32), which sets have since"
                " manifest format 8; train one, or take a newer one of `parkf params list`"
            )
        return carry_inside(
            self._numbers.slices, states, z_from, z_to, polarity, covariances=covariances, threads=threads
        )


class Numbers(dict[str, NumberDescription]):
    """Numbers of a set by name; as attributes, too. ``value`` times ``scale`` is in the number's ``unit``."""

    def __getattr__(self, name: str) -> NumberDescription:
        if name in self:
            return self[name]
        raise AttributeError(f"no number {name!r}; numbers are {', '.join(self)}")


class _Steps(dict[str, "StepFunction"]):
    def __missing__(self, name: str) -> "StepFunction":
        raise ParkfError(f"no step {name!r}; steps are {', '.join(self)}")
