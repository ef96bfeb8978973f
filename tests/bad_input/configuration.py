"""Bad configurations of runs and families."""

from collections.abc import Sequence
from pathlib import Path

from .case import CHECK, ROOT, Case, command, edited, file, project, written

BASE = (ROOT / "workflow/config/default.yaml").read_text()
CONFIG = "run.yaml"


def changed(wrong: str, old: str, new: str) -> Case:
    return Case("configuration", wrong, edited(CONFIG, (old, new)))


def text(wrong: str, content: str | bytes) -> Case:
    return Case("configuration", wrong, written(CONFIG, content))


def _folder(folder: Path) -> Sequence[str | Path]:
    project(folder)
    (folder / CONFIG).unlink()
    (folder / CONFIG).mkdir()
    return CHECK


def _family(wrong: str, content: str) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        project(folder)
        (folder / "family.yaml").write_text(content)
        return ("check", "family.yaml", "--family", *CHECK[2:])

    return Case("family", wrong, make)


_FAMILY = "family: fam\nbase: run.yaml\n"
_DATA = "{candidates: [x.parquet], placed: data/geometry/alignment_nominal.yaml, pairs: {}, survey: {x: 0.1}}"

CASES = [
    text("data of a calibration that are missing", f"{BASE}calibration: {_DATA}\n"),
    text(
        "decays that are not simulated",
        f"{BASE}calibration: {_DATA}\n".replace("x.parquet", CONFIG).replace("{}", f"{{jpsi: [{CONFIG}]}}"),
    ),
    text("a survey of what is no freedom", f"{BASE}calibration: {_DATA}\n".replace("{x: 0.1}", "{w: 0.1}")),
    Case("configuration", "missing", command("check", "workflow/config/nosuch.yaml")),
    Case("configuration", "a folder", _folder),
    text("empty", ""),
    text("extends what there is not", "extends: defualt\nrun: x\n"),
    text("extends itself", "run: x\nextends: run\n"),
    text("a list", "- run\n- seed\n"),
    text("plain text", "seed 5\n"),
    text("not closed", "polarities: [up, down\nseed: 5\n"),
    text("indented with a tab", BASE.replace("  training: 1000", "\ttraining: 1000")),
    text("key twice", BASE + "seed: 5\n"),
    changed("nested key twice", "pile_up: 5.5", "training: 5"),
    text("no UTF-8", BASE.encode() + "# Größe\n".encode("latin-1")),
    text("UTF-16", BASE.encode("utf-16")),
    text("a zero byte", "seed: 5\x00\n"),
    text("nested 100,000 deep", "run: " + "[" * 100_000),
    text("an alias of itself", "run: &a [*a]\n"),
    text(
        "aliases that multiply",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
        ),
    ),
    text("an object of Python's", "run: !!python/object/apply:os.system [touch x]\n"),
    text("a merge key", "base: &b {x: 1}\nrun: {<<: *b}\n"),
    text("two documents", BASE + "---\nseed: 5\n"),
    text("a list for a key", "? [1, 2]\n: 5\n"),
    text("17 MB", b"# " + b"x" * (17 << 20)),
    text("a template language", "__use_yte__: true\n" + BASE),
    changed("integer of 5,000 digits", "seed: 2026", "seed: " + "9" * 5000),
    changed("integer of 30 digits", "seed: 2026", "seed: 1" + 29 * "0"),
    changed("NaN", "pile_up: 5.5", "pile_up: .nan"),
    changed("infinite", "pile_up: 5.5", "pile_up: .inf"),
    changed("unknown key", "forms: production", "froms: production"),
    changed("unknown nested key", "training: 1000", "trainnig: 1000"),
    changed("key missing", "seed: 2026", ""),
    changed("nested key missing", "  pile_up: 5.5", ""),
    changed("section of text", "run: default", "run: default\nvalidity: always"),
    changed("seed of text", "seed: 2026", "seed: '2026'"),
    changed("seed of a fraction", "seed: 2026", "seed: 1.5"),
    changed("seed negative", "seed: 2026", "seed: -1"),
    changed("exponent that YAML takes for text", "pile_up: 5.5", "pile_up: 1e1"),
    changed("base sixty", "seed: 2026", "seed: 1:30"),
    changed("octal", "seed: 2026", "seed: 0777"),
    changed("seed with a point", "seed: 2026", "seed: 5.0"),
    changed("truth for a number", "pile_up: 5.5", "pile_up: yes"),
    changed("number for a name", "run: default", "run: 5"),
    changed("'no' for a name", "run: default", "run: no"),
    changed("name with a slash", "run: default", "run: a/b"),
    changed("name that leads upwards", "run: default", "run: .."),
    changed("name with a blank", "run: default", "run: my run"),
    changed("name of two lines", "run: default", 'run: "a\\nb"'),
    changed("name of 300 letters", "run: default", "run: " + "a" * 300),
    changed("unknown forms", "forms: production", "forms: best"),
    changed("spacing 0", "spacing: 100", "spacing: 0"),
    changed("spacing negative", "spacing: 100", "spacing: -100"),
    changed("spacing of a metre", "spacing: 100", "spacing: 1000"),
    changed("unknown look-up", "outside: error", "outside: perhaps"),
    changed("no polarity", "polarities: [up, down]", "polarities: []"),
    changed("unknown polarity", "polarities: [up, down]", "polarities: [left]"),
    changed("polarity twice", "polarities: [up, down]", "polarities: [up, up]"),
    changed("no events", "training: 1000", "training: 0"),
    changed("negative events", "training: 1000", "training: -5"),
    changed("10^12 events", "training: 1000", "training: 1000000000000"),
    changed("pile-up 0", "pile_up: 5.5", "pile_up: 0"),
    changed("pile-up 10^6", "pile_up: 5.5", "pile_up: 1.0e+6"),
    changed("mats off by 200 mm", "scifi_mat: 0.06", "scifi_mat: 200"),
    changed("shifts negative", "scifi_module: 0.08", "scifi_module: -1"),
    changed("noise times 0", ", UT: 1.0", ", UT: 0"),
    changed("noise of an unknown step", "BEAM: 1.0", "BAEM: 1.0"),
    changed("5 rows", "max_rows: 300000", "max_rows: 5"),
    changed("10 rays", "rays: 1500000", "rays: 10"),
    changed("99 passes", "passes: 2", "passes: 99"),
    changed("fits without parkf", "[parkf, parkf_robust, ", "["),
    changed("unknown fit", "trigger, full]", "trigger, fast]"),
    changed("unknown precision", "precision: float32", "precision: float16"),
    changed("braces in a path", "run3.yaml", "{run3}.yaml"),
    changed("no path", "data/geometry/run3.yaml", "''"),
    changed("no such geometry", "run3.yaml", "run4.yaml"),
    changed("no such alignment", "alignment_nominal", "x"),
    changed("field of an unknown kind", "lhcb.json", "dipole.doc"),
    changed("no such field", "field/lhcb.json", "field/map.npz"),
    changed("no datasets", "datasets: simulate", "datasets: mine"),
    Case(
        "configuration",
        "the name of a neighbour, not its folder",
        edited(CONFIG, ("datasets: simulate", "datasets: simulate\n  neighbour: default")),
    ),
    changed(
        "validity ends before it begins",
        "run: default",
        "run: default\nvalidity: {first_run: 9, last_run: 3}",
    ),
    changed(
        "validity in runs and times",
        "run: default",
        "run: default\nvalidity: {first_run: 9, last_time: '2026-05-03T12:00Z'}",
    ),
    changed("validity as a date", "run: default", "run: default\nvalidity: {first_time: 2026-05-03}"),
    changed(
        "likeness of another polarity",
        "polarities: [up, down]",
        "polarities: [up]\nlikeness: {hits: a.parquet, tracks: b.parquet, polarity: down}",
    ),
    _family("empty", ""),
    _family("unknown key", _FAMILY + "condition: {a: {}}\n"),
    _family("rounds and conditions", _FAMILY + "rounds: 2\nconditions: {a: {}}\n"),
    _family("member twice", _FAMILY + "conditions:\n  a: {}\n  a: {}\n"),
    _family("member's name", _FAMILY + "conditions:\n  'a; ls': {}\n"),
    _family("family's name", _FAMILY.replace("fam\n", "../fam\n") + "conditions: {a: {}}\n"),
    _family("no base", "family: fam\nbase: x.yaml\nconditions: {a: {}}\n"),
    _family("member's own mistake", _FAMILY + "conditions:\n  a: {}\n  b:\n    events: {pile_up: -1}\n"),
    _family("member's file", _FAMILY + "conditions:\n  a: {detector: {alignment: x.yaml}}\n"),
    Case("family", "missing", command("check", "--family", "fam.yaml")),
    Case(
        "gates",
        "key twice",
        file("gates.yaml", "gates:\n- gate: a\n  gate: b\n", "gate", "run", "--gates", "gates.yaml"),
        2,
    ),
]


def _gate(wrong: str, entry: str) -> Case:
    text = f"gates:\n  - {entry}\n"
    make = file("gates.yaml", text, "gate", "run", "--gates", "gates.yaml")
    return Case("gates", wrong, make, 2)


CASES += [
    _gate("no bound", "{gate: a, figure: 'validation.json: x', reason: r}"),
    _gate("unknown key", "{gate: a, figure: 'validation.json: x', at_mst: 1, reason: r}"),
    _gate("bounds cross", "{gate: a, figure: 'validation.json: x', at_most: 1, at_least: 2, reason: r}"),
    _gate("no such file", "{gate: a, figure: 'x.json: x', at_most: 1, reason: r}"),
    _gate("count with a point", "{gate: a, figure: 'validation.json: x', at_most: 1, count: 2.0, reason: r}"),
    _gate("bound of text", "{gate: a, figure: 'validation.json: x', at_most: '1', reason: r}"),
]
