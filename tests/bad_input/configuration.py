"""Bad configurations of runs and families."""

from collections.abc import Sequence
from pathlib import Path

from .case import CHECK, ROOT, Case, command, edited, file, project, written

BASE = (ROOT / "workflow/config/default.yaml").read_text()
CONFIG = "run.yaml"


def changed(wrong: str, old: str, new: str, *says: str) -> Case:
    return Case("configuration", wrong, edited(CONFIG, (old, new)), (f"{CONFIG}:", *says))


def text(wrong: str, content: str | bytes, *says: str) -> Case:
    return Case("configuration", wrong, written(CONFIG, content), (CONFIG, *says))


def _folder(folder: Path) -> Sequence[str | Path]:
    project(folder)
    (folder / CONFIG).unlink()
    (folder / CONFIG).mkdir()
    return CHECK


def _family(wrong: str, content: str, *says: str) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        project(folder)
        (folder / "family.yaml").write_text(content)
        return ("check", "family.yaml", "--family", *CHECK[2:])

    return Case("family", wrong, make, says)


_FAMILY = "family: fam\nbase: run.yaml\n"
_DATA = "{candidates: [x.parquet], placed: data/geometry/alignment_nominal.yaml, pairs: {}, survey: {x: 0.1}}"

CASES = [
    text(
        "data of a calibration that are missing", f"{BASE}calibration: {_DATA}\n", "x.parquet: no such file"
    ),
    text(
        "decays that are not simulated",
        f"{BASE}calibration: {_DATA}\n".replace("x.parquet", CONFIG).replace("{}", f"{{jpsi: [{CONFIG}]}}"),
        "signals.collisions: got 0, expected as many decays",
    ),
    text(
        "a survey of what is no freedom",
        f"{BASE}calibration: {_DATA}\n".replace("{x: 0.1}", "{w: 0.1}"),
        "calibration.survey",
    ),
    Case("configuration", "missing", command("check", "workflow/config/nosuch.yaml"), ("no such conf",)),
    Case("configuration", "a folder", _folder, ("no such configuration",)),
    text("empty", "", "got nothing", "expected the keys"),
    text(
        "extends what there is not",
        "extends: defualt\nrun: x\n",
        f"{CONFIG}:1: extends: defualt: no such conf",
    ),
    text(
        "extends itself", "run: x\nextends: run\n", f"{CONFIG}:2: extends: a circle: run, which extends run"
    ),
    text("a list", "- run\n- seed\n", "got a list of 2"),
    text("plain text", "seed 5\n", "got the text 'seed 5'"),
    text("not closed", "polarities: [up, down\nseed: 5\n", f"{CONFIG}:2", "not a YAML file"),
    text(
        "indented with a tab",
        BASE.replace("  training: 1000", "\ttraining: 1000"),
        f"{CONFIG}:39",
        "not a YAML file",
    ),
    text("key twice", BASE + "seed: 5\n", "key 'seed' is there twice, first in line 7"),
    changed(
        "nested key twice", "pile_up: 5.5", "training: 5", "key 'training' is there twice, first in line"
    ),
    text("no UTF-8", BASE.encode() + "# Größe\n".encode("latin-1"), "byte 0xf6 is no UTF-8", "save the file"),
    text("UTF-16", BASE.encode("utf-16"), "byte 0xff is no UTF-8"),
    text("a zero byte", "seed: 5\x00\n", "not a YAML file"),
    text("nested 100,000 deep", "run: " + "[" * 100_000, "nested more than 64 deep"),
    text("an alias of itself", "run: &a [*a]\n", "aliases without end"),
    text(
        "aliases that multiply",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
        ),
        "more than 100000 values",
    ),
    text("an object of Python's", "run: !!python/object/apply:os.system [touch x]\n", "tag ", "plain values"),
    text("a merge key", "base: &b {x: 1}\nrun: {<<: *b}\n", "'<<' is not read", "write the keys out"),
    text("two documents", BASE + "---\nseed: 5\n", "not a YAML file", "document"),
    text("a list for a key", "? [1, 2]\n: 5\n", "a list or mapping for a key"),
    text("17 MB", b"# " + b"x" * (17 << 20), "expected a document of at most"),
    text("a template language", "__use_yte__: true\n" + BASE, "unknown key '__use_yte__'"),
    changed("integer of 5,000 digits", "seed: 2026", "seed: " + "9" * 5000, "seed: got 5000 characters"),
    changed("integer of 30 digits", "seed: 2026", "seed: 1" + 29 * "0", "an integer of 30 digits"),
    changed("NaN", "pile_up: 5.5", "pile_up: .nan", "events.pile_up: got nan, expected a finite number"),
    changed("infinite", "pile_up: 5.5", "pile_up: .inf", "events.pile_up: got inf, expected a finite number"),
    changed("unknown key", "forms: production", "froms: production", "froms: unknown key", "mean 'forms'?"),
    changed("unknown nested key", "training: 1000", "trainnig: 1000", "events.trainnig", "mean 'training'?"),
    changed("key missing", "seed: 2026", "", "seed: missing; expected a whole number"),
    changed("nested key missing", "  pile_up: 5.5", "", "events.pile_up: missing", "mean inelastic"),
    changed(
        "section of text",
        "run: default",
        "run: default\nvalidity: always",
        "validity: got the text 'always', expected a mapping",
    ),
    changed(
        "seed of text", "seed: 2026", "seed: '2026'", "got the text '2026', expected a whole", "write 2026"
    ),
    changed("seed of a fraction", "seed: 2026", "seed: 1.5", "seed: got 1.5, expected a whole number"),
    changed("seed negative", "seed: 2026", "seed: -1", "seed: got -1, expected at least 0"),
    changed(
        "exponent that YAML takes for text", "pile_up: 5.5", "pile_up: 1e1", "got the text '1e1'", "write 10"
    ),
    changed("base sixty", "seed: 2026", "seed: 1:30", "seed: got 1:30, which YAML reads as 90", "in quotes"),
    changed("octal", "seed: 2026", "seed: 0777", "seed: got 0777, which YAML reads as 511", "decimal number"),
    changed("seed with a point", "seed: 2026", "seed: 5.0", "got 5, expected a whole", "write 5, without a"),
    changed("truth for a number", "pile_up: 5.5", "pile_up: yes", "pile_up: got true, expected a number"),
    changed("number for a name", "run: default", "run: 5", "run: got 5, expected text", "write it in quotes"),
    changed("'no' for a name", "run: default", "run: no", "run: got false, expected text", "in quotes"),
    changed("name with a slash", "run: default", "run: a/b", "run: got the text 'a/b'", "letters, digits"),
    changed("name that leads upwards", "run: default", "run: ..", "run: got the text '..'"),
    changed("name with a blank", "run: default", "run: my run", "run: got the text 'my run'"),
    changed("name of two lines", "run: default", 'run: "a\\nb"', "run: got the text 'a", "letters, digits"),
    changed(
        "name of 300 letters",
        "run: default",
        "run: " + "a" * 300,
        "run: got 300 letters, expected at most 100",
    ),
    changed("unknown forms", "forms: production", "forms: best", "got the text 'best', expected improved or"),
    changed("spacing 0", "spacing: 100", "spacing: 0", "field.spacing: got 0, expected at least 20", "mm"),
    changed("spacing negative", "spacing: 100", "spacing: -100", "field.spacing: got -100"),
    changed("spacing of a metre", "spacing: 100", "spacing: 1000", "expected at most 200", "mm"),
    changed("unknown look-up", "outside: error", "outside: perhaps", "expected error or zero"),
    changed(
        "no polarity",
        "polarities: [up, down]",
        "polarities: []",
        "polarities: got 0 entries, expected at least 1",
    ),
    changed("unknown polarity", "polarities: [up, down]", "polarities: [left]", "got the text 'left'"),
    changed("polarity twice", "polarities: [up, down]", "polarities: [up, up]", "an entry is there twice"),
    changed("no events", "training: 1000", "training: 0", "events.training: got 0, expected at least 1"),
    changed(
        "negative events", "training: 1000", "training: -5", "events.training: got -5, expected at least 1"
    ),
    changed(
        "10^12 events", "training: 1000", "training: 1000000000000", "expected at most 1e+08", "crossings"
    ),
    changed("pile-up 0", "pile_up: 5.5", "pile_up: 0", "events.pile_up: got 0, expected more than 0"),
    changed("pile-up 10^6", "pile_up: 5.5", "pile_up: 1.0e+6", "got 1e+06, expected at most 200", "HL-LHC"),
    changed("mats off by 200 mm", "scifi_mat: 0.06", "scifi_mat: 200", "scifi_mat: got 200", "at most 5 (mm"),
    changed(
        "shifts negative", "scifi_module: 0.08", "scifi_module: -1", "scifi_module: got -1", "at least 0"
    ),
    changed("noise times 0", ", UT: 1.0", ", UT: 0", "training.noise_scale.UT: got 0, expected at least"),
    changed("noise of an unknown step", "BEAM: 1.0", "BAEM: 1.0", "noise_scale.BAEM: unknown key"),
    changed("5 rows", "max_rows: 300000", "max_rows: 5", "training.max_rows: got 5, expected at least 1000"),
    changed("10 rays", "rays: 1500000", "rays: 10", "training.rays: got 10, expected at least 10000"),
    changed("99 passes", "passes: 2", "passes: 99", "training.closure.passes: got 99, expected at most 10"),
    changed("fits without parkf", "[parkf, parkf_robust, ", "[", "fits.of: expected parkf among the entries"),
    changed("unknown fit", "velo_only, full]", "velo_only, fast]", "got the text 'fast', expected parkf or"),
    changed("unknown precision", "precision: float32", "precision: float16", "expected float32 or float64"),
    changed("braces in a path", "run3.yaml", "{run3}.yaml", "detector.geometry: got the text", "wildcards"),
    changed("no path", "data/geometry/run3.yaml", "''", "detector.geometry: got the text ''"),
    changed(
        "no such geometry", "run3.yaml", "run4.yaml", "detector.geometry: data/geometry/run4.yaml: no such"
    ),
    changed(
        "no such alignment", "alignment_nominal", "x", "detector.alignment: data/geometry/x.yaml: no such"
    ),
    changed("field of an unknown kind", "dipole.json", "dipole.doc", "field.source: got the text", ".json"),
    changed(
        "no such field", "field/dipole.json", "field/map.npz", "field.source: data/field/map.npz: no such"
    ),
    changed(
        "no datasets", "datasets: simulate", "datasets: mine", "mine/V.parquet: no such file", "or simulate"
    ),
    Case(
        "configuration",
        "no start",
        edited(CONFIG, ("start_from: null", "start_from: results/x")),
        ("results/x/fits/V.json: no such file",),
    ),
    Case(
        "configuration",
        "the name of a neighbour, not its folder",
        edited(CONFIG, ("start_from: null", "start_from: null\n  neighbour: default")),
        ("default: no such folder; expected that of a run in training.neighbour",),
    ),
    changed(
        "validity ends before it begins",
        "run: default",
        "run: default\nvalidity: {first_run: 9, last_run: 3}",
        "validity: runs 9 to 3 ends before it begins",
    ),
    changed(
        "validity in runs and times",
        "run: default",
        "run: default\nvalidity: {first_run: 9, last_time: '2026-05-03T12:00Z'}",
        "limited in runs and in times",
    ),
    changed(
        "validity as a date",
        "run: default",
        "run: default\nvalidity: {first_time: 2026-05-03}",
        "validity.first_time: got a date, 2026-05-03, expected text",
        "write it in quotes",
    ),
    changed(
        "likeness of another polarity",
        "polarities: [up, down]",
        "polarities: [up]\nlikeness: {hits: a.parquet, tracks: b.parquet, polarity: down}",
        "likeness.polarity: got down, expected one of polarities: up",
    ),
    _family("empty", "", "family.yaml: got nothing"),
    _family("unknown key", _FAMILY + "condition: {a: {}}\n", "condition: unknown key", "mean 'conditions'?"),
    _family(
        "matrix and conditions", _FAMILY + "matrix: [{a: {}}]\nconditions: {a: {}}\n", "either matrix or"
    ),
    _family(
        "member twice", _FAMILY + "conditions:\n  a: {}\n  a: {}\n", "key 'a' is there twice, first in line 4"
    ),
    _family("member's name", _FAMILY + "conditions:\n  'a; ls': {}\n", "family.yaml:4", "a; ls"),
    _family(
        "family's name", _FAMILY.replace("fam\n", "../fam\n") + "conditions: {a: {}}\n", "family:", "../fam"
    ),
    _family("no base", "family: fam\nbase: x.yaml\nconditions: {a: {}}\n", "x.yaml: no such file"),
    _family(
        "member's own mistake",
        _FAMILY + "conditions:\n  a: {}\n  b:\n    events: {pile_up: -1}\n",
        "member b: family.yaml:6: events.pile_up: got -1, expected more than 0",
    ),
    _family(
        "member's file",
        _FAMILY + "conditions:\n  a: {detector: {alignment: x.yaml}}\n",
        "member a: family.yaml:4: detector.alignment: x.yaml: no such file",
    ),
    Case(
        "family", "missing", command("family", "members", "fam.yaml"), ("no such configuration of a family",)
    ),
    Case(
        "gates",
        "key twice",
        file("gates.yaml", "gates:\n- gate: a\n  gate: b\n", "gate", "run", "--gates", "gates.yaml"),
        ("gates.yaml:3", "key 'gate' is there twice"),
        2,
    ),
]


def _gate(wrong: str, entry: str, *says: str) -> Case:
    text = f"gates:\n  - {entry}\n"
    make = file("gates.yaml", text, "gate", "run", "--gates", "gates.yaml")
    return Case("gates", wrong, make, ("gates.yaml", *says), 2)


CASES += [
    _gate("no bound", "{gate: a, figure: 'validation.json: x', reason: r}", "at_least or at_most is missing"),
    _gate("unknown key", "{gate: a, figure: 'validation.json: x', at_mst: 1, reason: r}", "mean 'at_most'?"),
    _gate(
        "bounds cross", "{gate: a, figure: 'validation.json: x', at_most: 1, at_least: 2, reason: r}", "above"
    ),
    _gate("no such file", "{gate: a, figure: 'x.json: x', at_most: 1, reason: r}", "gates.0.figure"),
    _gate(
        "count with a point",
        "{gate: a, figure: 'validation.json: x', at_most: 1, count: 2.0, reason: r}",
        "count: got 2, expected a whole number",
        "write 2, without a decimal point",
    ),
    _gate("bound of text", "{gate: a, figure: 'validation.json: x', at_most: '1', reason: r}", "text '1'"),
]
