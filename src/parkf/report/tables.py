"""Tables of the report, as heads and formatted rows that templates print."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from markupsafe import Markup

from parkf.model.steps import Step
from parkf.params.manifest import Gate
from parkf.proof.comparing import replacement
from parkf.proof.comparing.figures import SCORES
from parkf.proof.gates.room import NEAR, room, unmeasured
from parkf.report.figures import COMPONENTS, FIT_NAMES
from parkf.training.result import SetResult

T = TypeVar("T")
# Head of each column, and the function that writes its cell for a row.
Columns = Mapping[str, Callable[[Mapping[str, Any]], str]]

# Of figures of two sets: factor, unit, and format of a value.
_PAIRED = {
    "bias": (100.0, " %", "+.3f"),
    "core": (100.0, " %", ".3f"),
    "pull": (1.0, "", ".3f"),
    "ghosts": (100.0, " %", ".1f"),
}


@dataclass(frozen=True)
class Cells:
    """Head and rows of a table, as text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: Sequence[str] = ()  # heads of columns that hold text


def exact(text: str, value: float, error: float | None = None, attributes: str = "") -> Markup:
    """Write a number for people, with seven digits of it and of its error for CSV files."""
    known = "" if error is None else Markup(' data-error="{:.7g}"').format(error)
    return Markup('<data value="{:.7g}"{}{}>{}</data>').format(value, known, Markup(attributes), text)


def shade(
    text: str, strength: float, value: float, error: float | None = None, *, sure: bool = False
) -> Markup:
    """Write a coloured number: −1 is the strongest blue, 0 none, 1 the strongest red; bold if `sure`."""
    style = f"{'high' if strength >= 0 else 'low'}{' sure' if sure else ''}"
    percent = round(100 * min(abs(strength), 1.0))
    colour = f' class="{style}"' + (f' style="--shade:{percent}%"' if percent else "")
    return exact(text, value, error, colour)


def table_of(rows: Iterable[T], columns: Mapping[str, Callable[[T], str]], text: Sequence[str] = ()) -> Cells:
    """Return a table of rows; `columns` has a function for each head, which writes the cell of a row."""
    return Cells(list(columns), [[write(row) for write in columns.values()] for row in rows], text)


def with_error(entry: Mapping[str, Any], name: str, spec: str, factor: float = 1.0) -> str:
    """Write a number and its error, `<name>_error`, both times a factor; a dash if it was not measured."""
    if name not in entry:
        return "–"
    value, error = factor * entry[name], factor * entry[f"{name}_error"]
    return exact(f"{value:{spec}} ± {error:{spec.lstrip('+')}}", value, error)


def interval(entry: Mapping[str, Any], name: str = "p", spec: str = "g") -> str:
    """Write the edges of a bin, `<name>_min` and `<name>_max`."""
    return f"{entry[f'{name}_min']:{spec}}–{entry[f'{name}_max']:{spec}}"


def gates(held: Sequence[Gate]) -> Cells:
    """Tabulate gates, with the room that is left to their bars."""

    def left(gate: Gate) -> str:
        fraction = room(gate)
        return "–" if fraction is None else f"{100 * fraction:.0f} %".replace("-", "−")

    def measured(gate: Gate) -> str:
        if gate.value is None:
            return gate.measured
        return exact(gate.measured, (100 if "%" in gate.bar else 1) * gate.value)

    def verdict(gate: Gate) -> str:
        if unmeasured(gate):
            return Markup('<span class="unknown">not measured</span>')
        if not gate.met:
            return Markup('<span class="bad">missed</span>')
        fraction = room(gate)
        near = fraction is not None and fraction < NEAR
        return Markup('<span class="{}">met</span>').format("near" if near else "good")

    columns: dict[str, Callable[[Gate], str]] = {
        "gate": lambda gate: gate.what,
        "measured": measured,
        "bar": lambda gate: gate.bar,
        "room left, of the bar": left,
        "": verdict,
        "why this bar": lambda gate: gate.reason or "",
    }
    return table_of(held, columns, text=("gate", "measured", "bar", "", "why this bar"))


def tabulate_pairs(
    measured: Mapping[str, Any] | None, own: str = "this set", published: str = "published"
) -> Cells:
    """Tabulate the figures of two sets on the same tracks; a difference that counts is red."""

    def figure(of: str, one: Mapping[str, Any]) -> str:
        scale, unit, spec = _PAIRED[one["figure"]]
        value = scale * one[of]
        return exact(f"{value:{spec}}{unit}".replace("-", "−"), value)

    def worse(one: Mapping[str, Any]) -> str:
        scale, unit, _ = _PAIRED[one["figure"]]
        value, error = scale * one["worse"], scale * one["worse_error"]
        text = exact(f"{value:+.3f} ± {error:.3f}{unit}".replace("-", "−"), value, error)
        return Markup('<span class="bad">{}</span>').format(text) if replacement.sure(one) else text

    columns: Columns = {
        "figure": replacement.name,
        "of": lambda one: (
            replacement.place(one) or ("all ghosts" if one["figure"] == "ghosts" else "all tracks")
        ),
        "number": lambda one: str(one["n"]),
        own: partial(figure, "own"),
        published: partial(figure, "published"),
        f"{published} is worse by": worse,
    }
    return table_of(measured["figures"] if measured else (), columns, text=("figure", "of"))


def pulls(fits: Mapping[str, Any]) -> Cells:
    """Mean and core width of the pulls, and half widths of their central 68 % and 95 % over a Gaussian's."""
    columns: Columns = {
        "pull": lambda pull: pull["of"],
        "fit": lambda pull: pull["fit"],
        "mean": lambda pull: with_error(pull, "mean", "+.3f"),
        "width": lambda pull: with_error(pull, "width", ".3f"),
        "68 %": lambda pull: with_error(pull, "width68", ".3f"),
        "95 %": lambda pull: with_error(pull, "width95", ".3f"),
    }
    rows = [
        {"of": text, "fit": FIT_NAMES[name], **fit["pulls"][component]}
        for component, text in COMPONENTS.items()
        for name, fit in fits.items()
    ]
    return table_of(rows, columns, text=("pull", "fit"))


def ghosts_kept(fit: Mapping[str, Any]) -> Cells:
    """Fraction of ghosts that each discriminant keeps, at the same efficiency for genuine tracks."""
    rows = []
    for name, score in fit["scores"].items():
        point = score["working_point"]
        # Scores keep what is larger; -χ²/ndof is one of them.
        cut = f"χ²/ndof < {-point['cut']:.2f}" if name == "chi2" else f"score > {point['cut']:.3g}"
        rows.append([SCORES[name], with_error(point, "ghost", ".1f", 100), cut])
    return Cells(["by", "ghosts kept [%]", "keeps"], rows, text=("by", "keeps"))


def masses(fits: Mapping[str, Any]) -> Cells:
    """Mean and width of each mass peak, and the core widths due to momenta or directions alone, MeV."""
    peaks = [
        {"signal": signal, "fit": FIT_NAMES[name], **peak}
        for name, fit in fits.items()
        for signal, peak in sorted(fit.get("masses", {}).items())
    ]
    columns: Columns = {
        "signal": lambda peak: peak["signal"],
        "fit": lambda peak: peak["fit"],
        "pairs": lambda peak: str(peak["n"]),
        "mean [MeV]": lambda peak: with_error(peak, "mean", ".2f"),
        "width [MeV]": lambda peak: with_error(peak, "width", ".2f"),
        "core, due to momenta [MeV]": partial(_part, "momenta"),
        "due to directions [MeV]": partial(_part, "directions"),
    }
    return table_of(peaks, columns, text=("signal", "fit"))


def _part(name: str, peak: Mapping[str, Any]) -> str:
    return exact(f"{peak['parts'][name]:.2f}", peak["parts"][name])


def parameters(step: Step, one: SetResult) -> Cells:
    """Value and error of each parameter of a set."""
    numbers = zip(step.parameters, one.values, one.errors, strict=True)
    return Cells(
        ["number", "meaning", "kind", "value", "error", "unit"],
        [
            [
                f"p{index}",
                parameter.text,
                parameter.kind,
                exact(f"{value:.6g}", value),
                "–" if error is None else exact(f"{error:.2g}", error),
                parameter.unit,
            ]
            for index, (parameter, value, error) in enumerate(numbers)
        ],
        text=("meaning", "kind", "unit"),
    )
