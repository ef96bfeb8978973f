"""What a step is: formulas for the state and for the process noise, and the parameters in them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import sympy as sp

from parkf.model.steps import symbols
from parkf.model.steps.symbols import BEFORE, COMPONENTS, STATE, dz, k, per_slant, tx, ty, y, z0, z1

Kind = Literal["extrapolation", "loss", "noise", "free"]
NOISE = ("x", "y", "tx", "ty", "rho_x", "rho_y")


@dataclass(frozen=True)
class Parameter:
    """One number of a step's parameter set."""

    text: str  # what it does
    unit: str  # of the number as stored, power of ten included
    start: float  # start value of a fit
    # "extrapolation" and "noise" are fitted, in the formulas of the state and of the noise; "loss" is the
    # mean energy lost since production, which is measured; "free" is not fitted.
    kind: Kind = "extrapolation"
    parity: int = 1  # sign that the number takes when h is defined with the opposite sign


@dataclass(frozen=True)
class Step:
    """An extrapolation between two kinds of planes."""

    name: str  # block of the parameter set
    text: str  # from where to where
    sets: tuple[str, ...]  # labels of the parameter sets, in the order of their numbers
    parameters: tuple[Parameter, ...]  # p0, p1, …
    outputs: dict[str, sp.Expr]  # x, y, tx, ty at z1 from the state at z0 (q/p stays)
    # σ of x, y, tx, ty and the correlations rho_x, rho_y of position and slope; empty without noise.
    noise: dict[str, sp.Expr] = field(default_factory=dict)
    # z0 and z1 on leaning planes as the kernel needs them; empty when both are fixed.
    surface: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)
    # For the hop through the magnet: the q/p, in 1/MeV, with which the table is evaluated.
    local_qop: sp.Expr | None = None
    # Named parts of the outputs, for reading; a part may contain earlier ones.
    parts: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)
    joined: int = 1  # number of adjacent sets of the step's dataset that are one set here
    # Whether p is also fitted to tracks that are born in the magnet; see parkf.training.displaced.
    displaced: bool = False
    # First version of the layout with this form. A set of forms has the largest one of its steps and table.
    layout: int = 1

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the parameters."""
        return sp.symbols(f"p:{len(self.parameters)}", real=True)

    def indices(self, kind: Kind) -> tuple[int, ...]:
        """Positions of the parameters of one kind."""
        return tuple(i for i, parameter in enumerate(self.parameters) if parameter.kind == kind)

    @property
    def through_magnet(self) -> bool:
        """Whether the step is the hop by table, whose noise may depend on where the hop began."""
        return self.local_qop is not None

    @cached_property
    def _way(self) -> tuple[sp.Expr, sp.Expr]:
        """Numerator and denominator of dz = z1 - z0; the latter is one unless the target leans."""
        way, slant = sp.fraction((z1 - z0).subs(self.surface, simultaneous=True))
        return sp.collect(way, y), slant

    @property
    def kernel_parts(self) -> dict[sp.Symbol, sp.Expr]:
        """Parts that value, Jacobian and noise share in the kernel; a part may contain earlier ones."""
        way, slant = self._way
        return {dz: way} if slant == 1 else {per_slant: 1 / slant, dz: way * per_slant}

    def _by_parts(self, form: sp.Expr) -> sp.Expr:
        """Write a formula with dz; z0 and z1 elsewhere are replaced by the planes."""
        return form.subs(z1 - z0, dz).subs(self.surface, simultaneous=True)

    @property
    def kernel_outputs(self) -> tuple[sp.Expr, ...]:
        """x, y, tx, ty at the target, written with the kernel's parts."""
        return tuple(symbols.without_local(self._by_parts(self.outputs[name])) for name in COMPONENTS)

    def kernel_symbols(self, forms: Iterable[sp.Expr]) -> set[sp.Symbol]:
        """Symbols in formulas of the kernel, including those in their parts."""
        used: set[sp.Symbol] = set().union(*(form.free_symbols for form in forms))
        for part in reversed(self.kernel_parts):
            used |= self.kernel_parts[part].free_symbols if part in used else set()
        return used

    @property
    def kernel_inputs(self) -> tuple[sp.Symbol, ...]:
        """Arguments in the kernel besides state and parameters: z0 and z1, or planes."""
        used = self.kernel_symbols((*self.kernel_outputs, *self.kernel_noise.values()))
        planes = set().union(*(self.surface.get(z, z).free_symbols for z in (z0, z1)))
        return tuple(sorted(used & planes - set(STATE), key=str))

    @cached_property
    def kernel_jacobian(self) -> sp.Matrix:
        """∂(x, y, tx, ty, k)₁ / ∂(x, y, tx, ty, k)₀, 5×5, written with the kernel's parts.

        Targets on leaning planes are included; the parts of formulas in Local are not differentiated.
        """
        way, slant = self._way

        def derivative(form: sp.Expr, v: sp.Symbol) -> sp.Expr:
            of_dz = (sp.diff(way, v) - dz * sp.diff(slant, v)) * per_slant
            return symbols.state_derivative(form, v) + symbols.state_derivative(form, dz) * of_dz

        forms = [self._by_parts(self.outputs[name]) for name in COMPONENTS]
        return sp.Matrix([*([derivative(form, v) for v in (*STATE, k)] for form in forms), [0, 0, 0, 0, 1]])

    @property
    def kernel_noise(self) -> dict[str, sp.Expr]:
        """Process noise: its elements xx, xtx, txtx, yy, yty, tyty."""
        if not self.noise:
            return {}
        sigma = {name: self._by_parts(form) for name, form in self.noise.items()}
        elements: dict[str, sp.Expr] = {}
        for a, ta in (("x", "tx"), ("y", "ty")):
            cross = sigma[f"rho_{a}"] * sigma[a] * sigma[ta]
            elements |= {f"{a}{a}": sigma[a] ** 2, f"{a}{ta}": cross, f"{ta}{ta}": sigma[ta] ** 2}
        return elements

    def formula_hash(self) -> str:
        """Fingerprint of what a fit of this step depends on: formulas, start values, sets; not texts."""
        return self._formula_hash

    @cached_property
    def _formula_hash(self) -> str:
        forms = [(n, sp.srepr(e)) for part in (self.outputs, self.noise) for n, e in part.items()]
        surface = [(str(s), sp.srepr(e)) for s, e in self.surface.items()]
        numbers = [(q.start, q.kind, q.parity) for q in self.parameters]
        local_qop = None if self.local_qop is None else sp.srepr(self.local_qop)
        content = repr((self.name, len(self.sets), self.joined, numbers, forms, surface, local_qop))
        return hashlib.sha256(content.encode()).hexdigest()

    def latex(self) -> dict[str, str]:
        """Formulas for a report: parts, primed state components and the noise, by name."""
        names = {"x": "x", "y": "y", "tx": "t_x", "ty": "t_y"}
        written = {z0: sp.Symbol("z_0"), z1: sp.Symbol("z_0") + sp.Symbol(r"\Delta z")}
        for before, now, name in zip(BEFORE, STATE, names.values(), strict=True):
            written |= {now: sp.Symbol(name), before: sp.Symbol(rf"{name}^\mathrm{{in}}")}
        written |= {p: sp.Symbol(f"p_{{{i}}}") for i, p in enumerate(self.symbols)}
        lines: dict[str, str] = {}
        known: dict[sp.Expr, sp.Symbol] = {}
        for symbol, part in self.parts.items():
            form = symbols.without_local(part).xreplace(known)
            # For computation polynomials are nested; expand them for reading.
            form = form if form.has(z1) else sp.expand(form)
            lines[f"part {symbol}"] = f"{symbol} = {sp.latex(form.xreplace(written))}"
            known[part] = symbol
        for name, form in self.outputs.items():
            lines[name] = f"{names[name]}' = {sp.latex(form.xreplace(known).xreplace(written))}"
        for name, form in self.noise.items():
            left = rf"\rho_{name[-1]}" if name.startswith("rho") else rf"\sigma_{{{names[name]}}}"
            lines[f"noise {name}"] = f"{left} = {sp.latex(form.xreplace(written))}"
        return lines


def scattering(
    position: tuple[sp.Expr, sp.Expr], slope: tuple[sp.Expr, sp.Expr], rho: tuple[sp.Expr, sp.Expr]
) -> dict[str, sp.Expr]:
    """Name the σ of (x, y), the σ of (tx, ty) and their correlations."""
    return dict(zip(NOISE, (*position, *slope, *rho), strict=True))


def turned(t: sp.Expr) -> sp.Expr:
    """Return the change of the slope t by scattering of 1 MeV over the momentum, in a plane across z.

    The path in material grows as N = √(1 + tx² + ty²), the scattering angle grows as the root of the path,
    and the slope changes by N·√(1 + t²) times the angle.
    """
    return sp.Abs(k) * (1 + tx**2 + ty**2) ** sp.Rational(3, 4) * sp.sqrt(1 + t**2)


def gain(loss: sp.Expr) -> sp.Expr:
    """Return the factor by which a loss of energy (MeV) has increased q/p, to first order in loss/p."""
    return 1 + sp.Abs(k) * loss


class Numbers:
    """The parameters of a form, numbered in the order in which they are declared."""

    def __init__(self) -> None:
        self.parameters: list[Parameter] = []

    def __call__(
        self, text: str, unit: str, start: float = 0.0, kind: Kind = "extrapolation", parity: int = 1
    ) -> sp.Symbol:
        """Declare the next parameter and return its symbol; the arguments are those of :class:`Parameter`."""
        self.parameters.append(Parameter(text, unit, start, kind, parity))
        return sp.Symbol(f"p{len(self.parameters) - 1}", real=True)

    def scattering(
        self, angle: float, levers: Sequence[tuple[sp.Expr, str, str, float]], gain: sp.Expr = sp.S.One
    ) -> dict[str, sp.Expr]:
        """Declare the numbers of scattering in a step, and return its noise.

        The fit starts with the scattering angle times momentum `angle`, MeV. The width of the position is
        :func:`turned` times a sum of numbers, each multiplied by its term; `levers` has the term, text, unit
        and start value of each. `gain` is the momentum at production over the momentum at the step.
        """
        noise = {}
        for a, t in (("x", tx), ("y", ty)):
            turn = gain * turned(t)
            lever = sp.Integer(0)
            for term, text, unit, start in levers:
                lever += self(f"scattering in {a} {text}", unit, start, "noise") * term
            noise[a] = lever * turn
            noise[f"t{a}"] = self(f"scattering angle in {a} times momentum", "MeV", angle, "noise") * turn
            noise[f"rho_{a}"] = self(f"correlation of {a} and t{a}", "1", 0.8, "noise")
        return {name: noise[name] for name in NOISE}
