"""Candidates of another detector than the set's are refused, and candidates of its own are not."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.mismatches.__main__ import changed
from tools.mismatches.wrong import MISTAKES

import parkf
from parkf.fit import fit_file
from parkf.fit.detector_check import DetectorCheck
from parkf.fit.displaced import MOTIONS, Distance, Motion, _distances, fit_moved
from parkf.fit.hits import from_arrow
from parkf.fit.suspicions import _placed, suspicions
from parkf.io.checksums import is_sealed
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.detector import PREFIX, detector_metadata, recorded_detector
from parkf.io.tables import FITTED, MEASURED
from parkf.params.parameter_set import load
from parkf.params.validity import shown_validity

ROOT = Path(__file__).parents[2]
SET = ROOT / "params/2026-run3-like-2-r018"
EXAMPLE = ROOT / "examples/candidates.parquet"
GEOMETRY, ALIGNMENT = (ROOT / f"data/geometry/{name}.yaml" for name in ("run3", "alignment_nominal"))


@pytest.fixture(scope="module")
def example():
    """Candidates of the embedded simulation in MagUp."""
    found = pq.read_table(EXAMPLE)
    return found.filter(pa.array(found.column("polarity").to_numpy() == 1))


@pytest.fixture(scope="module")
def record():
    """What parkf writes about the detector of the set."""
    inputs = load(SET).manifest.inputs
    prints = {name: inputs[name] for name in ("geometry", "alignment", "field")}
    return {PREFIX + name: value for name, value in (prints | {"polarity": "+1"}).items()}


def fit_of(rows, folder, record=None, *, sealed=True, trust=False):
    """Write candidates with a record, as parkf or as another program does, and fit them."""
    path = folder / "candidates.parquet"
    if sealed:
        with MEASURED.writer(path, record) as writer:
            writer.write_table(rows.select(MEASURED.schema.names).cast(MEASURED.schema))
    else:
        metadata = {**MEASURED.schema.metadata, **(record or {})}
        pq.write_table(rows.replace_schema_metadata(metadata), path)
    return fit_file(SET, path, folder / "fitted.parquet", trust=trust, threads=1)


REFUSED = {
    "polarity turned": "100 % of fitted q/p have the other sign than the candidates' own",
    "polarity of a third of the rows turned": "of fitted q/p have the other sign .*for some of them",
    "SciFi z + 5 mm": r"SciFi layer 0: z of its hits is 7831 mm \(\+5 mm\), expected 7826 mm; 12 layers",
    "SciFi x + 1 mm": r"SciFi by \+(0\.[89]|1)\S* ± \S+ mm in x \(expected within 0\.4 mm\)",
    "SciFi dx/dy turned": r"SciFi layer 1: dx/dy of its hits is -0\.087489",
    "VELO halves 0.6 mm too far apart, each": r"each half of the VELO by \+0\.\S+ ± \S+ mm in x",
    "UT hits of the next candidate": "UT hits: median χ²/ndof",
    "no VELO hits: downstream tracks": "100 % of the candidates have few_velo_hits: .*downstream",
}


@pytest.mark.parametrize(("mistake", "message"), REFUSED.items())
def test_mistakes_are_refused_with_their_size(example, tmp_path, mistake, message):
    with pytest.raises(ParkfError, match=message) as raised:
        fit_of(changed(example, MISTAKES[mistake]), tmp_path)
    first, *_, last = str(raised.value).splitlines()
    assert str(tmp_path / "candidates.parquet") in first
    assert str(SET) in first
    assert "--trust" in last
    # Nothing is half written.
    assert [path.name for path in tmp_path.iterdir()] == ["candidates.parquet"]


def test_ut_errors_that_no_strip_has_are_named(example, tmp_path):
    notes = fit_of(changed(example, MISTAKES["UT errors pitch/12 in place of pitch/√12"]), tmp_path).notes
    assert any(
        re.match(r"doubtful: UT hits: a median error of 0\.00\d+ mm, expected", note) for note in notes
    )
    assert not any("a median error" in note for note in fit_of(example, tmp_path).notes)


def test_momenta_in_another_unit_are_refused_before_any_fit(example, tmp_path):
    with pytest.raises(ParkfError, match=r"column 'qop' has the median .*, expected 1/MeV"):
        fit_of(changed(example, MISTAKES["q/p in 1/GeV"]), tmp_path)


def test_a_displacement_is_measured_with_its_error(example):
    parameters = load(SET)
    for column, by in (("scifi_x", 1.0), ("ut_x", -0.6), ("velo_z", 20.0)):
        rows = changed(example, lambda columns, c=column, d=by: columns.update({c: columns[c] + d}))
        _, distances = fit_moved(parameters, from_arrow(rows, "float64"))
        detector, axis = column.split("_")
        (found,) = (
            one
            for one in distances
            if (one.motion.detector, one.motion.axis, one.where) == (detector, axis, "")
        )
        assert abs(found.value - by) < 4 * found.error
        assert found.significance > 5


def test_a_distance_is_the_minimum_of_parabolas_and_bad_ones_do_not_count(example):
    """χ² of 200 tracks, each with its own error. Fifty fits have failed, or have no minimum."""
    random, step, by = np.random.default_rng(1), 0.5, 0.3
    sigma = random.uniform(0.05, 1.0, 200)
    away = random.normal(by, sigma)
    chi2 = np.array([(away + moved) ** 2 / sigma**2 for moved in (0, step, -step)])
    good = np.ones((3, 200), bool)
    for row in range(3):
        good[row, 10 * row : 10 * row + 10], chi2[row, 10 * row : 10 * row + 10] = False, 1e6
    chi2[0, 30:50] += 2 * (step / sigma[30:50]) ** 2  # a maximum instead of a minimum
    tracks = from_arrow(example.slice(0, 200), "float64")
    with np.errstate(invalid="ignore"):
        (found,) = _distances([Motion("scifi", "x", step, 0.4)], tracks, chi2, good)
    assert found.error == pytest.approx(np.sqrt(np.pi / 2) * np.sqrt(150) / (1 / sigma[50:]).sum(), rel=0.2)
    assert abs(found.value - by) < 3 * found.error


@pytest.mark.parametrize("motion", MOTIONS, ids=lambda one: f"{one.detector} {one.axis}")
def test_distances_are_tolerated_where_alignments_leave_them(motion):
    """A detector that stands 2 mm elsewhere along z moves hits by a tenth of it, for slopes of a tenth."""
    small, large = (2.0, 6.0) if motion.axis == "z" else (0.1, 0.7)
    assert not list(_placed([Distance(motion, small, 1e-3)], 5.0))
    (found,) = _placed([Distance(motion, -large, 1e-3)], 5.0)
    assert found.verdict == "wrong"
    assert not list(_placed([Distance(motion, large, large / 4)], 5.0))


def test_a_few_wrong_signs_are_named_and_fitted(example, tmp_path):
    def turned(columns):
        columns["polarity"] = np.where(np.arange(example.num_rows) % 8 == 0, -1, 1) * columns["polarity"]

    notes = fit_of(changed(example, turned), tmp_path).notes
    assert any(note.startswith("doubtful: 12 % of fitted q/p have the other sign") for note in notes)


def test_the_error_of_a_median_of_chi2_is_told(example):
    """A median of N values of χ² with n degrees of freedom has an error of about √(π/nN) of it."""
    tracks = from_arrow(changed(example, MISTAKES["UT hits of the next candidate"]), "float32")
    (ut,) = (str(one) for one in suspicions(load(SET), tracks) if "UT hits: median" in str(one))
    middle, error = map(float, re.search(r"χ²/ndof (\S+) ± (\S+),", ut).groups())
    assert 0.03 < error / middle < 0.2


def test_a_sample_gives_a_hint_before_it_proves_anything(example, monkeypatch):
    """A median of χ² just at its bound lets a larger sample decide, and is no reason by itself."""
    tracks, parameters = from_arrow(example, "float32"), load(SET)

    def told(least, significance):
        monkeypatch.setattr("parkf.fit.suspicions._CHI2", {"scifi": (least, 1e9)})
        found = map(str, suspicions(parameters, tracks, significance, moved=False))
        return [text for text in found if "SciFi hits: median" in text]

    (text,) = told(100.0, 5.0)
    median = float(re.search(r"χ²/ndof (\S+) ±", text)[1])
    assert told(median, 2.5)
    assert not told(median, 5.0)
    assert not told(0.8 * median, 2.5)


def test_trusted_candidates_are_fitted_and_the_summary_names_the_size(example, tmp_path):
    summary = fit_of(changed(example, MISTAKES["SciFi x + 1 mm"]), tmp_path, trust=True)
    assert summary.count == example.num_rows
    assert any("SciFi by +" in line for line in summary.lines())


@pytest.mark.parametrize("count", [1, 3, 10, 60])
def test_few_candidates_are_fitted(example, tmp_path, count):
    summary = fit_of(example.slice(7, count), tmp_path)
    assert summary.count == count
    # Without a record nobody knows whether polarity and charge are turned together.
    assert [line.split(":")[0] for line in summary.notes] == ["polarity"]


def test_repeated_candidates_count_once(example, tmp_path):
    """Copies of three candidates fluctuate as three candidates do."""
    assert fit_of(pa.concat_tables([example.slice(0, 3)] * 4000), tmp_path).count == 12_000


def test_later_batches_are_compared_too(example, tmp_path):
    honest = pa.concat_tables([example.select(MEASURED.schema.names)] * 50)
    turned = changed(example, MISTAKES["polarity turned"])
    with pytest.raises(ParkfError, match="of fitted q/p have the other sign"):
        fit_of(pa.concat_tables([honest, *[turned] * 50]), tmp_path)
    assert not (tmp_path / "fitted.parquet").exists()


def test_a_record_of_the_sets_detector_is_silent(example, tmp_path, record):
    assert fit_of(example, tmp_path, record).notes == []
    kept = recorded_detector(FITTED.open(tmp_path / "fitted.parquet").schema_arrow.metadata)
    assert {PREFIX + name: value for name, value in kept.items()} == record


@pytest.mark.parametrize("name", ["geometry", "alignment", "field"])
def test_a_record_of_another_detector_is_refused(example, tmp_path, record, name):
    other = record | {PREFIX + name: "0123456789ab" + 52 * "0"}
    expected = load(SET).manifest.inputs[name][:12]
    with pytest.raises(ParkfError, match=f"another {name}: 0123456789ab… .*expected {expected}…"):
        fit_of(example, tmp_path, other)
    assert fit_of(example, tmp_path, other, trust=True).notes[0].startswith(f"wrong: another {name}")


def test_a_record_of_the_other_polarity_is_refused(example, tmp_path, record):
    """Charge and polarity turned together look right in hits, and only the record shows it."""

    def both(columns):
        columns["polarity"], columns["qop"] = -columns["polarity"], -columns["qop"]

    assert fit_of(changed(example, both), tmp_path).count == example.num_rows
    (tmp_path / "fitted.parquet").unlink()
    with pytest.raises(ParkfError, match=r"polarity: \+1 is recorded, rows have the other one"):
        fit_of(changed(example, both), tmp_path, record)


def test_hits_that_another_program_changed_are_refused_whatever_is_recorded(example, tmp_path, record):
    rows = changed(example, MISTAKES["SciFi x + 1 mm"])
    # As parkf wrote it, the set is perhaps poor, but it is for this detector.
    assert any("SciFi by +" in note for note in fit_of(rows, tmp_path, record).notes)
    assert is_sealed(tmp_path / "candidates.parquet")
    with pytest.raises(ParkfError, match=r"SciFi by \+"):
        fit_of(rows, tmp_path, record, sealed=False)
    assert not is_sealed(tmp_path / "candidates.parquet")


def test_documents_with_the_same_meaning_are_the_same_detector(example, tmp_path):
    """The first published sets have fingerprints of the files' bytes; r011 has those of their meaning."""
    first, later = (load(ROOT / f"params/2026-run3-like-2-r0{n}").manifest.inputs for n in ("07", "11"))
    assert first["geometry"] != later["geometry"]
    record = {PREFIX + name: later[name] for name in ("geometry", "alignment", "field")}
    path = tmp_path / "candidates.parquet"
    with MEASURED.writer(path, record) as writer:
        writer.write_table(example.select(MEASURED.schema.names).cast(MEASURED.schema))
    fitted = fit_file(ROOT / "params/2026-run3-like-2-r007", path, tmp_path / "f.parquet", threads=1)
    assert not any("another" in note for note in fitted.notes)


def test_metadata_of_candidates_are_fingerprints_of_the_files(tmp_path):
    field = tmp_path / "field.npz"
    field.write_bytes(b"a map")
    metadata = detector_metadata(GEOMETRY, ALIGNMENT, field, -1)
    found = recorded_detector({key.encode(): value.encode() for key, value in metadata.items()})
    inputs = load(SET).manifest.inputs
    assert (found["geometry"], found["alignment"]) == (inputs["geometry"], inputs["alignment"])
    assert found["polarity"] == "-1"
    assert detector_metadata(GEOMETRY, None, field, 1)[PREFIX + "alignment"] == "none"


def test_the_front_door_refuses_and_warns(example):
    parameters = parkf.load(SET)
    wrong = changed(example, MISTAKES["SciFi z + 5 mm"])
    with pytest.raises(ParkfError, match=r"SciFi layer 0: z of its hits is 7831 mm"):
        parameters.fit(wrong)
    with pytest.warns(UserWarning, match=r"SciFi layer 0: z of its hits is 7831 mm"):
        assert len(parameters.fit(wrong, trust=True)) == example.num_rows
    assert len(parameters.fit(example)) == example.num_rows


def test_the_front_door_reads_the_record_of_a_table(example, record):
    metadata = {**MEASURED.schema.metadata, **record, PREFIX + "geometry": 64 * "0"}
    with pytest.raises(ParkfError, match="another geometry"):
        parkf.load(SET).fit(example.replace_schema_metadata(metadata))


@pytest.mark.parametrize("qop", [0.0, np.nan])
def test_a_sample_without_momenta_is_named(example, qop):
    tracks = from_arrow(example, "float32")
    early = suspicions(load(SET), replace(tracks, qop=np.full_like(tracks.qop, qop)))
    assert any("q/p: a median momentum of" in str(one) for one in early)


def test_a_set_of_one_polarity_says_so_of_candidates_of_the_other(example, tmp_path, record):
    parameters = load(SET)
    keys = parameters.manifest.configuration | {"polarities": '["down"]'}
    update = {"configuration": keys, "version": None, "state": "open"}
    manifest = parameters.manifest.model_copy(update=update)
    assert shown_validity(manifest) == "all data, MagDown alone"
    check = DetectorCheck(replace(parameters, manifest=manifest), "these", recorded_detector({}), sealed=True)
    check.add(from_arrow(example.select(MEASURED.schema.names), "float32"))
    said = "doubtful: polarity: MagUp among the candidates; the set was trained and proven with MagDown alone"
    assert said in check.notes
    assert shown_validity(parameters.manifest) == "all data"
