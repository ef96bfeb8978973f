"""Files of other runs that a run reads are read before it begins; the mistakes of all are named."""

import json
from pathlib import Path

import numpy as np
import pytest

from parkf.detector.field import FieldMap
from parkf.io.errors import ParkfError
from parkf.model.steps import FORMS
from parkf.workflow.inputs import _require_cover, product_problems

STEPS = list(FORMS["improved"].steps)


def _config(**training):
    return {"forms": "improved", "training": {"datasets": "simulate"} | training}


def test_of_a_neighbour_the_closed_table_and_the_score_are_read(tmp_path):
    names = ("closure/accuracy.json", "score.json")
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
    assert product_problems(_config(neighbour="score.json", datasets="own"), tmp_path) == []


def test_all_kinds_of_files_are_tried(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/T.parquet").write_text("no table")
    own, second = product_problems(_config(datasets="own", neighbour="second"), tmp_path)
    assert own.startswith(f"{tmp_path / 'own/T.parquet'}: ")
    assert second.startswith(f"{tmp_path / 'second'}: no such folder")


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
