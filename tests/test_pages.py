"""Figures of the benchmarks are as good as they have to be."""

import json
from math import hypot
from pathlib import Path

import pytest
from benchmarks import lhcb_hits, tails
from tools.faults import kills, swaps
from tools.mismatches.wrong import MISTAKES

from parkf.io.kinds import KINDS

ROOT = Path(__file__).parents[1]


def stored(name):
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())


def test_every_kind_is_explained():
    page = (ROOT / "docs/explanation/kinds.md").read_text()
    assert [kind for kind in KINDS if kind != "long" and f"| `{kind}` |" not in page] == []


def test_a_calibrated_set_is_as_good_as_that_of_the_truth():
    """Core of δp/p within 2 %, widths of the pulls within 3 %; scale, shifts and loop as they should be."""
    found = stored("calibrate")
    truth, calibrated = found["sets"]["truth"], found["sets"]["calibrated"]
    for name, bar in (("δp/p", 0.02), *((f"pull of {one}", 0.03) for one in ("x", "y", "tx", "ty", "qop"))):
        assert abs(calibrated[name]["width"] / truth[name]["width"] - 1) < bar, name
    field = found["field"]
    assert abs(field["scale"] - field["truth"]) < max(2e-4, field["error"])
    assert found["alignment"]["groups"]["all"]["within_3"] >= 0.95
    first, *_, last = (one["change_in_errors"] for one in found["rounds"])
    assert last["alignment"] < 1
    assert last["field"] < 1
    assert all(last[kind] < 0.5 * first[kind] for kind in first)


def test_displaced_tracks_have_a_flat_bias_and_right_pulls_when_the_origin_is_told():
    for one in (one for of_variable in stored("displaced")["bins"].values() for one in of_variable):
        assert abs(one["bias"]) <= 0.0002 + 3 * one["bias_error"]
        for told in (one[component]["told"] for component in ("tx", "ty")):
            assert 0.95 - 2 * told["width_error"] < told["width"] < 1.05 + 2 * told["width_error"]


def test_electrons_peak_where_they_should_with_narrower_intervals_than_pions():
    fits = stored("electrons")["fits"]
    for one in (fits["uniform"], *fits["tracks"].values()):
        assert abs(one["most_probable"]) < 0.005
    for one in fits["uniform"]["cells"]:
        assert abs(one["most_probable"]) < 0.005 + 2 * one["most_probable_error"]
    of = {"uniform": fits["uniform"], **fits["tracks"]}
    for name in ("uniform", "jpsi-ee", "gamma-ee"):
        assert of[name]["width68_over_pion"] <= 0.9


def test_killed_runs_and_exchanged_files_are_noticed_and_mended():
    killed, swapped = stored("faults"), stored("swaps")["cases"]
    assert kills.passed(killed)
    by = [one["by"] for one in killed["kills"]]
    assert [by.count(starter) for starter in kills.STARTERS.values()] == [20, 10]
    assert {one["by"] for one in killed["ends"]} == {*by}
    assert len(swapped) == 60
    assert {one["kind"] for one in swapped} == {*swaps.KINDS}
    assert all(one["verify"] and one["run"] and one["right"] for one in swapped)


def test_every_mistake_was_tried_and_none_passed():
    cases = stored("mismatches")["cases"]
    tried = {case["what"]: case["outcome"] for case in cases if case["kind"] == "mistake"}
    assert tried.keys() == MISTAKES.keys()
    assert "passed" not in tried.values()


def test_states_inside_the_magnet_are_off_by_less_than_their_errors():
    found = stored("slices")
    rows = [one for one in found["states"] if one["component"] == "x" and one["p_min"] >= 3]
    assert all(one["q68"] < one["sigma"] / 10 for one in rows)
    assert all(one["q99"] < one["sigma"] for one in rows if one["p_min"] >= 5 or one["z"] >= 5000)


def test_downstream_tracks_are_as_good_as_those_of_the_full_fit():
    found = stored("kinds")
    of = found["kinds"]["downstream"]
    for one in (one for one in of["momentum"] if one["p_min"] >= 3):
        assert one["core_over_full"] - one["core_over_full_error"] < 1.03
        assert abs(one["bias"]) - 3 * one["bias_error"] < 1e-3
        for pull in one["pulls"].values():
            assert 0.9 - 3 * pull["width_error"] < pull["width"] < 1.1 + 3 * pull["width_error"]
    assert 0.8 < found["lhcb"]["chi2_median"]["matched"] < 1.25


def test_both_simulations_agree_on_lhcbs_hits():
    def differ(one, other):
        """Difference of two figures in their errors."""
        return abs(one[0] - other[0]) / hypot(one[1], other[1])

    embedded, lhcb = (stored("lhcb_hits")[sample] for sample in ("embedded", "lhcb"))
    for fit in ("parkf", "parkf_robust", "full"):
        assert differ(embedded["pulls"][fit][1], lhcb["pulls"][fit][1]) < 2
    for name in ("ghosts", "kept", "cut", *(f"efficiency_p_{place}" for place in lhcb_hits.P_BINS)):
        assert differ(embedded["found"][name], lhcb["found"][name]) < 2
    assert differ(embedded["core"], lhcb["core"]) < 2


def test_moved_hits_are_removed():
    moved = [one[name] for one in stored("far_hits")["schemes"].values() for name in ("velo", "ut", "scifi")]
    assert len(moved) == 9
    assert min(moved) > 0.99


def test_the_monitor_names_changes():
    """Nine of ten samples are named rightly, one of fifty hears what is untrue. Lost hits agree to .5 %."""
    scenarios = stored("monitor")["scenarios"]
    samples = [one for seeds in scenarios.values() for one in seeds]
    assert sum(one["named"] for one in samples) >= 0.9 * len(samples)
    assert sum(bool(one["untrue"]) for one in samples) <= 0.02 * len(samples)
    lost = [one["size"]["hit efficiency of T2"] for one in scenarios["20 % of T2's hits lost"]]
    assert max(abs(size + 0.2) for size in lost) < 0.005


@pytest.mark.parametrize("way", ["matched", "found"])
def test_the_robust_fit_leaves_one_per_cent_beyond_five_errors_and_tails_agree(way):
    found = stored("tails")
    robust = found["set"][way]["robust"]
    assert robust["beyond5"] - robust["beyond5_error"] < 0.01
    for region in tails.REGIONS:
        lhcb, embedded = (found[sample][way][region] for sample in ("lhcb", "embedded"))
        for limit in ("beyond3", "beyond5"):
            error = hypot(lhcb[f"{limit}_error"], embedded[f"{limit}_error"])
            assert abs(lhcb[limit] - embedded[limit]) < 2 * error, (region, limit)
