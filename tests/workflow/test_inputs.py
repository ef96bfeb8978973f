"""Files of other runs that a run reads are read before it begins; the mistakes of all are named."""

import json
from pathlib import Path

import numpy as np
import pytest

from parkf.detector.field import FieldMap
from parkf.io.errors import ParkfError
from parkf.model.steps import FORMS
from parkf.params.configuration import start_file
from parkf.workflow.inputs import _require_cover, product_problems

STEPS = list(FORMS["improved"].steps)


def _config(**training):
    return {"forms": "improved", "training": {"datasets": "simulate", "start_from": None} | training}


@pytest.fixture
def start(tmp_path):
    """A finished run that another one starts from."""
    for step in STEPS:
        path = start_file(tmp_path / "first", step)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return tmp_path


def test_a_run_may_start_from_the_fits_of_another(start):
    assert product_problems(_config(start_from="first"), start) == []


@pytest.mark.parametrize("step", [STEPS[0], STEPS[-1]])
def test_each_fit_to_start_from_is_read(start, step):
    path = start_file(start / "first", step)
    path.write_text("{")
    (problem,) = product_problems(_config(start_from="first"), start)
    assert problem.startswith(f"{path}: ")
    path.unlink()
    (problem,) = product_problems(_config(start_from="first"), start)
    assert problem.startswith(f"{path}: no such file")


def test_of_a_neighbour_the_closed_table_and_the_score_are_read(tmp_path):
    names = ("closure/accuracy.json", "closure/closure.json", "score.json")
    for missing in names:
        folder = tmp_path / missing.replace("/", "-")
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps({}))
        assert product_problems(_config(neighbour=folder.name), tmp_path) == []
        (folder / missing).unlink()
        (problem,) = product_problems(_config(neighbour=folder.name), tmp_path)
        assert problem.startswith(f"{folder / missing}: no such file")
    # Where datasets are not simulated, there are no candidates to train a score on.
    (problem,) = product_problems(_config(neighbour="score.json", datasets="own"), tmp_path)
    assert problem.startswith(f"{tmp_path / 'own' / STEPS[0]}.parquet: no such file")


def test_all_kinds_of_files_are_tried(tmp_path):
    problems = product_problems(_config(datasets="own", start_from="first", neighbour="second"), tmp_path)
    assert [one.split(":")[0].removeprefix(f"{tmp_path}/").split("/")[0] for one in problems] == [
        "own",
        "first",
        "second",
    ]


@pytest.mark.parametrize(
    ("begin", "end", "covers"),
    [(-500, 9500, True), (0, 9500, False), (-500, 9000, False), (500, 9500, False)],
)
def test_a_map_covers_the_planes_of_the_detector(geometry, begin, end, covers):
    """They are from -0.29 m to 9.4 m."""
    spacing = np.array([4000.0, 4000.0, (end - begin) / 20])
    field = FieldMap(np.array([-4000.0, -4000.0, begin]), spacing, np.zeros((3, 3, 21, 3), np.float32))
    if covers:
        _require_cover(Path("map.npz"), field, geometry)
    else:
        with pytest.raises(ParkfError, match=f"map\\.npz: the map reaches from z = {begin} to {end} mm"):
            _require_cover(Path("map.npz"), field, geometry)
