"""Writes the pages that the code knows best, from commands to formulas, while MkDocs builds the site.

These pages and drawings are in no checkout. `python docs/generate.py` writes the two that are: the figures in
README.md and the drawing of the detector.
"""

import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import sympy as sp
import yaml
from typer.main import get_command

from parkf.cli.main import PANELS, app
from parkf.fit import STATUS, STATUS_BITS, TREATED
from parkf.io.documents.models import resolved
from parkf.model.steps import FORMS
from parkf.model.steps.frozen import kernel_forms
from parkf.model.steps.magnet import BEND_X, BEND_Y, TABLE_FORMS, WEIGHTS, X, Y
from parkf.report.column_reference import TABLES, described
from parkf.workflow.config_model import RunConfig

# The modules beside this file can then be imported, however it is started.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
# MkDocs takes the two folders away again, and the writers of figures are imported later, from this package.
import benchmarks  # noqa: F401
from performance import FORMS as FORM_NAMES
from performance import (
    HEADLINES,
    calibration_plot,
    displaced_plot,
    electrons_plot,
    gate_rows,
    ghost_plot,
    inside_plot,
    newest,
    speed,
    speed_plot,
    table_plot,
)
from picture import picture
from tools.house import drawing, survey
from tools.studies import STUDIES, said_of

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def commands() -> str:
    """Every command with its arguments, options and example, in the order of `parkf --help`."""
    group = get_command(app)
    context = group.context_class(group)
    parts = [
        "# Commands",
        "`parkf --help` shows this list, and `parkf COMMAND --help` each entry. Every command takes `--debug` in front"
        " of it, which shows where in the code an error arose. Exit codes are 0 for yes or done, 1 for no or for an"
        " error, which is one line that says what is wrong and where, and 2 for wrong usage, of `parkf params` and"
        " `parkf gate` also where there is no answer; 130 where it was interrupted; `parkf run` exits as Snakemake does."
        " [Typical mistakes](../mistakes.md) shows what is refused, in which words.",
    ]
    for panel, names in PANELS.items():
        parts.append(f"## {panel}")
        for name in names:
            parts += _command(group.get_command(context, name), name)
    return _page([*parts, *_stages()])


def _stages() -> Iterator[str]:
    """Every stage of a run, with the first line of its docstring."""
    yield "## Stages"
    yield (
        "Each rule of the workflow calls a stage by `python -m parkf.stages NAME`. The names of its arguments are those"
        " of a function in `src/parkf/stages/NAME.py`; `snakemake --printshellcmds` and a run's logs show whole calls."
    )
    found = []
    for path in sorted((ROOT / "src/parkf/stages").glob("[!_]*.py")):
        function = getattr(importlib.import_module(f"parkf.stages.{path.stem}"), path.stem, None)
        if inspect.isfunction(function):
            found.append((f"`{path.stem}`", inspect.getdoc(function).partition("\n\n")[0].replace("\n", " ")))
    yield _table(("stage", ""), found)


def _command(command: Any, name: str) -> Iterator[str]:
    yield f"### parkf {name}"
    yield _plain(inspect.cleandoc(command.help or ""))
    if command.epilog:
        yield f"```\n{command.epilog.removeprefix('Example: ')}\n```"
    kinds = get_type_hints(inspect.unwrap(command.callback)) if command.callback else {}
    rows = [_parameter(one, kinds.get(one.name)) for one in command.params if one.name != "help"]
    if rows:
        yield _table(("", "default", ""), rows)
    for below, one in getattr(command, "commands", {}).items():
        yield from _command(one, f"{name} {below}")


def _parameter(one: Any, kind: Any) -> tuple[str, str, str]:
    is_option = one.param_type_name == "option"
    name = ", ".join(one.opts) if is_option else (one.metavar or one.name.upper())
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    words = [_plain(one.help or "")]
    if choices:
        words.append("One of " + ", ".join(f"`{choice}`" for choice in choices) + ".")
    default = one.default
    if one.required:
        shown = "required"
    elif default is None or default is False or callable(default) or "Sentinel" in type(default).__name__:
        shown = ""
    else:
        shown = f"`{default}`" if str(default) else ""
    return f"`{name}`", shown, " ".join(word for word in words if word)


def tables() -> str:
    """Columns of every table."""
    parts = [
        "# Tables",
        "All tables are Parquet files. Their metadata hold name and version under `parkf.table`; a reader refuses"
        " another one, and says which column is missing or has another type. Columns `float32[26]` are lists of that"
        " length, padded with NaN. `parkf schema TABLE` prints the same, `--json` for programs.",
    ]
    for table in TABLES:
        columns = described(table)
        rows = [
            (f"`{one.name}`", one.type, one.unit, one.meaning + (f" (`{one.option}`)" if one.option else ""))
            for one in columns
        ]
        parts += [f"## {table.name}", f"Version {table.version}."]
        parts.append(_table(("column", "type", "unit", "meaning"), rows))
    return _page(parts)


def status() -> str:
    """Bits of the status columns of a fit."""
    bits = ("bit", "what it says")
    names = {bit: name for name, bit in STATUS_BITS.items()}
    return _page(
        [
            "# Status bits",
            "Column `status` of a fitted track is a sum of bits; 0 is a good fit. A fit with no other bit than a"
            " warning is good, too. Cuts on tracks therefore use `parkf.fit.is_good(status)`, in other programs"
            " `(status & ~4096) == 0`. `parkf.fit.explain_status(status)` says the same in Python, `STATUS_BITS` has the bits by name; in"
            " C++ `parkf::kalman::status` has both.",
            _table(
                ("bit", "name", "what it says"),
                [(f"`{bit}`", f"`{names[bit]}`", text) for bit, text in STATUS.items()],
            ),
            "## What a robust fit did",
            "Column `treated`, which `parkf fit --robust` adds, is a sum of these; 0 is the plain fit.",
            _table(bits, [(f"`{bit}`", text) for bit, text in TREATED.items()]),
        ]
    )


def configuration() -> str:
    """Keys of a run's configuration: the model's words, and the default with its reasons."""
    schema = RunConfig.model_json_schema()
    text = (ROOT / "workflow/config/default.yaml").read_text("utf-8")
    default = yaml.safe_load(text)
    rows = []
    for key, entry in _keys(schema, schema):
        value: Any = default
        for word in key.split("."):
            value = value.get(word) if isinstance(value, dict) else None
        shown = "" if value is None else f"`{json.dumps(value)}`"
        rows.append((f"`{key}`", _allowed(entry), shown, _plain(entry.get("description", ""))))
    return _page(
        [
            "# Configuration",
            "A configuration is a YAML file in `workflow/config/`; `make run RUN=name` runs `name.yaml`. An unknown key"
            " stops the run, so that a typing error cannot pass for a default. `extends: default` takes all keys that"
            " a file leaves out, but `run`, from `default.yaml` in the same folder, which may extend another one itself."
            " Sections are merged key by key; a list or a single value takes the other's place.",
            _table(("key", "may be", "in `default.yaml`", ""), rows),
            "## The everyday run, with the reason for each key",
            f"```yaml\n{text.rstrip()}\n```",
        ]
    )


def _keys(
    schema: Mapping[str, Any], entry: Mapping[str, Any], *words: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, one in entry["properties"].items():
        whole = resolved(schema, one)
        if "properties" in whole:
            yield from _keys(schema, whole, *words, name)
        else:
            yield ".".join((*words, name)), whole if whole is one else {**whole, "or": " or null"}


def _allowed(entry: Mapping[str, Any]) -> str:
    if "enum" in entry:
        return ", ".join(f"`{json.dumps(one)}`" for one in entry["enum"])
    if "items" in entry:
        return "list of " + _allowed(entry["items"])
    kind = entry.get("type", "any") + entry.get("or", "")
    bounds = [
        f"{sign} {entry[name]:g}"
        for name, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"))
        if name in entry
    ]
    return f"{kind} {', '.join(bounds)}".strip()


def layout() -> str:
    """Numbers of the constant blob, by layout and block."""
    parts = [
        "# Layout of a set",
        "`constant.f32` is the blocks below one after the other, each set by set, in little-endian float32;"
        " `global.f32` is the magnet table: 60 × 50 bins of 80 coefficients. What a stored number stands for is"
        " its value times the power of ten in its unit. The sign in the last column is what it is multiplied with"
        " when h is defined with the opposite sign. `parkf params show SET --numbers` prints the values.",
    ]
    for forms in kernel_forms(ROOT / "params/layouts").values():
        name, blocks = forms.name, forms.layout.blocks
        count = sum(block.shape[0] * block.shape[1] for block in blocks)
        parts.append(f"## Layout version {forms.layout_version}: {name} forms, {count} constants")
        for block in blocks:
            sets = ", ".join(block.sets) if len(block.sets) < 8 else f"{block.sets[0]} … {block.sets[-1]}"
            parts.append(f"### {name}: {block.name}")
            parts.append(f"{block.shape[0]} × {block.shape[1]} numbers; sets: {sets}.")
            rows = [
                (f"`{column}`", unit, text, f"{parity:+d}") for column, unit, text, parity in block.columns
            ]
            parts.append(_table(("number", "unit", "what it does", "sign"), rows))
    return _page(parts)


def formulas() -> str:
    """Formulas of all steps, as the fits, the kernel and the report have them."""
    parts = [
        "# The formulas",
        "These lines are rendered from the SymPy expressions in `src/parkf/model/steps/`, the only place where they are"
        " written. The state is $(x, y, t_x, t_y)$ at $z_0$; $k = q/p$ is taken at production and stays the same along"
        " the track; $h = \\mathrm{pol}\\cdot k$ with pol = +1 in MagUp and −1 in MagDown, so that one set serves both"
        " polarities; $\\Delta z = z_1 - z_0$; primed is predicted at $z_1$. Lengths are in mm, slopes in rad, $k$ in"
        " 1/MeV. $p_0, p_1, \\dots$ are the parameters of the step; [the layout](layout.md) says what"
        " each one does. From $\\sigma$ and $\\rho$ follows the process noise: $Q_{xx} = \\sigma_x^2$,"
        " $Q_{x t_x} = \\rho_x \\sigma_x \\sigma_{t_x}$, $Q_{t_x t_x} = \\sigma_{t_x}^2$, the same in y, zero elsewhere.",
    ]
    for name, forms in FORMS.items():
        title = "The trigger's forms" if name == "production" else "Improved forms"
        parts.append(f"## {title} (`forms: {name}`)")
        for step in forms.steps.values():
            parts.append(f"### {name}: {step.name}, {step.text}")
            parts += [f"$$\n{line}\n$$" for line in step.latex().values()]
    parts += [
        "## The magnet table",
        "A track goes straight from $z_\\mathrm{in}$ to $z_\\mathrm{out}$; each of $x, t_x, y, t_y$ then gets"
        " $c_{00}(f) + u_x c_{10}(f) + u_y c_{01}(f)$ with polynomials $c(f)$ without constants, so that a track of"
        " infinite momentum goes straight, and $f = h\\,p_\\mathrm{min}$. $u_x$ and $u_y$ say how far the slopes are"
        " from those of a track from the origin that the field has bent until here:",
        f"$$\nu_x = \\frac{{t_x - X - h\\,({_latex(BEND_X)})}}{{\\mathrm{{dtxy}}}},\\qquad"
        f" u_y = \\frac{{t_y - Y - h\\,({_latex(BEND_Y)})}}{{\\mathrm{{dtxy}}}},\\qquad"
        " X = x/z_\\mathrm{in},\\ Y = y/z_\\mathrm{in}\n$$",
        "The coefficients are interpolated between the centres of six bins (Abramowitz and Stegun 25.2.67), with"
        " offsets $a$ and $b$ in bins from the nearest centre, mirrored to be positive. Neighbours and weights:",
        _table(("bin", "weight"), [(f"{i:+d}, {j:+d}", f"${sp.latex(w)}$") for (i, j), w in WEIGHTS.items()]),
        "What differs between the forms:",
        _table(
            (
                "forms",
                "degrees in f of c₀₀ (x, y)",
                "of c₁₀, c₀₁ (x, y)",
                "a bin is chosen at",
                "bend is added to",
            ),
            [
                (
                    name,
                    f"{form.central['x']}, {form.central['y']}",
                    f"{form.linear['x']}, {form.linear['y']}",
                    "z_in" if form.depth == 0 else f"z_in + {form.depth}·(z_out − z_in)",
                    "t/√(1 + tx² + ty²)" if form.sines else "t",
                )
                for name, form in zip(("production", "improved"), TABLE_FORMS, strict=True)
            ],
        ),
    ]
    return _page(parts)


def rooms() -> str:
    """Rooms of the package, the highest floor first, with the docstring of each."""
    house = survey()
    parts = [
        "# The rooms",
        "`src/parkf` has these packages. Imports between them run downwards only; a test holds that, and"
        " `python tools/house.py` prints rooms, floors and lines.",
        "![The rooms floor by floor, and which room imports which](house.svg)",
    ]
    for rooms_of_floor in reversed(house.floors()):
        for room in rooms_of_floor:
            text = inspect.cleandoc(importlib.import_module(f"parkf.{room}").__doc__ or "")
            inside = ", ".join(f"`{part}`" for part in house.parts[room])
            parts += [f"## {room}", _markdown(text)]
            if inside:
                parts.append(f"Inside: {inside}.")
    return _page(parts)


def _markdown(text: str) -> str:
    """Turn the cross-references of a docstring into code."""
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)


def performance() -> str:
    """How good the newest published sets are, on one screen."""
    sets = newest()
    names = [f"{FORM_NAMES[forms]} (`{manifest['version']}`)" for forms, manifest in sets.items()]
    fitter = speed()
    one, two = (fitter["cpu"][precision] for precision in ("float32", "float64"))
    return _page(
        [
            "# How good it is: resolution, pulls, ghosts",
            "The two newest published sets were trained on 10,000 crossings for each polarity. The figures are measured"
            " on other tracks of the embedded simulation, [not of LHCb's](limits.md). [What the figures mean](figures.md)"
            " explains the words.",
            _table(("figure", *names, "asked for"), list(gate_rows(HEADLINES))),
            "The worst bin of momentum is in brackets. The full fit is a Runge–Kutta fit of the same hits. Ghosts are"
            " rejected by a cut on χ²/ndof. Bars give way by three errors.",
            f"On one core of {fitter['processor']} the fit does {one['tracks_per_s_core'] / 1e6:.1f} million tracks a"
            f" second in float32 and {two['tracks_per_s_core'] / 1e6:.1f} million in float64. Its multiplications and"
            f" additions alone would be {one['floor_ratio']:.1f} and {two['floor_ratio']:.1f} times as fast.",
            "![Distance of the magnet table from Runge–Kutta by momentum, in µm](table_misfit.svg)",
            "![Ghosts kept where 91 % of the genuine tracks are kept, by discriminant, on the embedded and on LHCb's"
            " simulation](ghosts_kept.svg)",
            "## What is missed",
            missed(),
            "## More",
            "\n".join(
                (
                    "- [Resolution and errors](resolution.md)",
                    "- [LHCb's hits](lhcb_hits.md)",
                    "- [Ghosts](ghosts.md)",
                    "- [In LHCb's trigger](trigger.md)",
                    "- [Soft and displaced tracks](soft_and_displaced.md)",
                    "- [Speed and size](speed.md)",
                    "- [All gates](../reference/gates.md)",
                )
            ),
            "`make family FAMILY=forms` trains and measures both sets again.",
        ]
    )


def missed() -> str:
    """Return the goals that are missed, as a list in Markdown."""
    results = ROOT / "benchmarks/results"
    lhcb = json.loads((results / "lhcb_hits.json").read_text("utf-8"))["lhcb"]
    ghosts = json.loads((results / "ghosts.json").read_text("utf-8"))

    def told(pair: Sequence[float], style: str = ".2f", scale: float = 1) -> str:
        value, error = (format(scale * number, style) for number in pair)
        return f"{value} ± {error}"

    def passed(sample: str, score: str) -> str:
        one = ghosts[sample][score]["all"]
        return f"{one['kept']} ± {one['error']}"

    _, tail = lhcb["pulls"]["parkf"]
    _, robust = lhcb["pulls"]["parkf_robust"]
    return f"""\
- **Ghost score on LHCb's hits**: {passed("lhcb", "score")} % of the ghosts pass without p and η (8 % asked for),
  {passed("lhcb", "score_kinematic")} % with them (5 %).
- **Ghost score on found segments** of the embedded simulation: {passed("embedded", "score")} % without p and η (8 % asked for).
- **Tails on LHCb's hits**: the 95 % width of the q/p pull is {told(tail)}; that of the robust fit is {told(robust)}. A Gaussian has 1.
- **Momentum on LHCb's hits** is high by {told(lhcb["bias"], ".3f", 100)} %. The full fit is high by as much.
- **The fit** takes {speed()["cpu"]["float32"]["floor_ratio"]:.1f} times its multiplications and additions alone (2.2 asked for).
- Not measured since the middle of November: **an everyday run** takes 57 to 62 s on Zen 5 (60 s asked for). **The datasets of the steps** take 2.0
  to 2.6 ms an event (2 ms asked for). **Memory** grows by 24 to 38 % in 5 of 16 stages with a hundred times the sample (20 % asked for)."""


_HEADLINES = re.compile(
    r"(?<=begin: docs/generate\.py writes this from the published sets -->\n).*?(?=<!-- end -->)", re.S
)


def readme() -> str:
    """README.md with the figures of the newest published sets."""
    gates = {gate["what"]: gate for gate in newest()["improved"]["gates"]}

    def figure(what: str) -> str:
        return str(gates[what]["measured"])

    ns = 1e9 / speed()["cpu"]["float32"]["tracks_per_s_core"]
    text = (
        "Figures of the better forms, trained with 10,000 crossings for each polarity, on other tracks of the embedded\n"
        "simulation; each is the one of the worst bin of momentum:\n\n"
        f"- momentum resolution, 5–50 GeV: {figure('core of δp/p, 5–50 GeV')}\n"
        f"- over that of a full fit through field and material: {figure(HEADLINES[1])}\n"
        f"- pull width of q/p, 3–100 GeV: {figure('pull widths of q/p from 3 to 100 GeV')}\n"
        f"- tracks lost above 1.5 GeV: {figure('tracks lost from 1.5 GeV')}\n"
        f"- time of a fit: {ns / 1000:.2g} µs on one core of {speed()['processor']}\n\n"
    )
    return _HEADLINES.sub(lambda _: text, (ROOT / "README.md").read_text("utf-8"))


def gates() -> str:
    """Every gate of the newest published sets."""
    names = [f"{FORM_NAMES[forms]} (`{manifest['version']}`)" for forms, manifest in newest().items()]
    return _page(
        [
            "# All gates",
            "A set is published when it meets these. The bars stand in `workflow/config/gates.yaml`, with the reason for"
            " each. They give way by three errors of a figure. The figures are those of the newest published sets, from"
            " their manifests.",
            _table(("figure", *names, "asked for"), list(gate_rows())),
        ]
    )


def house_drawing() -> str:
    """Draw the rooms and their imports."""
    return drawing(survey())


def _latex(form: sp.Expr) -> str:
    """Typeset a form of the table, with the names of its header upright."""
    escaped = {symbol: str(symbol).replace("_", r"\_") for symbol in form.free_symbols - {X, Y}}
    names = {symbol: sp.Symbol(rf"\mathrm{{{name}}}") for symbol, name in escaped.items()}
    return str(sp.latex(form.xreplace(names)))


def _plain(text: str) -> str:
    """Remove the escapes for Rich, and escape file names that look like HTML."""
    return re.sub(r"<(?=[a-z])", "&lt;", text.replace("\\[", "["))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def _page(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/commands.md": commands,
    "reference/tables.md": tables,
    "reference/status.md": status,
    "reference/configuration.md": configuration,
    "reference/layout.md": layout,
    "reference/formulas.md": formulas,
    "explanation/performance.md": performance,
    "reference/gates.md": gates,
    "explanation/rooms.md": rooms,
    "explanation/house.svg": house_drawing,
    "explanation/table_misfit.svg": table_plot,
    "explanation/ghosts_kept.svg": ghost_plot,
    "explanation/speed.svg": speed_plot,
    "explanation/displaced.svg": displaced_plot,
    "explanation/electrons.svg": electrons_plot,
    "explanation/inside_the_magnet.svg": inside_plot,
    "explanation/calibration.svg": calibration_plot,
}
"""What the site has beside the files in docs/."""

IN_CHECKOUT: Mapping[str, Callable[[], str]] = {"docs/detector.svg": picture, "README.md": readme}
"""What a reader of the repository sees without a site."""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages; MkDocs calls it when it has listed the files in docs/."""
    # Tests call the writers without MkDocs.
    from mkdocs.structure.files import File

    for name, write in PAGES.items():
        files.append(File.generated(config, name, content=write()))
    return files


_FIGURES = re.compile(r"<!-- figures: ([\w.]+)\.(\w+) (\w+)(?:\.(\w+))? -->")


def with_figures(markdown: str) -> str:
    """Put the tables and sentences of benchmarks where a page names their writer and the file of their figures.

    `<!-- figures: benchmarks.electrons.table electrons.fits -->` is what `benchmarks.electrons.table` writes of the
    key `fits` in `benchmarks/results/electrons.json`. Below it stands when this was measured, and whether the code has
    changed since.
    """

    def written(found: re.Match[str]) -> str:
        module, writer, file, key = found.groups()
        figures = json.loads((ROOT / f"benchmarks/results/{file}.json").read_text("utf-8"))
        text = str(getattr(importlib.import_module(module), writer)(figures[key] if key else figures))
        return f"{text}\n\n*{said_of(file)}*" if file in STUDIES else text

    return _FIGURES.sub(written, markdown)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in figures; MkDocs calls it with each page."""
    return with_figures(markdown)


def main() -> None:
    """Write what is in the checkout."""
    for name, write in IN_CHECKOUT.items():
        (ROOT / name).write_text(write(), "utf-8")


if __name__ == "__main__":
    main()
