"""Step functions of a parameter set: the state behind a step, its Jacobian and its process noise."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, NumpyStep, numpy_step
from parkf.model.steps.step import Step
from parkf.params.parameter_set import ParameterSet
from parkf.training.magnet_table import MagnetTable

F64 = NDArray[np.float64]

_VELO = (-300.0, 770.0)  # mm, z of modules and of the beam line


class StepFunction:
    """One step of a parameter set as float64 functions of track states.

    States are ``(n, 5)`` float64: x, y in mm, tx = dx/dz, ty = dy/dz, and q/p at production in 1/MeV. One
    state ``(5,)`` is accepted, too; its results then have no first axis. The formulas are those that the
    kernel runs.
    """

    def __init__(self, parameters: ParameterSet, step: Step) -> None:
        self._parameters = parameters
        self._step = step

    def __repr__(self) -> str:
        return f"<StepFunction {self.name}: {self._step.text}; sets {', '.join(self.sets)}>"

    @property
    def name(self) -> str:
        """Block of the parameter set that holds the step's parameters."""
        return self._step.name

    @property
    def sets(self) -> tuple[str, ...]:
        """Labels of the step's parameter sets: layer gaps, directions or signs of y."""
        return self._step.sets

    @property
    def plane_before(self) -> float:
        """The z of the plane where the hop through the magnet begins, mm."""
        return float(self._parameters.block("UTT_META")[0, 0])

    @property
    def plane_behind(self) -> float:
        """The z of the plane where the hop through the magnet ends, mm."""
        return float(self._parameters.block("UTT_META")[0, 1])

    def parameters(self, which: str | int = 0) -> F64:
        """Return the parameters ``(m,)`` of a set, by its label or number, in units of ``parkf params show``.

        Raises a ParkfError when the step has no such set.
        """
        if isinstance(which, str) and which not in self.sets:
            raise ParkfError(f"step {self.name}: no set {which!r}; sets are {', '.join(self.sets)}")
        number = self.sets.index(which) if isinstance(which, str) else which
        if not 0 <= number < len(self.sets):
            raise ParkfError(f"step {self.name}: set {number}, expected 0 to {len(self.sets) - 1}")
        return self._parameters.block(self.name)[number].astype(np.float64)

    def planes(self, which: str | int = 0) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the smallest and largest z, mm, where a set's steps begin, and where they end.

        The formulas were fitted between these planes; elsewhere their results mean nothing. Planes lean, so
        that a track crosses them up to 10 mm from there. Errors are those of :meth:`parameters`.
        """
        self.parameters(which)
        number = self.sets.index(which) if isinstance(which, str) else which
        ut, scifi = self._parameters.block("UTLayer")[0], self._parameters.block("TLayer")[0]
        forward, per_side = len(ut) - 1, len(self.sets) // (len(scifi) - 1)
        if self.name == "UT":
            first = number % forward
            ends = (ut[first], ut[first + 1]) if number < forward else (ut[first + 1], ut[first])
        elif self.name == "T":
            ends = tuple(scifi[number // per_side :][:2])
        else:
            ends = {
                "VUT": (_VELO, ut[0]),
                "UTTF": (self.plane_before, self.plane_behind),
                "TFT": (self.plane_behind, scifi[0]),
            }.get(self.name, (_VELO, _VELO))
        begin, end = (one if isinstance(one, tuple) else (float(one), float(one)) for one in ends)
        return begin, end

    def formulas(self) -> dict[str, str]:
        """Return the formulas as LaTeX, by the quantity that they define."""
        return dict(self._step.latex())

    def _repr_markdown_(self) -> str:
        lines = "\n\n".join(f"$$\n{line}\n$$" for line in self.formulas().values())
        return f"**{self.name}**: {self._step.text}\n\n{lines}"

    def __call__(
        self, state: ArrayLike, z0: ArrayLike, z1: ArrayLike, *, polarity: int, which: str | int = 0
    ) -> F64:
        """Return the state at z1 without scattering, ``(n, 5)`` or ``(5,)``; q/p is the same as before.

        `state`, ``(n, 5)`` or ``(5,)``, is the state at z0; for the hop through the magnet, ``UTTF``, z0 is
        the table's z_in. `z0` and `z1` are numbers or ``(n,)``, in mm. The polarity is +1 for MagUp, -1 for
        MagDown. `which` is the set of parameters, by its label or number. Raises a ParkfError when a shape
        or the polarity is wrong, or a number is not finite.
        """
        rows, single = self._rows(state, z0, z1, polarity)
        ends = np.column_stack([*self._function.predict(self.parameters(which), rows), rows["qop"]])
        return ends[0] if single else ends

    def jacobian(
        self, state: ArrayLike, z0: ArrayLike, z1: ArrayLike, *, polarity: int, which: str | int = 0
    ) -> F64:
        """Return the derivatives of the state at z1 by the state at z0, ``(n, 4, 5)`` or ``(4, 5)``.

        Arguments and errors are those of a call. Rows are x, y, tx, ty at z1; columns are x, y, tx, ty, q/p
        at z0. For the hop through the magnet, only the derivatives behind the table are included; the kernel
        has the derivatives of the table.
        """
        rows, single = self._rows(state, z0, z1, polarity)
        derivatives = self._function.jacobian(self.parameters(which), rows)
        return derivatives[0] if single else derivatives

    def noise(
        self, state: ArrayLike, z0: ArrayLike, z1: ArrayLike, *, polarity: int, which: str | int = 0
    ) -> F64:
        """Return the process noise Q that is added to the covariance at z1, ``(n, 4, 4)`` or ``(4, 4)``.

        Arguments and errors are those of a call; a step without noise raises a ParkfError, too. Elements have
        the units of the products of x, y (mm) and slopes.
        """
        if not self._step.noise:
            what = "it has no noise; that of the hop through the magnet includes it"
            raise ParkfError(f"step {self.name}: {what}")
        rows, single = self._rows(state, z0, z1, polarity)
        sigma = self._function.noise(self.parameters(which), rows)
        noise = np.zeros((len(rows["qop"]), 4, 4))
        for number, axis in enumerate("xy"):
            position, slope = sigma[axis], sigma[f"t{axis}"]
            noise[:, number, number] = position**2
            noise[:, 2 + number, 2 + number] = slope**2
            covariance = sigma[f"rho_{axis}"] * position * slope
            noise[:, number, 2 + number] = noise[:, 2 + number, number] = covariance
        return noise[0] if single else noise

    @cached_property
    def _function(self) -> NumpyStep:
        return numpy_step(self._step)

    def _rows(
        self, state: ArrayLike, z0: ArrayLike, z1: ArrayLike, polarity: int
    ) -> tuple[dict[str, NDArray[Any]], bool]:
        states = np.asarray(state, dtype=np.float64)
        single = states.ndim == 1
        states = np.atleast_2d(states)
        if states.ndim != 2 or states.shape[1] != 5:
            raise ParkfError(f"state: got shape {np.shape(state)}, expected (n, 5): x, y, tx, ty, q/p")
        if polarity not in (1, -1):
            raise ParkfError(f"polarity: got {polarity}, expected +1 (MagUp) or -1 (MagDown)")
        count = len(states)
        columns = {"x0": states[:, 0], "y0": states[:, 1], "tx0": states[:, 2], "ty0": states[:, 3]}
        columns |= {"qop": states[:, 4], "polarity": np.full(count, float(polarity))}
        for name, value in (("z0", z0), ("z1", z1)):
            z = np.asarray(value, dtype=np.float64)
            if z.shape not in ((), (count,)):
                raise ParkfError(f"{name}: got shape {z.shape}, expected one number or ({count},)")
            columns[name] = np.broadcast_to(z, (count,))
        for name, values in columns.items():
            if not np.isfinite(values).all():
                row = int(np.flatnonzero(~np.isfinite(values))[0])
                raise ParkfError(f"{name}, row {row}: got {values[row]}, expected a finite number")
        return (self._behind_table(columns) if self._step.through_magnet else columns), single

    def _behind_table(self, rows: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Carry states from z_in to z_out by the magnet table, as the corrections of the step expect them."""
        table = MagnetTable(self._parameters.block("UTT_META")[0], self._parameters.table)
        states = np.column_stack([rows[name] for name in ("x0", "y0", "tx0", "ty0")])
        local = self._function.local_qop(self.parameters(), rows["qop"])
        x, y, tx, ty = table.extrapolate(states, local, rows["polarity"]).T
        before = dict(zip(BEFORE_COLUMNS, states.T, strict=True))
        return {**rows, **before, "x0": x, "y0": y, "tx0": tx, "ty0": ty, "z0": rows["z1"]}
