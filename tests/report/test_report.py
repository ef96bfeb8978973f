import pytest

from parkf.errors import ParkfError
from parkf.report.stages import collect_stages
from parkf.report.verdict import LHCB_TABLE_X, verdict

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


def test_the_verdict_names_what_is_missed():
    widths = {"x": 1.0, "y": 1.2, "tx": 0.95, "ty": 1.05, "qop": 3.0}
    fit = {
        "pulls": {component: {"width": width} for component, width in widths.items()},
        "momentum": [
            {"p_min": 3.0, "p_max": 5.0, "core": 0.02},
            {"p_min": 5.0, "p_max": 10.0, "core": 0.004},
            {"p_min": 10.0, "p_max": 20.0, "core": 0.011},
        ],
        "working_point": {"genuine": 0.91, "ghost": 0.41, "cut": 2.5},
    }
    table = [
        {"p_min": low, "p_max": 2 * low, "component": "x", "q68": 0.9 * bar}
        for low, bar in LHCB_TABLE_X.items()
    ]
    missed = [line.what for line in verdict({"fits": {"parkf": fit}}, table) if not line.met]
    assert missed == [
        "pull width of y",
        "core of δp/p, 10–20 GeV",
        "ghosts kept at 91 % genuine efficiency",
    ]
