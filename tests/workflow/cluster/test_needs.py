import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from parkf.io.errors import ParkfError
from parkf.workflow.cluster import COSTS_FILE, load_costs, needs

ROOT = Path(__file__).parents[3]


@pytest.fixture
def costs(tmp_path):
    file = tmp_path / "costs.yaml"
    file.write_text(
        "origin: a test\n"
        "margins: {snakemake_mb: 400, snakemake_s: 20, memory: 1.5, time: 3, minutes: 10}\n"
        "stages: {states: {unit: event, job_s: 10, unit_ms: 100, job_mb: 200, unit_kb: 100, disk_kb: 50}}\n"
    )
    return load_costs(file)


def test_what_a_job_asks_for_grows_with_its_size_and_doubles_with_each_attempt(costs):
    asked = needs(costs, "states", lambda wildcards: wildcards.events)
    small, large = SimpleNamespace(events=100), SimpleNamespace(events=10_000)
    assert asked["mem_mb"](small, attempt=1) == 400 + 1.5 * (200 + 10)
    assert asked["mem_mb"](large, attempt=1) == 400 + 1.5 * (200 + 1000)
    assert asked["mem_mb"](large, attempt=3) == 4 * asked["mem_mb"](large, attempt=1)
    assert asked["runtime"](small, attempt=1) == 10
    assert asked["runtime"](large, attempt=1) == 52  # 3 x (20 + 10 + 1000) s
    assert asked["runtime"](large, attempt=2) == 104
    assert asked["disk_mb"](large, attempt=1) == 100 + 1.5 * 500
    # The same for HTCondor, which counts seconds.
    assert asked["htcondor_request_mem_mb"](large, attempt=2) == asked["mem_mb"](large, attempt=2)
    assert asked["htcondor_request_disk_mb"](large, attempt=2) == asked["disk_mb"](large, attempt=2)
    assert asked["allowed_execute_duration"](large, attempt=2) == 104 * 60


def test_a_stage_without_a_cost_and_an_unknown_key_are_named(costs, tmp_path):
    with pytest.raises(ParkfError, match="no stage 'stats'; there are states"):
        needs(costs, "stats", 1)
    file = tmp_path / "costs.yaml"
    file.write_text(file.read_text().replace("unit_kb", "unit_mb"))
    with pytest.raises(ParkfError, match=r"stages\.states\.unit_mb"):
        load_costs(file)


@pytest.mark.parametrize(("margin", "least"), [("memory: 1.5", "1"), ("time: 3", "1"), ("minutes: 10", "1")])
def test_a_margin_below_one_is_none(costs, tmp_path, margin, least):
    """A job would be given less than it was measured to need."""
    text, name = (tmp_path / "costs.yaml").read_text(), margin.split(":")[0]
    file = tmp_path / "other.yaml"
    file.write_text(text.replace(margin, f"{name}: {least}"))
    assert getattr(load_costs(file).margins, name) == 1
    file.write_text(text.replace(margin, f"{name}: 0"))
    with pytest.raises(ParkfError, match=rf"margins\.{name}"):
        load_costs(file)


def test_the_rules_use_all_costs_of_the_project():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    used = set(re.findall(r'needs\(COSTS, (?:DEAR or )?"(\w+)"', rules)) | {"simulate_crowded"}
    used |= {"candidates", "candidates_found"}
    assert used == load_costs(ROOT / COSTS_FILE).stages.keys()
