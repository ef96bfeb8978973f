import pytest

from parkf.errors import ParkfError
from parkf.report.stages import collect_stages

HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def test_stages_are_read_and_summed(tmp_path):
    (tmp_path / "table.tsv").write_text(HEAD + "30.5\t0:00:30\t1409.0\t0\t0\t0\t0\t0\t150\t45.0\n")
    # What ends at once has no memory figure.
    (tmp_path / "validate.tsv").write_text(HEAD + "0.4\t0:00:00\tNA\tNA\tNA\tNA\tNA\tNA\t0\t0.3\n")
    content = collect_stages(tmp_path)
    assert content["stages"]["table"] == {"wall_s": 30.5, "cpu_s": 45.0, "peak_mb": 1409.0}
    assert content["stages"]["validate"]["peak_mb"] == 0
    assert content["total_cpu_s"] == pytest.approx(45.3)
    assert content["peak_mb"] == 1409.0
    with pytest.raises(ParkfError, match="no benchmark files"):
        collect_stages(tmp_path / "elsewhere")
