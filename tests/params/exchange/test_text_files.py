"""LHCb's own set of an earlier layout: the right numbers are used, and it bends tracks as our sets do."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.params.exchange import import_text_files
from parkf.params.exchange.text_files import FILES

LHCB = Path(__file__).parents[4] / "shared/reference/lhcb_params"


@pytest.fixture
def files(tmp_path):
    """Made-up files: number j of line i is 100·i + j, with the sign of MagDown's leading terms."""
    for file in FILES:
        lines = []
        for i in range(file.lines):
            numbers = [100 * i + j + 1 for j in range(file.numbers)]
            if file.block == "VUT":
                numbers[8] *= -1
            lines.append(f"{file.label}_{i}_300: " + " ".join(map(str, numbers)))
        (tmp_path / file.name).write_text("\n".join(lines) + "\n\n")
    return tmp_path


def test_files_are_as_long_as_lhcb_s():
    """Lines and numbers in a line of the files that came with the trigger's code before 2026."""
    lengths = {file.name.split("_")[1].removesuffix(".txt"): (file.lines, file.numbers) for file in FILES}
    assert lengths == {
        **{"predictV": (2, 21), "predictVUT": (2, 30), "predictUT": (6, 18), "predictUTFUT": (1, 2)},
        **{"predictUTTF": (2, 21), "predictTFT": (2, 18), "predictT": (44, 18)},
        **{"TLayer": (2, 12), "UTLayer": (1, 4)},
    }
    # Numbers of a set that do not exist in the file cannot be used.
    for file in FILES:
        assert max(file.used, default=0) < file.numbers
        assert max(file.used_lines, default=0) < file.lines


def test_used_numbers_go_where_they_belong(files, parameters):
    found = import_text_files(files, rest=parameters)
    # Numbers that are odd in h were written for h' = −pol·q/p.
    assert found.block("T")[21].tolist() == [
        2101,
        2103,
        2104,
        2105,
        -2106,
        -2107,
        -2108,
        2111,
        2113,
        2115,
        2116,
        2118,
    ]
    assert found.block("UT")[3, 0] == 501  # backward, from the second layer to the first
    assert found.block("UT")[5, 7] == -311
    assert found.block("V")[1].tolist() == [102, 103, -105, 106, 107, 108]
    assert found.block("VUT")[0, [0, 5, 6, 10, 14]].tolist() == [-1, -9, 10, 18_000, 22]
    assert found.block("TFT")[0].tolist() == [1, -6, -7, 9]
    assert found.block("UTTF")[0, [0, 7, 12, 19]].tolist() == [-1, 8, 13, 20]
    assert found.block("UTLayer").tolist() == [[1, 2, 3, 4]]
    assert (found.block("TLayer")[2:] == parameters.block("TLayer")[2:]).all()
    assert (found.block("BEAM") == parameters.block("BEAM")).all()
    assert found.table.tobytes() == parameters.table.tobytes()


def _drop_number(text):
    return text.rstrip().rsplit(" ", 1)[0]


BAD = {
    "short line": (_drop_number, r"params_predictT\.txt: line 44: 17 values, expected 18"),
    "line missing": (lambda t: t.split("\n", 1)[1], r"params_predictT\.txt: 43 lines, expected 44"),
    "other label": (
        lambda t: t.replace("TParams_3_", "TParams_4_"),
        r"line 4: label 'TParams_4_300:', expected",
    ),
    "garbage": (lambda t: t.replace(" 5 ", " x "), r"line 1 number 4: got 'x', expected a number"),
    "NaN": (lambda t: t.replace(" 5 ", " nan "), r"line 1 number 4: got 'nan', expected a finite number"),
    "bends against": (lambda t: t.replace(" 6 ", " -6 "), r"block T set 0 index 4: -6 bends against"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(files, parameters, name):
    change, message = BAD[name]
    path = files / "params_predictT.txt"
    path.write_text(change(path.read_text()))
    with pytest.raises(ParkfError, match=message):
        import_text_files(files, rest=parameters)


def test_a_missing_file_is_named(files, parameters):
    (files / "params_UTLayer.txt").unlink()
    with pytest.raises(ParkfError, match=r"params_UTLayer\.txt: no such file"):
        import_text_files(files, rest=parameters)


@pytest.mark.skipif(not LHCB.is_dir(), reason="LHCb's text files are not here")
def test_lhcb_s_set_is_a_dipole_s(tmp_path, parameters):
    shutil.copytree(LHCB, tmp_path / "lhcb")
    found = import_text_files(tmp_path / "lhcb", rest=parameters)
    # Field and scattering of a detector like ours: 0.1·p4 = −κ·By.
    by = -found.block("UT")[:, 4] * 0.1 / 0.299792458
    assert ((by > 0.1) & (by < 0.25)).all()
    np.testing.assert_allclose(by[:3], by[3:], rtol=1e-4)  # the same gaps backward
    assert found.block("VUT")[0, 5] == pytest.approx(-2.8, abs=0.2)
    assert (found.block("T")[:, 4] < 0).all()
    assert found.block("T")[:, 8] == pytest.approx(1.35, abs=0.2)
    assert found.block("V")[:, 1] == pytest.approx(1.48, abs=0.01)
