import re
from pathlib import Path

import pytest
import yaml

from parkf.io.errors import ParkfError
from parkf.workflow.config import load_config
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.run import Run

ROOT = Path(__file__).parents[2]
CONFIGS = sorted(set((ROOT / "workflow/config").glob("*.yaml")) - {ROOT / "workflow/config/gates.yaml"})


@pytest.fixture
def config():
    return yaml.safe_load((ROOT / "workflow/config/default.yaml").read_text())


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_pass_and_are_named_after_their_file(path):
    config = laid(read_layers(path))
    if path.stem == "lhcb":
        # Users make these files of LHCb's dumps.
        config["detector"] = laid(read_layers(path.with_name("default.yaml")))["detector"]
    assert Run(load_config(config, ROOT))["run"] == path.stem


def test_the_paper_runs_ten_thousand_events_a_polarity():
    run = Run(load_config(laid(read_layers(ROOT / "workflow/config/paper.yaml")), ROOT))
    assert [len(run.chunk(sample)) for sample in run.samples("training")] == [10_000, 10_000]


def test_a_folder_of_dumps_is_no_geometry(config, tmp_path):
    (tmp_path / "dumps").mkdir()
    config["detector"] = {"geometry": "dumps", "alignment": "gone.yaml"}
    config["field"]["source"] = str(ROOT / config["field"]["source"])
    with pytest.raises(ParkfError) as caught:
        load_config(config, tmp_path)
    alignment, geometry = str(caught.value).splitlines()
    assert alignment.startswith("config: detector.alignment: gone.yaml: no such file, expected the alignment")
    assert "dumps: no such file, expected the geometry; `parkf import geometry` makes one of" in geometry


def test_another_simulation_is_looked_at_where_it_is(config, tmp_path):
    assert Run(config).likeness(tmp_path) is None
    files = {"hits": "hits.parquet", "tracks": "tracks.parquet"}
    run = Run(config | {"likeness": files | {"polarity": "down"}})
    for name in files.values():
        assert run.likeness(tmp_path) is None
        (tmp_path / name).touch()
    assert run.likeness(tmp_path) == "down"


def test_samples_are_cut_as_widely_as_asked(config):
    whole = Run(config)
    assert whole.chunks("training_up") == {"training_up": range(1000)}
    run = Run(config | {"signals": {"collisions": 6000}}, {"training": 3, "validation": 50, "signals": 9})
    assert run.chunks("training_up") == {
        "training_up/1-of-3": range(300),
        "training_up/2-of-3": range(300, 650),
        "training_up/3-of-3": range(650, 1000),
    }
    assert run.chunk("d0_down/2-of-3") == range(2000, 4000)
    # The misaligned sample has the particles of the validation; samples of other programs are not cut.
    assert [*run.chunks("misaligned_up").values()] == [*run.chunks("validation_up").values()]
    assert len(run.chunks("validation_down")) == 6  # of fifty crossings
    assert list(run.chunks("matched-validation_up")) == ["matched-validation_up"]
    assert run.seed("training_down/2-of-3") == whole.seed("training_down")
    assert run.polarity("training_down/2-of-3") == -1
    # The ghost score is trained on the first 500 crossings of each polarity.
    assert whole.scored("training_up") == 500
    assert [run.scored(chunk) for chunk in run.chunks("training_up")] == [300, 200, 0]


def test_names_of_chunks_are_told_from_others(config):
    run = Run(config, {"training": 3})
    for pattern, fits, fails in (
        (run.pattern("training"), "training_up/2-of-3", "training_up"),
        (run.pattern("training"), "training_down/3-of-3", "training_up/2-of-4"),
        (run.pattern("validation", "lhcb"), "validation_up", "validation_up/1-of-1"),
        (run.split_samples("training", "validation"), "training_up", "validation_up"),
    ):
        assert re.fullmatch(pattern, fits)
        assert not re.fullmatch(pattern, fails)
    # Without collisions there are no signals.
    assert not re.fullmatch(run.pattern("jpsi"), "")


def test_fits_on_a_gpu_want_cupy_before_anything_runs(config, monkeypatch):
    config["fits"]["backend"] = "gpu"
    monkeypatch.setattr("parkf.workflow.config.find_spec", lambda name: None)
    with pytest.raises(
        ParkfError, match=r"config: fits\.backend: gpu: CuPy is missing; install parkf\[gpu\]"
    ):
        load_config(config, ROOT)
    for backend in ("cpu", "auto"):
        config["fits"]["backend"] = backend
        load_config(config, ROOT)
