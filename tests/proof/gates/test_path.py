"""Figures are found where a path says, and nowhere else."""

import pytest

from parkf.proof.gates.path import Found, find

DOCUMENT = {
    "fits": {
        "parkf": {"pulls": {"x": {"width": 1.1, "width_error": 0.2}, "y": {"width": 0.9}}, "good": True},
        "full": {"pulls": {"x": {"width": 1.0}}},
    },
    "table": [
        {"p_min": 1.5, "p_max": 3.0, "component": "x", "q68": 0.3},
        {"p_min": 3.0, "p_max": 5.0, "component": "x", "q68": 0.1},
        {"p_min": 3.0, "p_max": 5.0, "component": "y", "q68": 0.2},
    ],
    "steps": {"T.gap1": {"rms": 1.0}, "T.gap10": {"rms": 2.0}, "TFT": {"rms": None}},
}


def values(path):
    return [found.value for found in find(DOCUMENT, path)]


def test_a_path_without_choices_gives_one_figure_with_its_error():
    assert list(find(DOCUMENT, "fits/parkf/pulls/x/width")) == [
        Found("fits/parkf/pulls/x/width", "", 1.1, 0.2)
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("fits/*/pulls/x/width", [1.1, 1.0]),
        ("fits/parkf/pulls/x|y/width", [1.1, 0.9]),
        ("table[component=x]/q68", [0.3, 0.1]),
        ("table[component=x,p_min>=3]/q68", [0.1]),
        ("table[p_max<=3]/q68", [0.3]),
        ("steps/T.gap1/rms", [1.0]),
        ("steps/T.*/rms", [1.0, 2.0]),
        ("steps/TFT/rms", []),  # no number
        ("fits/parkf/good", []),
        ("fits/none/pulls/x/width", []),
        ("table/q68", [0.3, 0.1, 0.2]),
        ("fits[p_min=1]/parkf/good", []),
        ("table[missing>=3]/q68", []),
        ("table[component>=3]/q68", []),
    ],
)
def test_choices(path, expected):
    assert values(path) == expected


def test_places_name_what_was_left_open():
    assert [found.place for found in find(DOCUMENT, "table[component=x]/q68")] == ["1.5–3 GeV", "3–5 GeV"]
    assert [found.path for found in find(DOCUMENT, "table[component=y]/q68")] == ["table[2]/q68"]
    assert [found.place for found in find(DOCUMENT, "steps/T.*/rms")] == ["T.gap1", "T.gap10"]


@pytest.mark.parametrize("path", ["", "a//b", "a[b]/c", "a[b>3]/c", "a[b=]/c", "a[b=1/c", "a]b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match="is no "):
        list(find(DOCUMENT, path))


def test_figures_know_their_tracks_and_crossings():
    fit = {
        "momentum": [{"p_min": 3.0, "p_max": 5.0, "n": 40, "crossings": 20, "pulls": {"x": {"width": 1.0}}}]
    }
    document = {"counts": {"crossings": 8}, "control": fit, "fits": {"full": {"bias": 0.1, "n": 7}}}
    (one,), (other,) = (
        list(find(document, path)) for path in ("control/momentum/pulls/x/width", "fits/full/bias")
    )
    assert (one.tracks, one.crossings) == (None, 20)
    assert (other.tracks, other.crossings) == (7, 8)


def test_places_of_cells_name_direction_and_charge():
    cell = {"eta_min": 2.0, "eta_max": 2.5, "phi_min": 1.1780972450961724, "phi_max": 1.9634954084936207}
    document = {"cells": [cell | {"charge": -1, "p_min": 3.0, "p_max": 5.0, "bias": 0.1}]}
    assert [found.place for found in find(document, "cells/bias")] == [
        "η 2–2.5, φ 67.5° to 112.5°, charge −, 3–5 GeV"
    ]
    document = {"directions": [{"eta_min": 2.0, "eta_max": 2.5, "plane": "vertical", "bias": 0.1}]}
    assert [found.place for found in find(document, "directions/bias")] == ["η 2–2.5, vertical"]


def test_places_of_slices_name_variable_and_edges():
    document = {"breakdown": {"velo_hits": [{"low": 3.0, "high": 4.0, "bias": 0.1}], "phi": []}}
    assert [found.place for found in find(document, "breakdown/velo_hits|phi/bias")] == ["velo_hits, 3 to 4"]
