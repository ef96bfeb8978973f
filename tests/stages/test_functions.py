"""The functions of the stages: their arguments, the folders of their files, and stages in one."""

import inspect
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pyarrow as pa
import pytest
from tests.gun import shoot
from tests.stage import refused, stage

import parkf.stages
from parkf.io.errors import ParkfError
from parkf.io.tables import PARTICLES
from parkf.stages.files import AllMade, Made, folder_of, set_folder

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(parkf.stages.__path__[0]).glob("[!_]*.py"))
MODULES = [import_module(f"parkf.stages.{path.stem}") for path in FILES]
FUNCTIONS = {
    module.__name__: function
    for module in MODULES
    if inspect.isfunction(function := getattr(module, module.__name__.rpartition(".")[2], None))
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_stage_is_called_by_keywords_and_makes_files(name):
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters.values()
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in parameters)
    hints = get_type_hints(function, include_extras=True).values()
    assert any(made in (hint, *get_args(hint)) for hint in hints for made in (Made, AllMade))


def test_files_of_several_folders_have_no_folder():
    assert folder_of([Path("a/x"), Path("a/y")]) == Path("a")
    with pytest.raises(ParkfError, match="got a, b, expected files of one folder"):
        folder_of([Path("a/x"), Path("b/x")])


def test_the_folder_of_a_set_is_its_manifest_s():
    assert set_folder([Path("a/global.f32"), Path("a/manifest.json"), Path("b/x")]) == Path("a")
    with pytest.raises(ParkfError, match="got no file"):
        set_folder([Path("a/global.f32")])


@pytest.fixture
def simulation(tmp_path, field):
    field.save(tmp_path / "field.npz")
    shot = shoot(events=5, per_event=10, seed=3, p_range=(3000.0, 50_000.0))
    with PARTICLES.writer(tmp_path / "particles.parquet") as writer:
        writer.write_table(pa.table(shot, schema=PARTICLES.schema))
    data = ROOT / "data/geometry"
    return {
        "geometry": data / "run3.yaml",
        "alignment": data / "alignment_nominal.yaml",
        "field": tmp_path / "field.npz",
    }


def test_candidates_and_draws_are_made_of_what_the_transport_made(tmp_path, simulation, monkeypatch):
    """The same candidates come from hits that are kept; hits that nobody asked for leave nothing behind."""
    scratch, alone, beside = (tmp_path / name for name in ("scratch", "alone", "beside"))
    for folder in (scratch, alone, beside):
        folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    shot = {"particles": [tmp_path / "particles.parquet"], "polarities": [-1], "seeds": [1], "max_rows": 1000}
    shifts = {"scifi_module": 0.1, "scifi_mat": 0.1, "misalignment_seed": 7}
    for folder, more in ((alone, ()), (beside, ("states", "hits"))):
        names = ("candidates", "misaligned", *more)
        products = {name: [folder / f"{name}.parquet"] for name in names} | {"draws": [folder / "draws.npz"]}
        stage("simulate", **simulation, **shot, **shifts, **products)
    stage(
        "candidates", **simulation, polarity=-1, hits=beside / "hits.parquet", output=beside / "found.parquet"
    )
    assert (beside / "found.parquet").read_bytes() == (beside / "candidates.parquet").read_bytes()
    for name in ("candidates.parquet", "misaligned.parquet", "draws.npz"):
        assert (alone / name).read_bytes() == (beside / name).read_bytes(), name
    assert (alone / "misaligned.parquet").read_bytes() != (alone / "candidates.parquet").read_bytes()
    assert list(scratch.iterdir()) == []


def test_draws_need_the_number_of_rows(tmp_path, simulation):
    files = {"particles": [tmp_path / "particles.parquet"], "draws": [tmp_path / "draws.npz"]}
    assert "got draws without max_rows" in refused(
        "simulate", **simulation, **files, polarities=[1], seeds=[1]
    )
