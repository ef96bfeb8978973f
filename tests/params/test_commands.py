"""`parkf params` as its users call it: its output, its exit codes, and the life of a set."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from kalman_toy import generate
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.fit import fit
from parkf.params import load
from parkf.params.exchange.parquet import NUMBERS
from parkf.params.exchange.signs import flipped_table
from parkf.params.imported import imported

from ..keys import new_key
from ..sets import toy_set

YEAR = "2026-run3-r001"


@pytest.fixture(scope="module")
def toy():
    return generate(10_000, 6000.0, seed=11, forms="production")


@pytest.fixture(scope="module")
def run(toy, tmp_path_factory):
    """A run's folder: a set that fits the toy's tracks, and figures that meet the gates."""
    folder = tmp_path_factory.mktemp("run")
    made = toy_set(toy)
    object.__setattr__(made, "manifest", made.manifest.model_copy(update={"detector": "run3"}))
    made.save(folder / "set")
    figures(folder, ghosts=0.25)
    (folder / "gates.yaml").write_text(GATES)
    return folder


GATES = """
gates:
  - {gate: ghosts, figure: "validation.json: ghost", at_most: 0.4, unit: "%", reason: Asked for.}
  - {gate: table, figure: "accuracy.json: table", at_most: 0.1, unit: mm, reason: As good as others.}
"""


def figures(folder, *, ghosts, of=None):
    measured = {
        "ghost": ghosts,
        "table": 0.05,
        "set": of or load(folder / "set").manifest.blobs.fingerprints(),
    }
    for name in ("validation", "accuracy"):
        (folder / f"{name}.json").write_text(json.dumps(measured))


@pytest.fixture
def params(run, tmp_path):
    """Call `parkf params …` with a separate registry and gates; return exit code and output."""

    def call(*arguments):
        options = ["--registry", str(tmp_path / "params")]
        if arguments[0] == "publish":
            options += ["--gates", str(run / "gates.yaml")]
        done = CliRunner().invoke(app, ["params", *map(str, arguments), *options])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return call


def test_publish_list_export_import_diff(run, params, tmp_path, toy):
    """After export and import, a set has identical numbers and fits 10,000 tracks identically."""
    assert params("publish", run / "set", "--year", 2026) == (0, f"published {tmp_path / 'params' / YEAR}\n")
    code, text = params("list", "--json")
    assert code == 0
    assert [(row["version"], row["state"], row["forms"]) for row in json.loads(text)] == [
        (YEAR, "published", "production")
    ]
    assert params("export", YEAR, tmp_path / "trigger")[0] == 0
    assert params("import", tmp_path / "trigger", tmp_path / "back")[0] == 0
    assert params("diff", YEAR, tmp_path / "back") == (0, "identical\n")
    code, text = params("diff", YEAR, tmp_path / "back", "--json")
    assert json.loads(text)["identical"] is True

    tracks = toy.candidates("float32")
    before, after = (fit(load(path), tracks) for path in (run / "set", tmp_path / "back"))
    for name in (
        "z",
        "x",
        "y",
        "tx",
        "ty",
        "qop",
        "xx",
        "qopqop",
        "chi2_velo",
        "chi2_ut",
        "chi2_scifi",
        "status",
    ):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    assert len(before.x) == 10_000
    assert (before.status == 0).mean() > 0.95


def test_a_misspelt_registry_is_not_an_empty_one(tmp_path):
    done = CliRunner().invoke(app, ["params", "list", "--registry", str(tmp_path / "parms")])
    assert done.exit_code == 1
    assert "parms: no such folder; expected a registry of sets" in " ".join(done.output.split())


def test_diff_shows_the_numbers_that_are_furthest_apart(run, params, tmp_path):
    other = load(run / "set")
    blocks = {b.name: other.block(b.name).copy() for b in other.layout.blocks}
    blocks["T"][:, :5] *= 1.01
    changed = imported(other.layout, blocks, other.table, other.manifest.constants, inputs={}, source="test")
    changed.save(tmp_path / "other")
    count = int((blocks["T"] != other.block("T")).sum())
    assert count > 20
    code, text = params("diff", run / "set", tmp_path / "other")
    assert code == 1
    content = json.loads(params("diff", run / "set", tmp_path / "other", "--json")[1])
    assert {(d["block"], d["set"]) for d in content["differences"]} >= {("T", "gap 3, y ≥ 0")}
    assert (content["other_formulas"], content["table"]) == ([], 0)
    lines = text.splitlines()
    begin = lines.index(f"{count} numbers differ; the 20 furthest apart:")
    # An empty line and heads come before the table, and an empty line comes behind it.
    assert lines[begin + 23] == ""
    assert all(line.startswith("T ") for line in lines[begin + 3 : begin + 23])


def test_show(run, params):
    code, text = params("show", run / "set", "--numbers")
    assert code == 0
    assert "production, layout 1" in text
    assert len([line for line in text.splitlines() if line.startswith("T ")]) == 22 * 12
    content = json.loads(params("show", run / "set", "--json")[1])
    number = content["layout"][1]["sets"][0]["numbers"][5]
    assert (number["name"], number["unit"], number["scale"], number["parity"]) == ("p5", "MeV", 10.0, -1)


def test_a_set_that_misses_a_gate_is_not_published(run, params, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    figures(tmp_path / "run", ghosts=0.5)
    code, text = params("publish", tmp_path / "run/set")
    assert code == 1
    assert "gates missed:\n  ghosts: 50 % (bar ≤ 40 %)" in text
    (tmp_path / "run/validation.json").unlink()
    assert params("publish", tmp_path / "run/set")[0] == 1
    (tmp_path / "run/set/global.f32").write_bytes(b"")
    code, text = params("validate", tmp_path / "run/set")
    assert code == 1
    assert "global.f32: 0 bytes, expected 960000" in text


def test_withdraw(run, params):
    params("publish", run / "set", "--year", 2026)
    assert params("withdraw", YEAR, "--reason", "wrong field")[0] == 0
    assert params("withdraw", YEAR, "--reason", "wrong field")[0] == 1
    assert json.loads(params("list", "--json")[1])[0]["state"] == "withdrawn"
    assert "withdrawn: wrong field" in params("show", YEAR)[1]


def test_a_signed_registry(run, params, tmp_path):
    key, folder = new_key(tmp_path / "key"), tmp_path / "params"
    code, text = params("sign", key)
    assert code == 1
    assert "index.json: no such file; publish a set first" in " ".join(text.split())
    assert params("publish", run / "set", "--year", 2026)[0] == 0
    assert params("sign", key) == (0, f"written {folder / 'index.json.sig'}\n")
    kind, blob, _ = key.with_suffix(".pub").read_text().split()
    (tmp_path / "signers").write_text(f"us {kind} {blob}\n")

    def verify(*options):
        done = CliRunner().invoke(app, ["verify", str(folder), *map(str, options)])
        return done.exit_code, str(done.exception)

    assert verify("--signers", tmp_path / "signers")[0] == 0
    assert params("withdraw", YEAR, "--reason", "wrong field")[0] == 0
    code, text = verify("--signers", tmp_path / "signers")
    assert code == 1
    assert "not us's signature of index.json" in text
    assert verify()[0] == 0


def test_a_published_set_can_be_pinned(run, params, tmp_path):
    """Its digest is the same wherever it is printed, and that of its binary form."""
    pinned = json.loads(params("publish", run / "set", "--year", 2026, "--json")[1])["sha256"]
    code, text = params("export", YEAR, tmp_path / "set.parkf", "--format", "binary")
    assert (code, text) == (0, f"exported to {tmp_path / 'set.parkf'}, sha256 {pinned}\n")
    assert hashlib.sha256((tmp_path / "set.parkf").read_bytes()).hexdigest() == pinned
    assert json.loads(params("show", YEAR, "--json")[1])["sha256"] == pinned
    assert json.loads(params("list", "--json")[1])[0]["sha256"] == pinned
    assert load(tmp_path / "params" / YEAR, sha256=pinned).sha256 == pinned


def test_a_broken_set_is_listed_as_such(run, params, tmp_path):
    params("publish", run / "set", "--year", 2026)
    blob = tmp_path / "params" / YEAR / "constant.f32"
    blob.chmod(0o644)
    blob.write_bytes(b"")
    code, text = params("list")
    assert code == 1
    assert "broken" in text
    assert "constant.f32: 0 bytes" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "2026-run3-r009"),
        ("show", "../.."),
        ("diff", "2026-run3-r009", "2026-run3-r008"),
        ("export", "/nowhere", "x"),
        ("import", "/nowhere", "x"),
        ("show",),
        ("frobnicate",),
    ],
)
def test_no_answer_is_two(params, arguments):
    assert params(*arguments)[0] == 2


def test_the_manifest_records_gates_with_figures(run, params):
    params("publish", run / "set", "--year", 2026)
    gates = json.loads(params("show", YEAR, "--json")[1])["gates"]
    assert gates[0] == {
        "what": "ghosts",
        "measured": "25 %",
        "bar": "≤ 40 %",
        "met": True,
        "figure": "validation.json: ghost",
        "value": 0.25,
        "at_least": None,
        "at_most": 0.4,
        "reason": "Asked for.",
    }
    assert len(gates) == 2


def test_figures_of_another_set_are_no_reason_to_publish(run, params, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    figures(tmp_path / "run", ghosts=0.1, of={"constant": "0" * 64, "table": "1" * 64})
    code, text = params("publish", tmp_path / "run/set")
    assert code == 1
    assert "validation.json: set.constant: got 000000000000…, expected" in text
    assert "the figures are those of another" in text
    assert not (tmp_path / "params").exists()


def test_export_parquet(run, params, tmp_path):
    """There is one row for each number, in the order of the blobs."""
    code, text = params("export", run / "set", tmp_path / "set.parquet", "--format", "parquet")
    assert code == 0
    assert f"warning: {run / 'set'}: not published; " in text
    assert "gates missed:\n  pull width of x: not measured (bar" in text
    with NUMBERS.open(tmp_path / "set.parquet") as file:
        rows = file.read().to_pandas()
    loaded = load(run / "set")
    inside = rows[rows.block == "SLICES"]
    assert len(inside) == (0 if loaded.slices is None else loaded.slices.maps.size)
    values = np.concatenate([loaded.constant, loaded.table.ravel(), inside["value"]])
    np.testing.assert_array_equal(rows["value"], values)
    kick = rows[(rows.block == "VUT") & (rows["index"] == 5)].iloc[0]
    assert (kick["name"], kick.unit, kick.scale, kick.parity) == ("p5", "MeV", 10.0, -1)
    assert not rows.duplicated(["block", "set", "index"]).any()
    table = rows[rows.block == "UTT"]
    # x00 tx00 x10 x01 tx10 tx01 y00 ty00 y10 y01 ty10 ty01, as in the trigger's text file
    heads = list(dict.fromkeys(name.split("[")[0] for name in table["name"][:80]))
    assert heads == ["x00", "tx00", "x10", "x01", "tx10", "tx01", "y00", "ty00", "y10", "y01", "ty10", "ty01"]
    assert list(table["name"][:2]) == ["x00[1]", "x00[2]"]
    assert (table.set.iloc[0], table.set.iloc[-1]) == ("bin 0,0", "bin 59,49")
    # When the table is converted to the other sign of h, each number is multiplied by its parity.
    header, flipped = flipped_table(loaded.block("UTT_META")[0], loaded.table)
    np.testing.assert_array_equal(flipped.ravel(), table["value"] * table.parity)
    meta = rows[rows.block == "UTT_META"]
    np.testing.assert_array_equal(header, meta["value"] * meta.parity)
