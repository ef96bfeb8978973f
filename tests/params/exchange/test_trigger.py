"""The trigger's two files: exact in both directions, refused if incomplete, and used in its arithmetic."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.params.comparison import compare
from parkf.params.exchange import export_trigger, import_trigger
from parkf.params.exchange.signs import convert_table, flipped_table
from parkf.params.exchange.trigger import read_table
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.params.rich import RichConstants, rich_blocks

STEPS = FORMS["production"].steps


@pytest.fixture
def files(parameters, tmp_path):
    export_trigger(parameters, tmp_path)
    return tmp_path


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_set_survives_the_round_trip_to_the_bit(parameters, files, tmp_path):
    back = import_trigger(files)
    assert back.constant.tobytes() == parameters.constant.tobytes()
    assert back.table.tobytes() == parameters.table.tobytes()
    assert back.manifest.constants == parameters.manifest.constants
    assert compare(parameters, back).identical
    export_trigger(back, tmp_path / "again")
    for name in ("params.json", "params_UTT_v0.tab", "parkf.json", "constants.hpp"):
        assert (tmp_path / "again" / name).read_bytes() == (files / name).read_bytes()


@pytest.fixture
def with_rich(parameters):
    """The set with constants for the RICH planes, all of them different."""
    blocks = {
        name: (100 * i + np.arange(1, np.prod(block.shape) + 1)).reshape(block.shape) / 8
        for i, (name, block) in enumerate(rich_blocks().items())
    }
    rich = RichConstants.of(blocks, {})
    return with_blobs(parameters.manifest, parameters.constant, parameters.table, rich=rich)


def test_rich_constants_survive_the_round_trip(with_rich, parameters, tmp_path):
    export_trigger(with_rich, tmp_path)
    back = import_trigger(tmp_path)
    assert back.rich.numbers.tobytes() == with_rich.rich.numbers.tobytes()
    assert compare(with_rich, back).identical
    lost = compare(with_rich, parameters)
    assert {one.block for one in lost.differences} == set(rich_blocks())
    edit(tmp_path / "parkf.json", lambda content: content.pop("RICH2"))
    with pytest.raises(ParkfError, match=r"parkf.json: RICH2: missing, expected beside RICH1"):
        import_trigger(tmp_path)


def test_the_header_has_the_constants_of_the_trigger_s_code(with_rich, tmp_path):
    """The header can be parsed and compiled, and the VELO's kick in it has the trigger's sign."""
    export_trigger(with_rich, tmp_path)
    text = (tmp_path / "constants.hpp").read_text()
    arrays = {
        name: [float(word) for word in words.replace("f", "").split(", ")]
        for name, words in re.findall(r"float PAR_(\w+)\[\d+\] = \{(.*)\};", text)
    }
    entry, leaving = with_rich.rich.block("RICH1")
    sign = np.where(np.isin(np.arange(15), (5, 6, 7)), -1, 1)
    np.testing.assert_array_equal(arrays["RICH1_F"], entry * sign)
    np.testing.assert_array_equal(arrays["RICH1_B"], leaving * sign)
    for name, row in zip(("RICH2_F", "RICH2_B"), with_rich.rich.block("RICH2"), strict=True):
        np.testing.assert_array_equal(arrays[name], row)
    planes = re.findall(r"float (RICH\w+)_zTo = (\d+)\.f;", text)
    assert planes == [("RICH1_F", "990"), ("RICH1_B", "2165"), ("RICH2_F", "9450"), ("RICH2_B", "11900")]
    cms = re.search(r"VPHit2ClosestToBeam_cms = (.*)f;", text)[1]
    assert np.float32(cms) == with_rich.block("BEAM")[1, 0]
    source = tmp_path / "main.cpp"
    source.write_text(
        '#include "constants.hpp"\nint main() { return ParKalmanFilter::PAR_RICH2_B[11] != 15.5f; }\n'
    )
    compiler = next(c for c in ("c++", "g++", "clang++") if shutil.which(c))
    command = [
        compiler,
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        str(source),
        "-o",
        str(tmp_path / "main"),
    ]
    subprocess.run(command, check=True)
    subprocess.run([str(tmp_path / "main")], check=True)


def test_the_files_are_the_trigger_s(parameters, files):
    content = json.loads((files / "params.json").read_text())
    shapes = {key: (len(rows), len(rows[0])) for key, rows in content.items()}
    assert shapes == {
        "VParams": (2, 6),
        "VUTParams": (1, 15),
        "UTParams": (6, 12),
        "UTTFParams": (1, 20),
        "UTT_META": (1, 19),
        "TFTParams": (1, 4),
        "TParams": (22, 12),
        "TLayer": (4, 12),
        "UTLayer": (1, 4),
    }
    assert content["TParams"][3][4] == pytest.approx(parameters.block("T")[3, 4], abs=1e-6)
    # The kick has the opposite sign.
    assert content["VUTParams"][0][5] == pytest.approx(-parameters.block("VUT")[0, 5])
    lines = (files / "params_UTT_v0.tab").read_text().splitlines()
    assert lines[0] == "2665 7826 1500 -29.5 -35 310 -140 0.3 0.25 2500 0.005"
    assert lines[1] == "60 50 1 1 7 9 5 7"
    first = np.array(lines[2].split(), dtype=float)
    assert len(lines) == 2 + 3000
    assert first[0] == pytest.approx(parameters.table[0, 0, 0])
    # The slopes tx and ty are in units of 1e-3.
    layout = FORMS["production"].layout
    slopes = np.concatenate([np.full(one.degree, one.component in ("tx", "ty")) for one in layout.pieces])
    assert first == pytest.approx(np.where(slopes, 1e3, 1.0) * parameters.table[0, 0])


def test_a_table_for_the_other_sign_of_h_is_turned(parameters, files, tmp_path):
    """Public tables from before 2025 use h' = −pol·q/p, so their bendx is +29.5."""
    header, table = flipped_table(parameters.block("UTT_META")[0], parameters.table)
    assert header[3] == 29.5
    constant = parameters.constant.copy()
    constant[parameters.layout.block_slice("UTT_META")] = header
    old = ParameterSet(constant, table, parameters.manifest)
    export_trigger(old, tmp_path / "old")
    back = import_trigger(tmp_path / "old")
    assert back.table.tobytes() == parameters.table.tobytes()
    assert back.constant.tobytes() == parameters.constant.tobytes()


@pytest.mark.parametrize(
    ("positive", "turned"), [(0, False), (300, False), (301, None), (1500, None), (2699, None), (2700, True)]
)
def test_a_tenth_of_the_bins_may_bend_the_other_way(parameters, positive, turned):
    header, table = parameters.block("UTT_META")[0], parameters.table.copy()
    kick = table[..., 9].copy()
    assert (kick < 0).all()
    kick.flat[:positive] *= -1
    table[..., 9] = kick
    if turned is None:
        with pytest.raises(ParkfError, match=rf"there: tx00\[1\] is positive in {positive / 30:.0f} % of"):
            convert_table("there", header, table)
        return
    other_header, other = convert_table("there", header, table)
    np.testing.assert_array_equal(other[..., 9], -kick if turned else kick)
    # The four numbers of the mean kick in the header change sign, too.
    bends = [29.5, 35, -310, 140] if turned else [-29.5, -35, 310, -140]
    np.testing.assert_array_equal(other_header[3:7], np.float32(bends))
    np.testing.assert_array_equal(np.delete(other_header, slice(3, 7)), np.delete(header, slice(3, 7)))


def test_blocks_for_the_other_sign_of_h_are_turned(parameters, files):
    def turn(content):
        for key, name in (("VParams", "V"), ("VUTParams", "VUT"), ("UTParams", "UT"), ("UTTFParams", "UTTF")):
            _turn(content[key], STEPS[name])
        for key, name in (("TFTParams", "TFT"), ("TParams", "T")):
            _turn(content[key], STEPS[name])

    edit(files / "params.json", turn)
    assert import_trigger(files).constant.tobytes() == parameters.constant.tobytes()


def _turn(rows, step):
    for row in rows:
        row[:] = [value * p.parity for value, p in zip(row, step.parameters, strict=True)]


def test_what_the_trigger_lacks_comes_from_a_named_set(parameters, files):
    (files / "parkf.json").unlink()
    with pytest.raises(ParkfError, match=r"parkf\.json: no such file; .* lack block BEAM"):
        import_trigger(files)
    back = import_trigger(files, rest=parameters, ut_rows="2026")
    assert back.constant.tobytes() == parameters.constant.tobytes()


def test_both_orders_of_backward_rows_are_served(parameters, tmp_path):
    """Code of 2026 reads row 6 − n for the n-th gap from outside; older files have it in row 2 + n."""
    ours = parameters.block("UT")
    for order, outer in (("2026", 5), ("older", 3)):
        folder = tmp_path / order
        export_trigger(parameters, folder, ut_rows=order)
        rows = json.loads((folder / "params.json").read_text())["UTParams"]
        # Our last backward set belongs to the gap 3→2.
        for n in (1, 2, 3):
            row = 6 - n if order == "2026" else 2 + n
            assert rows[row] == pytest.approx(ours[6 - n].tolist(), abs=1e-6)
        assert rows[outer] == pytest.approx(ours[5].tolist(), abs=1e-6)
        assert import_trigger(folder).constant.tobytes() == parameters.constant.tobytes()
        assert import_trigger(folder, ut_rows=order).constant.tobytes() == parameters.constant.tobytes()
    with pytest.raises(ParkfError, match="ut_rows: got '2026', expected 'older' of this file"):
        import_trigger(tmp_path / "older", ut_rows="2026")


def test_an_order_that_nobody_knows_is_refused(parameters, files):
    edit(files / "parkf.json", lambda content: content.pop("ut_rows"))
    # Files of earlier versions have the older order and no such key.
    np.testing.assert_array_equal(import_trigger(files).block("UT")[[3, 5]], parameters.block("UT")[[5, 3]])
    edit(files / "parkf.json", lambda content: content.update(ut_rows="newest"))
    with pytest.raises(ParkfError, match="ut_rows: got the text 'newest', expected '2026' or 'older'"):
        import_trigger(files)
    (files / "parkf.json").unlink()
    with pytest.raises(ParkfError, match=r"which of the backward rows 3 and 5 .* name it with --ut-rows"):
        import_trigger(files, rest=parameters)


def test_only_production_s_forms_are_exported(parameters, tmp_path):
    manifest = parameters.manifest.model_copy(update={"forms": "improved"})
    with pytest.raises(ParkfError, match="forms 'improved', expected 'production'"):
        export_trigger(ParameterSet(parameters.constant, parameters.table, manifest), tmp_path)


BAD_JSON = {
    "short row": (lambda c: c["UTTFParams"][0].pop(), r"UTTFParams.0: got 19 entries, expected at least 20"),
    "missing block": (lambda c: c.pop("TLayer"), r"TLayer: missing; expected a value"),
    "other block": (
        lambda c: c.update(VParams_MagDown=[]),
        r"unknown key 'VParams_MagDown'; did you mean 'VParams'",
    ),
    "text": (
        lambda c: c["VParams"][1].__setitem__(2, "1.5x"),
        r"VParams.1.2: got the text '1.5x', expected a number",
    ),
    "too large": (
        lambda c: c["VParams"][1].__setitem__(2, 1e39),
        r"got 1e\+39, expected at most 3402823",
    ),
    "other header": (
        lambda c: c["UTT_META"][0].__setitem__(3, 1),
        r"bendx: got -29.5, expected 1 of UTT_META",
    ),
    "bends against": (
        lambda c: c["TParams"][4].__setitem__(4, 0.5),
        r"block T set 4 index 4: 0.5 bends against .*expected one sign of h",
    ),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json_is_refused(files, name):
    change, message = BAD_JSON[name]
    edit(files / "params.json", change)
    with pytest.raises(ParkfError, match=message):
        import_trigger(files)


def test_a_block_that_is_there_twice_is_refused(files):
    path = files / "params.json"
    path.write_text(path.read_text().replace("{", '{"VParams": [],', 1))
    with pytest.raises(ParkfError, match=r"params\.json: .* key .VParams. is there twice"):
        import_trigger(files)


BAD_TABLE = {
    "cut": (lambda t: t[:-200], r"\d+ coefficients, expected 240000"),
    "short header": (lambda t: t.replace(" 0.005\n", "\n", 1), r"header line 1: 10 values, expected 11"),
    "other bins": (lambda t: t.replace("60 50", "60 51", 1), r"header, nbin_y: got 51, expected 50"),
    "NaN": (lambda t: _word(t, 5, "nan"), r"index 0,0,5: got nan, expected a number"),
    "garbage": (lambda t: _word(t, 5, "0,5"), r"'0,5', expected numbers"),
    "empty": (lambda t: "", r"header line 1: 0 values, expected 11"),
}


def _word(text, number, word):
    first, second, line, rest = text.split("\n", 3)
    words = line.split()
    words[number] = word
    return "\n".join([first, second, " ".join(words), rest])


@pytest.mark.parametrize("name", BAD_TABLE)
def test_a_bad_table_is_refused(files, name):
    change, message = BAD_TABLE[name]
    path = files / "params_UTT_v0.tab"
    path.write_text(change(path.read_text()))
    with pytest.raises(ParkfError, match=message):
        read_table(path)


# The trigger's arithmetic, written down from the reference and used here only.


def trigger_vut(p, r):
    """V→UT: 2·tx − sgn(tx)·|s'|·√((1+ty'²)/(1−s'²))."""
    h = r["polarity"] * r["qop"]
    tx, ty = r["tx0"], r["ty0"]
    ty1 = ty + p[0] * h * tx * np.copysign(1, r["y0"])
    s1 = tx / np.sqrt(1 + tx**2 + ty**2) + h * (10 * p[5] + 1e-2 * p[6] * r["z0"] + 1e2 * p[7] * ty**2)
    return 2 * tx - np.sign(tx) * np.abs(s1) * np.sqrt((1 + ty1**2) / (1 - s1**2))


def trigger_ut_ty(p, r, tx1):
    """UT: the vertical kick uses the new slope."""
    return r["ty0"] + p[7] * r["polarity"] * r["qop"] * tx1 * np.copysign(1, r["y0"])


def sample(momentum, z0, z1):
    random = np.random.default_rng(5)
    n = 4000
    slope, phi = 1 / np.sinh(random.uniform(2, 5, n)), random.uniform(0, 2 * np.pi, n)
    tx, ty = slope * np.cos(phi), slope * np.sin(phi)
    qop = random.choice([-1, 1], n) / momentum
    columns = {"tx0": tx, "ty0": ty, "x0": tx * z0, "y0": ty * z0, "qop": qop}
    polarity = random.choice([-1.0, 1.0], n)
    return columns | {"polarity": polarity, "z0": np.full(n, z0), "z1": np.full(n, z1)}


# Limits on the largest |difference| over the scattering. It is of second order, so it falls as 1/p.
@pytest.mark.parametrize(("momentum", "bar"), [(1500.0, 0.20), (5000.0, 0.06), (50_000.0, 0.006)])
def test_the_exported_kick_is_the_set_s_but_for_second_order(files, parameters, momentum, bar):
    p = np.array(json.loads((files / "params.json").read_text())["VUTParams"][0])
    rows = sample(momentum, 700.0, 2327.5)
    ours = numpy_step(STEPS["VUT"])
    numbers = parameters.block("VUT")[0].astype(float)
    tx = ours.predict(numbers, rows)[2]
    sigma = ours.noise(numbers, rows)["tx"]
    # Where the kick exceeds the slope, the trigger folds the track, and its state is no approximation.
    kept = np.abs(rows["tx0"]) > 1.2 * np.abs(tx - rows["tx0"])
    assert kept.mean() > 0.4
    assert np.abs((trigger_vut(p, rows) - tx) / sigma)[kept].max() < bar


@pytest.mark.parametrize(("momentum", "bar"), [(1500.0, 0.05), (50_000.0, 0.002)])
def test_the_vertical_kick_differs_in_second_order_only(parameters, momentum, bar):
    p = parameters.block("UT")[1].astype(float)
    p[7] = -5.0  # the trained value for the long gap
    rows = sample(momentum, 2372.5, 2597.5)
    ours = numpy_step(STEPS["UT"])
    _, _, tx, ty = ours.predict(p, rows)
    difference = (trigger_ut_ty(p, rows, tx) - ty) / ours.noise(p, rows)["ty"]
    assert np.abs(difference).max() < bar
