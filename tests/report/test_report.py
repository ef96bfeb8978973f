import os

import pytest

from parkf.io.errors import ParkfError
from parkf.report.stages import collect_stages


def write(path, cpu_s, peak_mb, at=1000):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f'some words\nparkf usage: {{"wall_s": 2.0, "cpu_s": {cpu_s}, "peak_mb": {peak_mb}}}\n')
    os.utime(path, (at, at))


def test_stages_are_read_and_summed(tmp_path):
    write(tmp_path / "table.log", 45.0, 1409.0)
    write(tmp_path / "train-T/1-of-2.log", 7.0, 210.0)
    write(tmp_path / "train-T/2-of-2.log", 9.0, 230.0)
    write(tmp_path / "train-T/join.log", 1.0, 120.0)
    join = tmp_path / "train-T/join.log"
    join.write_text(f"taken from results/.shared/ab: results/one made it in 2.0 s\n{join.read_text()}")
    (tmp_path / "publish.log").write_text("no such line\n")
    content = collect_stages(tmp_path)
    assert content["stages"] == {
        "table": {"wall_s": 2.0, "cpu_s": 45.0, "peak_mb": 1409.0, "jobs": 1},
        "train-T": {"wall_s": 6.0, "cpu_s": 17.0, "peak_mb": 230.0, "jobs": 3, "taken": 1},
    }
    assert content["total_cpu_s"] == pytest.approx(62.0)
    assert content["peak_mb"] == 1409.0


def test_jobs_are_placed_in_time(tmp_path):
    line = 'parkf usage: {"wall_s": 2.0, "cpu_s": 1.0, "peak_mb": 9, "began": %s, "ended": %s}\n'
    (tmp_path / "fit").mkdir()
    # A job of two commands lasts from the start of the first to the end of the second.
    (tmp_path / "fit/2-of-2.log").write_text(line % (105.5, 107.5) + line % (108.0, 110.0))
    (tmp_path / "fit/1-of-2.log").write_text(line % (104.0, 106.0))
    (tmp_path / "field.log").write_text(line % (100.0, 102.0))
    stages = collect_stages(tmp_path)["stages"]
    assert stages["field"]["spans"] == [(0.0, 2.0)]
    assert stages["fit"]["spans"] == [(4.0, 6.0), (5.5, 10.0)]
    assert stages["fit"]["wall_s"] == 6.0


def test_parts_of_an_earlier_division_do_not_count(tmp_path):
    for part in range(1, 5):
        write(tmp_path / f"train-T/{part}-of-4.log", 4.0, 200.0, at=1000)
    for part in range(1, 3):
        write(tmp_path / f"train-T/{part}-of-2.log", 8.0, 200.0, at=2000)
    assert collect_stages(tmp_path)["stages"]["train-T"]["cpu_s"] == 16.0


def test_logs_without_usage_are_refused(tmp_path):
    (tmp_path / "table.log").write_text("")
    with pytest.raises(ParkfError, match="no log with a line 'parkf usage'"):
        collect_stages(tmp_path)
