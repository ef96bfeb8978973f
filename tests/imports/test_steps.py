"""Step datasets are read back from every format as they were, and train to the same parameters."""

import numpy as np
import pytest
import step_writers
from step_sample import field_map, sample

from parkf.detector.geometry import SCIFI_PLANES
from parkf.imports.steps.faults import plane_faults
from parkf.imports.steps.take import import_steps
from parkf.io.errors import ParkfError
from parkf.io.findings import settle
from parkf.io.tables import STEP_DATA
from parkf.training.train import train_step

ROWS = {"V": 800, "UT": 300, "UTTF": 600, "T": 280}
KEYS = ("event", "particle", "polarity", "set", "z0", "z1")


@pytest.fixture(scope="module")
def field():
    return field_map()


@pytest.fixture(scope="module")
def samples(field):
    return {step: sample(step, rows, field) for step, rows in ROWS.items()}


def _take(source, folder, field, **options):
    seen = []
    import_steps(source, folder, field=field, settle=seen.extend, threads=1, **({"polarity": None} | options))
    read = {path.stem: STEP_DATA.open(path).read() for path in sorted(folder.glob("*.parquet"))}
    rows = {
        step: {name: table[name].to_numpy().astype(float) for name in table.column_names}
        for step, table in read.items()
    }
    return rows, {one.subject: one for one in seen}


def _same(got, expected, relative, but=()):
    """Compare rows in any order; positions and slopes relative to the size of their column."""
    orders = [np.lexsort([rows["z1"], rows["qop"], rows["set"]]) for rows in (got, expected)]
    for name in expected:
        if name not in but:
            ours, theirs = got[name][orders[0]], expected[name][orders[1]].astype(float)
            scale = np.maximum(np.abs(theirs), 1e-3 * np.abs(theirs).max())
            assert np.abs(ours - theirs).max() == 0 or (np.abs(ours - theirs) / scale).max() < relative, name


@pytest.mark.parametrize(("prefix", "steps"), [("predictState", ("UT", "T")), ("", ("V",))])
def test_tuning_trees_come_back(tmp_path, field, samples, prefix, steps):
    wanted = {step: samples[step] for step in steps}
    source = step_writers.write_tuning(tmp_path, wanted, -1, prefix)
    got, seen = _take(source, tmp_path / "out", field, polarity=-1, steps=tuple(wanted))
    assert {one.verdict for one in seen.values()} == {"ok"}, [
        str(f) for one in seen.values() for f in one.findings
    ]
    for step, rows in wanted.items():
        down = {name: values[rows["polarity"] == -1] for name, values in rows.items()}
        # The trees lack the kind and number of a particle. Rows with equal q/p form one event and particle.
        _same(got[step], down, 1e-12, but=("pdg_id", "particle"))
        pairs = np.unique(np.stack([got[step]["qop"], got[step]["particle"]]), axis=1)
        assert pairs.shape[1] == len(np.unique(down["qop"]))


@pytest.mark.parametrize(
    ("kind", "relative"), [("csv", 1e-12), ("parquet", 1e-12), ("root", 1e-12), ("float32", 3e-7)]
)
def test_other_units_and_signs_come_back(tmp_path, field, samples, kind, relative):
    steps = ("UT", "UTTF", "T")
    for step in steps:
        columns = step_writers.foreign(samples[step])
        if kind == "float32":
            step_writers.write_root(tmp_path / f"{step}.root", columns, np.float32)
        else:
            getattr(step_writers, f"write_{kind}")(tmp_path / f"{step}.{kind}", columns)
    ending = "root" if kind == "float32" else kind
    source = step_writers.column_map(tmp_path, "{step}." + ending, steps)
    got, seen = _take(source, tmp_path / "out", field)
    assert {one.verdict for one in seen.values()} == {"ok"}, [
        str(f) for one in seen.values() for f in one.findings
    ]
    for step in steps:
        _same(got[step], samples[step], relative)


def test_truth_alone_is_carried_here(tmp_path, field, samples):
    for step in ("UTTF", "T"):
        step_writers.write_parquet(tmp_path / f"{step}.parquet", step_writers.foreign(samples[step]))
    source = step_writers.column_map(tmp_path, "{step}.parquet", ("UTTF", "T"), truth_alone=True)
    got, _ = _take(source, tmp_path / "out", field)
    for step in ("UTTF", "T"):
        _same(got[step], samples[step], 1e-9)


def test_what_came_over_trains_to_the_same_parameters(tmp_path, field, samples):
    def trained(path):
        return [one.values for one in train_step(path, "V", forms="production").sets]

    step_writers.write_csv(tmp_path / "V.csv", step_writers.foreign(samples["V"]))
    step_writers.write_parquet(
        tmp_path / "plain.parquet", {k: v.astype(float) for k, v in samples["V"].items()}
    )
    _take(step_writers.column_map(tmp_path, "{step}.csv", ("V",)), tmp_path / "a", field)
    units = {"qop": "1/MeV", "p_true": "MeV"} | {f"{axis}{end}": "mm" for axis in "xyz" for end in "01e"}
    units |= {f"t{axis}{end}": "1" for axis in "xy" for end in "01e"}
    plain = {
        name: {"column": name} | ({"unit": units[name]} if name in units else {}) for name in samples["V"]
    }
    own = step_writers.column_map(
        tmp_path, "plain.parquet", ("V",), change=lambda source: source.update(columns=plain)
    )
    _take(own, tmp_path / "b", field)
    for ours, theirs in zip(
        trained(tmp_path / "a/V.parquet"), trained(tmp_path / "b/V.parquet"), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("share", [0.003, 0.03, 0.3])
def test_a_wrong_sign_in_a_few_rows_is_refused(tmp_path, field, samples, share):
    rows = {name: values.astype(float) for name, values in samples["UTTF"].items()}
    some = np.random.default_rng(3).random(len(rows["qop"])) < share
    rows["qop"] = np.where(some, -rows["qop"], rows["qop"])
    step_writers.write_parquet(
        tmp_path / "UTTF.parquet", step_writers.foreign(rows) | {"charge": rows["charge"]}
    )
    source = step_writers.column_map(
        tmp_path, "{step}.parquet", ("UTTF",), change=lambda source: source["columns"].update(charge="charge")
    )
    with pytest.raises(
        ParkfError, match=f"{some.sum()} of 600 rows left out: qop, expected .* charge's sign"
    ):
        import_steps(source, tmp_path / "out", field=field, polarity=None, settle=settle, threads=1)


def test_nothing_is_written_when_physics_says_no(tmp_path, field, samples):
    wrong = samples["UTTF"] | {"polarity": -samples["UTTF"]["polarity"]}
    step_writers.write_parquet(tmp_path / "UTTF.parquet", step_writers.foreign(wrong))
    source = step_writers.column_map(tmp_path, "{step}.parquet", ("UTTF",))

    def settle(inspections):
        (one,) = inspections
        assert [f.what for f in one.findings] == ["polarity turned"]
        raise ParkfError("no")

    with pytest.raises(ParkfError, match="no"):
        import_steps(source, tmp_path / "out", field=field, polarity=None, settle=settle, threads=1)
    assert not list((tmp_path / "out").iterdir())


def test_hops_of_the_scifi_go_from_layer_to_layer_two_sets_for_each(geometry):
    """Sets 0 and 1 are the first hop, below and above the beam, and 20 and 21 are the last one."""
    sets, y = np.repeat(np.arange(22), 5), np.tile([-900.0, -300.0, 10.0, 300.0, 900.0], 22)
    z0, _, dzdy = geometry.planes()[SCIFI_PLANES].T
    ends = {f"z{end}": (z0 + dzdy * y[:, None])[np.arange(110), sets // 2 + end] for end in (0, 1)}
    rows = {"set": sets, **ends, **dict.fromkeys(("x0", "x1"), 0 * y), **dict.fromkeys(("y0", "y1"), y)}
    assert plane_faults(rows, "T", geometry) == []
    rows["set"] = sets - 1
    (found,) = plane_faults(rows, "T", geometry)
    assert found.what.startswith("set 1 begins at another z")
