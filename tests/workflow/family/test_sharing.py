"""Members share the products that are the same for both, and no others."""

from pathlib import Path

import pytest
import yaml

from parkf.simulation.generate.decays import DECAYS, ELECTRONS
from parkf.workflow.config_files import laid, merged, read_layers
from parkf.workflow.family import expand, shared_products, sources

ROOT = Path(__file__).parents[3]
BASE = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
EVERYTHING = set(shared_products(BASE, ROOT))
COLLISIONS = {name for name in EVERYTHING if name.endswith("collisions")}
TRAINING = {"states", "training candidates", "datasets", "fits"}
SEEN = ("hits", "candidates", "full fits")
VALIDATION = {
    "fates",
    "validation crossings",
    *(f"validation {what}" for what in SEEN),
    *(f"misaligned {what}" for what in SEEN),
}
SIGNALS = {f"{signal} {what}" for signal in ("jpsi", "d0") for what in SEEN}
SIGNALS |= {f"{signal} {what}" for signal in ("ks", "lambda") for what in ("hits", "crossings")}
SIGNALS |= {f"{signal} hits" for signal in ELECTRONS}
CLOSURE = {"closure tracks", "closed table"}
DOWNSTREAM = TRAINING | VALIDATION | SIGNALS | CLOSURE


@pytest.fixture
def other(tmp_path):
    """Write a copy of an input with a change in it."""

    def make(name, change):
        path = tmp_path / Path(name).name
        path.write_text(change((ROOT / name).read_text()))
        return str(path)

    return make


def apart(difference):
    """Return the products that a run with this difference does not share with the base."""
    base, other = shared_products(BASE, ROOT), shared_products(merged(BASE, difference), ROOT)
    assert base.keys() == other.keys() == EVERYTHING
    return {name for name in EVERYTHING if base[name] != other[name]}


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        ({}, set()),
        ({"run": "another"}, set()),
        ({"seed": 7}, EVERYTHING - {"field"}),
        ({"detector": {"alignment": "data/geometry/alignment_velo_shift.yaml"}}, DOWNSTREAM),
        ({"field": {"spacing": 50}}, EVERYTHING - COLLISIONS - {"throughput"}),
        ({"forms": "production"}, {"table", "fits", "closed table", "throughput"}),
        ({"events": {"training": 81}}, TRAINING | {"training collisions", "closed table"}),
        ({"events": {"validation": 81}}, VALIDATION | {"validation collisions", "throughput"}),
        (
            {"signals": {"collisions": 81}},
            SIGNALS | {f"{name} collisions" for name in DECAYS},
        ),
        ({"training": {"rays": 50_000}}, {"table", "fits", "closed table"}),
        ({"training": {"max_rows": 5000}}, {"datasets", "fits", "closed table"}),
        ({"training": {"start_from": "results/other"}}, {"fits", "closed table"}),
        ({"training": {"neighbour": "results/other"}}, {"closed table"}),
        ({"training": {"noise_scale": {"T": 1.0}}}, {"closed table"}),
        ({"training": {"closure": {"passes": 1}}}, {"closed table"}),
        ({"training": {"closure": {"tracks": 9000}}}, CLOSURE),
        ({"misalignment": {"scifi_mat": 0.1}}, {f"misaligned {what}" for what in SEEN}),
        ({"fits": {"precision": "float64"}}, set()),
        ({"validity": {"first_run": 5}}, set()),
        ({"polarities": ["down", "up"]}, set()),
        ({"polarities": ["down"]}, {"datasets", "fits", "closed table", "throughput"}),
    ],
    ids=lambda value: None if isinstance(value, set) else str(value),
)
def test_what_a_difference_tells_apart(difference, expected):
    assert apart(difference) == expected


def test_the_order_of_keys_tells_nothing_apart():
    """Files of configurations may have the keys of a section in any order."""

    def turned(value):
        if not isinstance(value, dict):
            return value
        return {key: turned(one) for key, one in reversed(value.items())}

    assert shared_products(turned(BASE), ROOT) == shared_products(BASE, ROOT)


def test_a_geometry_with_the_same_beam_and_magnet_shares_collisions_and_table(other):
    name = "data/geometry/run3.yaml"
    tag = yaml.safe_load((ROOT / name).read_text())["tag"]
    same_beam = other(name, lambda text: text.replace(f"tag: {tag}", "tag: another"))
    assert apart({"detector": {"geometry": same_beam}}) == DOWNSTREAM


def test_contents_count_and_names_do_not(other):
    alignment = "data/geometry/alignment_nominal.yaml"
    copy = other(alignment, lambda text: text)
    assert apart({"detector": {"alignment": copy}}) == set()
    changed = other(alignment, lambda text: text.replace("scifi_layers: {}", "scifi_layers: {3: {x: 0.1}}"))
    assert apart({"detector": {"alignment": changed}}) == DOWNSTREAM


def test_the_first_member_with_a_fingerprint_makes_it():
    axes = [
        {"nominal": {}, "shifted": {"detector": {"alignment": "data/geometry/alignment_scifi_shift.yaml"}}},
        {"improved": {}, "production": {"forms": "production"}},
    ]
    found = sources(expand("fam", BASE, axes), ROOT)
    first, second, third, fourth = found
    assert (first, fourth) == ("nominal_improved", "shifted_production")
    assert {maker for maker, _ in found[first].values()} == {first}
    own = {"table", "fits", "closed table", "throughput"}
    assert {p for p, (maker, _) in found[second].items() if maker == second} == own
    assert {p for p, (maker, _) in found[third].items() if maker == third} == DOWNSTREAM
    # The table of its forms comes from one member, the states of its alignment from another.
    assert found[fourth]["table"] == (second, "table/{file}")
    assert found[fourth]["states"][0] == third
    assert found[fourth]["fits"][0] == fourth
