"""Fits, table and geometry become a set that describes itself; parts that do not fit together are refused."""

from pathlib import Path

import numpy as np
import pytest

from parkf.detector.field import FieldMap
from parkf.detector.geometry import load_geometry
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.model.layout import TABLE_SHAPE
from parkf.model.steps import FORMS
from parkf.params.validity import Interval, validity_of
from parkf.training.assembly import assemble
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.form import make_header
from parkf.training.result import FitResult, SetResult

ROOT = Path(__file__).parents[2]
STEPS = FORMS["improved"].steps
FITTED = ("extrapolation", "noise")
COUNT = FORMS["improved"].layout.constant_count
GEOMETRY = ROOT / "data/geometry/run3.yaml"
ALIGNMENT = ROOT / "data/geometry/alignment_nominal.yaml"


def _result(name: str, table: str | None) -> FitResult:
    step = STEPS[name]
    sets = [
        SetResult(
            label=label,
            rows=1000,
            values=[number + p.start for p in step.parameters],
            errors=[0.5 if p.kind in FITTED else None for p in step.parameters],
            minima=[],
            accuracy=[],
            profiles=[],
        )
        for number, label in enumerate(step.sets)
    ]
    used = table if name == "UTTF" else None
    formula = step.formula_hash()
    return FitResult(forms="improved", step=name, formula=formula, dataset="d" * 64, table=used, sets=sets)


@pytest.fixture
def inputs(tmp_path):
    """Fits, table and field of a run, and how to assemble them."""
    bends = dict.fromkeys(("bendx", "bendx_x2", "bendx_y2", "bendy_xy"), -29.5)
    header = make_header(FORMS["improved"].table, 2665.0, 7826.0, bends).numbers.astype(np.float32)
    coefficients = np.random.default_rng(1).normal(size=TABLE_SHAPE).astype(np.float32)
    table = tmp_path / "table.npz"
    MagnetTable(header, coefficients).save(table)
    for name in STEPS:
        _result(name, sha256(table)).save(tmp_path / "fits" / f"{name}.json")
    nothing = np.zeros((2, 2, 2, 3), np.float32)
    FieldMap(np.zeros(3), np.full(3, 100.0), nothing).save(tmp_path / "field.npz")
    return tmp_path


def _files(folder, alignment=ALIGNMENT):
    return folder / "fits", folder / "table.npz", GEOMETRY, alignment, folder / "field.npz"


def _assemble(folder, alignment=ALIGNMENT, **more):
    return assemble(*_files(folder, alignment), seed=5, **more)


def test_blocks_hold_fits_table_and_layers(inputs):
    parameters = _assemble(inputs)
    assert parameters.block("T")[3, 8] == pytest.approx(3 + STEPS["T"].parameters[8].start)
    assert parameters.block("UTT_META")[0, :4] == pytest.approx([2665, 7826, 1500, -29.5])
    layers = parameters.block("TLayer")
    assert layers[0, 0] == pytest.approx(7826, abs=1)
    assert layers[1] == pytest.approx(277.7, abs=0.1)  # dy/dz, as in LHCb's own set
    assert layers[2, :4] == pytest.approx([0, 0.08749, -0.08749, 0], abs=1e-4)
    assert layers[3] == pytest.approx(np.square(load_geometry(GEOMETRY).scifi.hit_errors))  # mm²
    assert parameters.block("UTLayer")[0] == pytest.approx([2327.5, 2372.5, 2597.5, 2642.5], abs=0.1)
    assert parameters.manifest.constants.velo_sigma == pytest.approx(0.0125, abs=2e-3)
    assert parameters.manifest.seeds == {"run": 5}


def test_the_manifest_says_what_data_the_set_is_for(inputs):
    assert str(Interval.of(_assemble(inputs).manifest.validity)) == "all data"
    manifest = _assemble(inputs, validity=validity_of({"first_run": 7})).manifest
    assert str(Interval.of(manifest.validity)) == "runs from 7 on"


def test_equal_inputs_give_equal_bytes(inputs, tmp_path):
    for name in ("one", "two"):
        _assemble(inputs).save(tmp_path / name)
    for file in ("constant.f32", "global.f32", "manifest.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_alignment_moves_the_layers(inputs, tmp_path):
    moved = tmp_path / "alignment.yaml"
    moved.write_text(ALIGNMENT.read_text().replace("scifi_layers: {}", "scifi_layers: {2: {z: 0.25}}"))
    shift = _assemble(inputs, moved).block("TLayer")[0] - _assemble(inputs).block("TLayer")[0]
    assert shift == pytest.approx([0, 0, 0.25, *[0] * 9], abs=1e-3)


def test_missing_set_is_refused(inputs):
    path = inputs / "fits/V.json"
    result = FitResult.load(path)
    result.model_copy(update={"sets": result.sets[:1]}).save(path)
    with pytest.raises(ParkfError, match=r"block V: \(1, 6\) numbers, expected \(2, 6\)"):
        _assemble(inputs)


def test_the_manifest_says_how_it_was_trained(inputs):
    made = assemble(
        *_files(inputs), seed=5, configuration={"seed": 5, "events": {"training": 80}}, inputs={"code": "abc"}
    )
    assert made.manifest.configuration == {"seed": "5", "events.training": "80"}
    assert made.manifest.inputs["code"] == "abc"
    assert _assemble(inputs).manifest.configuration is None


def test_a_set_holds_the_noise_of_a_fit(inputs, tmp_path):
    plain = _assemble(inputs)
    wide = _assemble(inputs, configuration={"training": {"noise_scale": {"UT": 1.1, "BEAM": 1.2}}})
    assert wide.manifest.configuration == {
        "training.noise_scale.UT": "1.1",
        "training.noise_scale.BEAM": "1.2",
    }
    for block in ("V", "VUT", "UTTF", "TFT", "T", "TLayer"):
        assert (wide.block(block) == plain.block(block)).all()
    widths = [p.kind == "noise" and "correlation" not in p.text for p in STEPS["UT"].parameters]
    np.testing.assert_allclose(wide.block("UT"), plain.block("UT") * np.where(widths, 1.1, 1.0), rtol=1e-6)
    assert wide.block("BEAM")[:, 0] == pytest.approx(plain.block("BEAM")[:, 0] * 1.44)
    # A number and its error grow by the same factor, in every file that holds the error.
    wide.save(tmp_path / "set")
    described = next(block for block in wide.manifest.layout if block.name == "UT")
    told = [number.error for one in described.sets for number in one.numbers]
    assert sorted({error for error in told if error is not None}) == pytest.approx([0.5, 0.55])


def test_the_first_gap_has_the_noise_of_the_step_before_it(inputs):
    plain = _assemble(inputs)
    wide = _assemble(inputs, configuration={"training": {"noise_scale": {"TFT": 3.0}}})
    widths = [p.kind == "noise" and "correlation" not in p.text for p in STEPS["T"].parameters]
    np.testing.assert_allclose(
        wide.block("T")[0], plain.block("T")[0] * np.where(widths, 3.0, 1.0), rtol=1e-6
    )
    np.testing.assert_array_equal(wide.block("T")[1:], plain.block("T")[1:])


def test_a_closed_table_goes_with_the_numbers_that_it_was_closed_with(inputs, tmp_path):
    plain = _assemble(inputs)
    other = np.random.default_rng(2).normal(size=TABLE_SHAPE).astype(np.float32)
    header = plain.block("UTT_META")[0]
    closed = tmp_path / "closed.npz"
    MagnetTable(header, other, closed_with=plain.manifest.blobs.constant.sha256).save(closed)
    made = _assemble(inputs, closed=closed, seeds={"closure_up": 7})
    np.testing.assert_array_equal(made.table, other)
    np.testing.assert_array_equal(made.constant, plain.constant)
    assert made.manifest.inputs["table"] == plain.manifest.inputs["table"]
    assert made.manifest.inputs["closed table"] == sha256(closed)
    assert made.manifest.seeds == {"run": 5, "closure_up": 7}
    with pytest.raises(ParkfError, match="closed with other fits, noise or table than these; close"):
        _assemble(inputs, closed=closed, configuration={"training": {"noise_scale": {"UT": 1.1}}})
    MagnetTable(header, other).save(closed)
    with pytest.raises(ParkfError, match="closed with other fits, noise or table than these; close"):
        _assemble(inputs, closed=closed)


def test_no_factor_is_one(inputs):
    plain = _assemble(inputs)
    for configuration in (None, {}, {"training": {"rays": 1}}, {"training": {"noise_scale": {"V": 1.0}}}):
        assert _assemble(inputs, configuration=configuration).manifest.blobs == plain.manifest.blobs
