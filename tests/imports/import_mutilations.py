"""Maps, tuples and hits that are damaged, mistaken for others, or in other units and signs.

import_mistakes.txt has the message for each; test_mutilations.py compares it, and writes it.
"""

import re
import tempfile
from contextlib import suppress
from pathlib import Path

import field_writers
import hit_sample
import numpy as np
import step_writers
from step_sample import field_map, sample

from parkf.detector.field import DipoleSources, evaluate_on_grid
from parkf.detector.geometry import load_geometry
from parkf.imports.field.physics import inspect_field
from parkf.imports.field.read import read_field
from parkf.imports.hits.physics import Run
from parkf.imports.hits.take import take_entries
from parkf.imports.steps.take import import_steps
from parkf.io.errors import ParkfError

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("import_mistakes.txt")
HEAD = "| door | what was done | verdict | message |\n|---|---|---|---|\n"
STEPS = {"UTTF": 400, "T": 120, "UT": 150}
ENDS = "01e"
XY = tuple(axis + end for axis in "xy" for end in ENDS)
SLOPES = tuple(f"t{axis}{end}" for axis in "xy" for end in ENDS)


class SeenError(Exception):
    """End an import once the physics has been checked."""


def _told(inspections):
    """Verdict and message of the worst finding."""
    found = [finding for one in inspections for finding in one.findings]
    found.sort(key=lambda finding: finding.verdict != "wrong")
    if not found:
        return "ok", ""
    verdict = "refused" if found[0].verdict == "wrong" else "doubtful"
    return verdict, f"{found[0].what} ({found[0].evidence})"


def _inspected(run, *arguments, **options):
    """Inspections of an import, which ends if they find something wrong."""
    seen = []

    def settle(inspections):
        seen.extend(inspections)
        if any(one.verdict == "wrong" for one in inspections):
            raise SeenError

    with suppress(SeenError):
        run(*arguments, settle=settle, **options)
    return seen


def _attempt(action):
    try:
        return _told(action())
    except ParkfError as error:
        return "refused", str(error).splitlines()[0]


def _cut(path, share=0.6):
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[: int(share * len(content))])


def _replaced(path, old, new):
    path = Path(path)
    path.write_text(path.read_text().replace(old, new, 1))


def _repeat(path):
    lines = Path(path).read_text().splitlines()
    Path(path).write_text("\n".join([*lines, lines[5], ""]))


def _same(corner, spacing, field):
    return corner, spacing, field


def _values(change):
    return lambda corner, spacing, field: (corner, spacing, change(field))


def _moved(axis):
    return lambda corner, spacing, field: (corner + 1000.0 * np.eye(3)[axis], spacing, field)


def _with(node, value):
    def change(field):
        field[node] = value
        return field

    return _values(change)


def _file(pattern, change, *arguments):
    """Change the file of a quadrant."""
    return lambda path: change(next(Path(path).parent.glob(pattern)), *arguments)


def _fields():
    """Format, name, change of the map, change of the file, and what the user declares."""

    def case(kind, what, change=_same, spoil=lambda path: None, **declared):
        return kind, what, change, spoil, declared

    noise = np.random.default_rng(1)
    return [
        case("allen", "10 times as strong", _values(lambda b: 10 * b)),
        case("allen", "a map of MagUp that nobody calls one", _values(lambda b: -b)),
        case("allen", "declared to be MagUp's, and is MagDown's", polarity=1),
        case("allen", "Bz with the other sign", _values(lambda b: b * [1, 1, -1])),
        case("allen", "read backwards in z", _values(lambda b: b[:, :, ::-1] * [-1, 1, -1])),
        case("allen", "shifted by a metre in z", _moved(2)),
        case("allen", "5 % too strong", _values(lambda b: 1.05 * b)),
        case("allen", "lengths in cm", lambda c, s, b: (0.1 * c, 0.1 * s, b)),
        case("allen", "the half of x > 0 alone", lambda c, s, b: (c * [0, 1, 1], s, b[len(b) // 2 :])),
        case("allen", "zeros for x < 0", lambda c, s, b: _with(np.s_[: len(b) // 2], 0.0)(c, s, b)),
        case("allen", "noise of 100 mT", _values(lambda b: b + noise.normal(0, 0.1, b.shape))),
        case("allen", "a NaN", _with((3, 4, 5, 1), np.nan)),
        case("allen", "cut off", spoil=_cut),
        case("allen", "a text file", spoil=lambda path: Path(path).write_text("no map\n" * 20)),
        case("allen", "a unit declared that it has itself", length="mm", unit="T"),
        case("plain", "no unit said"),
        case("plain", "kG declared to be T", length="cm", unit="T"),
        case("plain", "an unknown unit", length="inch", unit="kG"),
        case("plain", "cut off within a row", spoil=_cut, length="cm", unit="kG"),
        case("csv", "a column missing", spoil=lambda path: _replaced(path, "Bz [G]", "B3 [G]")),
        case("csv", "a node twice", spoil=_repeat),
        case("cdf", "one quadrant missing", spoil=_file("*c3*", Path.unlink)),
        case("cdf", "no header", spoil=_file("*c1*", _replaced, "GEOMETRY:", "grid")),
    ]


def fields(folder):
    """Rows of the table for maps of the dipole."""
    dipole = DipoleSources.load(ROOT / "data/field/dipole.json")
    made = evaluate_on_grid(dipole, spacing=500.0, y_max=3000.0, z_max=9500.0)
    for number, (kind, what, change, spoil, declared) in enumerate(_fields()):
        place = folder / f"field{number}"
        place.mkdir()
        part = change(made.origin.copy(), made.spacing.copy(), made.values.astype(np.float64))
        # Files of text are small where the fault is found before the physics is checked.
        if kind != "allen" and "declared" not in what:
            part = (part[0], part[1], part[2][4:13, 3:10, 8:12])
        if kind == "cdf":
            part = (np.array([-1000.0, -1000.0, 3000.0]), part[1], part[2][2:7, 1:6])
        source = getattr(field_writers, f"write_{kind}")(place, *part)
        spoil(source)
        told = _attempt(lambda s=source, d=declared: [inspect_field(read_field(s, **d), dipole, "map")])
        yield f"field, {kind}", what, *told


def _times(names, factor):
    return lambda rows: {name: factor * rows[name] for name in names if name in rows}


def _stronger(share):
    def change(rows):
        dz, found = rows["z1"] - rows["z0"], {}
        for end in "1e":
            for axis in "xy":
                straight = rows[f"{axis}0"] + rows[f"t{axis}0"] * dz
                found[f"{axis}{end}"] = rows[f"{axis}{end}"] + share * (rows[f"{axis}e"] - straight)
                bend = rows[f"t{axis}e"] - rows[f"t{axis}0"]
                found[f"t{axis}{end}"] = rows[f"t{axis}{end}"] + share * bend
        return found

    return change


def _exchanged(*pairs):
    both = [*pairs, *((b, a) for a, b in pairs)]
    return lambda rows: {a: rows[b] for a, b in both}


ENDS_OF = ("x", "y", "tx", "ty")


def _rows():
    """Return the step, what was done, and the change of its columns."""
    lengths, xy = (*XY, "z0", "z1"), [(f"{t}x{e}", f"{t}y{e}") for t in ("", "t") for e in ENDS]

    def straight(rows):
        dz = rows["z1"] - rows["z0"]
        ends = {f"{a}e": rows[f"{a}0"] + rows[f"t{a}0"] * dz for a in "xy"}
        return ends | {f"t{a}e": rows[f"t{a}0"] for a in "xy"}

    def shuffled(rows):
        return {f"{n}0": np.random.default_rng(1).permutation(rows[f"{n}0"]) for n in ENDS_OF}

    def each(change):
        return lambda rows: {name: change(values, rows) for name, values in rows.items()}

    return [
        ("UTTF", "momenta in GeV", _times(["p_true"], 1e-3)),
        ("UTTF", "q/p in 1/GeV", _times(["qop"], 1e3)),
        ("UTTF", "polarity turned", _times(["polarity"], -1)),
        ("UTTF", "sign of q/p turned", _times(["qop", "charge"], -1)),
        ("UTTF", "the sign of q/p without the charge's", _times(["qop"], -1)),
        ("UTTF", "all lengths in cm", _times(lengths, 0.1)),
        ("T", "all lengths in m", _times(lengths, 1e-3)),
        ("UTTF", "x and y in cm", _times(XY, 0.1)),
        ("T", "slopes in mrad", _times(SLOPES, 1e3)),
        ("UTTF", "x and y exchanged", _exchanged(*xy)),
        ("T", "origin and target exchanged", _exchanged(*((f"{n}0", f"{n}1") for n in (*ENDS_OF, "z")))),
        ("T", "y with the other sign", _times([n for n in (*XY, *SLOPES) if "y" in n], -1)),
        ("T", "z1 off by 5 mm", lambda r: {"z1": r["z1"] + 5.0}),
        ("UTTF", "a field 0.1 % stronger", _stronger(0.001)),
        ("UTTF", "Runge-Kutta without a field", straight),
        ("UTTF", "Runge-Kutta in truth's columns", lambda r: {f"{n}1": r[f"{n}e"] for n in ENDS_OF}),
        ("T", "truth 0.3 mm beside", lambda r: {"x1": r["x1"] + 0.3}),
        ("UTTF", "the origin's rows shuffled", shuffled),
        ("UTTF", "the half of x > 0 alone", each(lambda values, rows: values[rows["x0"] > 0])),
        ("UT", "forward sets for backward ones", lambda r: {"set": (r["set"] + 3) % 6}),
        ("T", "gaps numbered the other way", lambda r: {"set": 20 - r["set"] + 2 * (r["set"] % 2)}),
        ("UTTF", "a set that is not there", lambda r: {"set": r["set"] + 1}),
        ("UTTF", "a NaN", lambda r: {"x1": _spoilt(r["x1"], 7)}),
        ("UTTF", "polarity 0", lambda r: {"polarity": _spoilt(r["polarity"], 7, 0.0)}),
        ("UTTF", "sixty rows", each(lambda values, _: values[:60])),
    ]


def _files():
    """Yield what was done, and the change of the column map or of the file."""
    yield (
        "a column that is not there",
        lambda source, path: source["columns"].update(x0={"column": "X", "unit": "mm"}),
    )
    yield "a unit left out", lambda source, path: source["columns"]["x0"].pop("unit")
    yield "an unknown unit", lambda source, path: source["columns"]["x0"].update(unit="inch")
    yield "a number of one column left out", lambda source, path: source["columns"].pop("tx1")
    yield "xe without ye", lambda source, path: source["columns"].pop("ye")
    yield "a selection that nothing passes", lambda source, path: source.update(where={"set": 99})
    yield "no such file", lambda source, path: source.update(files="nothing-*.parquet")
    yield "cut off", lambda source, path: _cut(path)
    yield "a text file", lambda source, path: path.write_text("no tuple")


def steps(folder):
    """Rows of the table for tuples."""
    field, geometry = field_map(), load_geometry(ROOT / "data/geometry/run3.yaml")
    made = {step: sample(step, rows, field) for step, rows in STEPS.items()}
    units = {"qop": "1/MeV", "p_true": "MeV"} | {f"{axis}{end}": "mm" for axis in "xyz" for end in ENDS}
    units |= dict.fromkeys(SLOPES, "1")

    def told(source, polarity=None, steps=()):
        options = {"polarity": polarity, "steps": steps, "geometry": geometry, "threads": 1}
        return _inspected(import_steps, str(source), folder / "out", field=field, **options)

    def written(step, rows, change):
        rows = {name: values.astype(float) for name, values in rows.items()}
        path = folder / f"{step}.parquet"
        step_writers.write_parquet(path, rows)

        def plain(source):
            source["columns"] = {
                name: {"column": name} | ({"unit": units[name]} if name in units else {}) for name in rows
            }
            change(source, path)

        return step_writers.column_map(folder, "{step}.parquet", (step,), change=plain)

    def attempted(step, rows, change=lambda source, path: None):
        # The column map is read where it is written, so that its faults are found at once.
        return _attempt(lambda: told(written(step, rows, change)))

    for step, what, change in _rows():
        yield f"steps, {step}", what, *attempted(step, made[step] | change(made[step]))
    for what, change in _files():
        yield "steps, column map", what, *attempted("UTTF", made["UTTF"], change)
    for number, (what, polarity, change) in enumerate(
        (
            ("the polarity not said", None, lambda tree: tree),
            ("the other polarity said", 1, lambda tree: tree),
            ("a branch missing", -1, lambda tree: {k: v for k, v in tree.items() if k != "true_qop_prev"}),
            ("no track with four UT hits", -1, lambda tree: tree | {"nHitsUT": 0 * tree["nHitsUT"]}),
            ("a NaN", -1, lambda tree: tree | {"z": np.nan * tree["z"]}),
        )
    ):
        place = folder / f"tuning{number}"
        place.mkdir()
        source = step_writers.write_tuning(place, {"UTTF": made["UTTF"]}, -1, change=change)
        yield (
            "steps, tuning trees",
            what,
            *_attempt(lambda source=source, polarity=polarity: told(source, polarity, ("UTTF",))),
        )
    for path in place.glob("*.root"):
        _cut(path, 0.3)
    yield "steps, tuning trees", "cut off", *_attempt(lambda: told(source, -1, ("UTTF",)))


def _spoilt(values, number=5, value=np.nan):
    values = np.array(values, dtype=float)
    values[number] = value
    return values


def _trees():
    """What was done to a tree of particles, and the changed branches; None removes a branch."""
    yield "momenta in GeV", lambda t: {name: 1e-3 * t[name] for name in ("p", "px", "py", "pz")}
    yield "charges turned", lambda t: {"pid": -t["pid"]}
    yield (
        "x running the other way",
        lambda t: {name: -t[name] for name in ("Velo_x", "UT_xAtYEq0", "FT_x", "UT_dxDy", "FT_dxdy")},
    )
    yield "σ where weights are meant", lambda t: {name: t[name] ** -0.5 for name in ("UT_weight", "FT_w")}
    yield "SciFi's x in cm", lambda t: {"FT_x": 0.1 * t["FT_x"]}
    yield "one SciFi layer 0.5 mm beside", lambda t: {"FT_x": t["FT_x"] + 0.5 * (np.arange(12) == 4)}
    yield "a thirteenth SciFi layer", lambda t: {"FT_hitPlaneCode": t["FT_hitPlaneCode"] + 1}
    yield "a NaN", lambda t: {"FT_x": _spoilt(t["FT_x"])}
    yield "vectors of unlike lengths", lambda t: {"FT_dxdy": t["FT_dxdy"][:, :-1]}
    yield "a branch missing", lambda t: {"FT_z": None}
    yield ("SciFi's vectors empty", lambda t: {name: t[name][:, :0] for name in t if name.startswith("FT_")})
    yield "the half of x > 0 alone", lambda t: {name: values[t["px"] > 0] for name, values in t.items()}
    yield "no entry", lambda t: {name: values[:0] for name, values in t.items()}


def hits(folder):
    """Rows of the table for hits."""
    field, geometry = field_map(), load_geometry(ROOT / "data/geometry/run3.yaml")
    made = hit_sample.tracks(geometry, field, count=120)

    def told(source, polarity=-1):
        paths = {f"{name}_to": folder / f"{name}.parquet" for name in ("hits", "particles")}
        return _inspected(take_entries, source, Run(field, polarity, geometry), **paths)

    sound = hit_sample.write_tree(folder / "sound.root", hit_sample.tree_of(made))
    yield "hits, tree", "the other polarity said", *_attempt(lambda: told(sound, 1))
    for number, (what, change) in enumerate(_trees()):
        tree = hit_sample.tree_of(made)
        tree = {name: values for name, values in (tree | change(tree)).items() if values is not None}
        path = hit_sample.write_tree(folder / f"hits{number}.root", tree)
        yield "hits, tree", what, *_attempt(lambda path=path: told(path))
    _cut(sound)
    yield "hits, tree", "cut off", *_attempt(lambda: told(sound))


def page():
    """The page with a table of what happens now."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        for rows in (fields, steps, hits):
            place = Path(name) / rows.__name__
            place.mkdir()
            for door, what, verdict, message in rows(place):
                # Folders differ between machines.
                clean = re.sub(r"/\S*/", "", message).replace("|", "\\|")
                lines.append(f"| {door} | {what} | {verdict} | {clean} |")
    return HEAD + "\n".join(lines) + "\n"
