"""The column map of the page docs/how-to/imports.md imports a ROOT tuple of other names and units."""

import re
from pathlib import Path

import numpy as np
import step_writers
from step_sample import HOPS, field_map, sample

from parkf.imports.steps.take import import_steps
from parkf.io.findings import settle
from parkf.io.tables import STEP_DATA

PAGE = Path(__file__).parents[2] / "docs/how-to/imports.md"
# Name there of each column here, and the number there that is 1 here.
THERE = {"event": ("evt", 1), "particle": ("key", 1), "pdg_id": ("pid", 1), "set": ("gap", 1)}
THERE |= {"qop": ("q_over_p", -1e3), "p_true": ("p_from", 1e-3)}
ENDS = (("0", "from"), ("1", "to"), ("e", "rk"))
for _axis, _factor in (("x", 0.1), ("y", 0.1), ("z", 0.1), ("tx", 1e3), ("ty", 1e3)):
    THERE |= {f"{_axis}{end}": (f"{_axis}_{name}", _factor) for end, name in ENDS}
del THERE["ze"]
ROWS = {"V": 300, "VUT": 400, "UT": 150, "UTTF": 400, "TFT": 400, "T": 120, "BEAM": 200}


def _beam(field):
    """Rows of the step to the beam: backward hops in the VELO."""
    rows = sample("V", 2 * ROWS["BEAM"], field)
    backward = {name: values[rows["set"] == 1] for name, values in rows.items()}
    return backward | {"set": np.arange(2 * ROWS["BEAM"]) % 2}


def test_the_map_of_the_page_imports_all_seven_steps(tmp_path):
    field = field_map()
    (text,) = re.findall(r"```yaml\n(# All seven.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "columns.yaml").write_text(text)
    ours = {step: _beam(field) if step == "BEAM" else sample(step, ROWS[step], field) for step in ROWS}
    for step, rows in ours.items():
        there = {name: factor * rows[own].astype(float) for own, (name, factor) in THERE.items()}
        there["magnet"] = np.where(rows["polarity"] > 0, 1.0, 0.0)
        count = len(there["evt"])
        there |= {"status": np.ones(count), "chi2": np.full(count, 2.0)}
        # Of four rows more, one each fails, is no number, has a large chi2, and is there already.
        there = {name: np.append(values, values[:4]) for name, values in there.items()}
        there["status"][-4], there["x_rk"][-3], there["chi2"][-2] = 0.0, np.nan, 12.0
        there["x_from"][-4] = np.nan
        step_writers.write_root(tmp_path / f"{step}-1.root", there)
    taken = import_steps(
        str(tmp_path / "columns.yaml"), tmp_path, field=field, polarity=None, settle=settle, threads=1
    )
    assert [one.step for one in taken] == list(ROWS)
    for one in taken:
        rows, read = ours[one.step], STEP_DATA.open(tmp_path / f"{one.step}.parquet").read()
        assert (one.rows, one.left_out) == (len(rows["qop"]), 0)
        order = np.lexsort([rows["z1"], rows["qop"], rows["set"]])
        mine = np.lexsort([read[name].to_numpy() for name in ("z1", "qop", "set")])
        for name, _ in STEP_DATA.columns:
            np.testing.assert_allclose(read[name].to_numpy()[mine], rows[name][order], rtol=1e-9, atol=1e-9)
    assert set(HOPS) | {"BEAM"} == set(ROWS)
