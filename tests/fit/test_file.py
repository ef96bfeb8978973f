from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kalman_toy import generate

from parkf.fit import cpu, fit, fit_file, fitter
from parkf.fit.fitted import common_set, fitted_with, set_metadata
from parkf.fit.hits import from_arrow
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.planes import RICH_PLANES
from parkf.io.tables import CANDIDATES, FITTED, MEASURED, gather
from parkf.params.ghost_score import NUMBERS, Score
from parkf.params.parameter_set import with_blobs

from ..rows import candidates as rows
from ..sets import toy_set


@pytest.fixture(scope="module")
def toy():
    return generate(1000, 6000.0, seed=21)


@pytest.fixture
def files(toy, tmp_path, monkeypatch):
    """A file of candidates; every folder of parameters loads as the toy's set."""
    monkeypatch.setattr(fitter, "load", lambda folder, **_: toy.parameters)
    monkeypatch.setattr(fitter, "BATCH", 300)
    with CANDIDATES.writer(tmp_path / "candidates.parquet") as writer:
        writer.write_table(rows(toy))
    return SimpleNamespace(
        set=tmp_path, candidates=tmp_path / "candidates.parquet", fitted=tmp_path / "fitted.parquet"
    )


def test_a_file_is_fitted_as_its_rows_are(toy, files):
    assert fit_file(files.set, files.candidates, files.fitted, threads=2).count == 1000
    table = FITTED.open(files.fitted).read()
    expected = fit(toy.parameters, rows(toy))
    for name in ("z", "x", "qop", "xx", "chi2_scifi"):
        np.testing.assert_array_equal(table.column(name).to_numpy(), getattr(expected, name))
    np.testing.assert_array_equal(table.column("event").to_numpy(), np.arange(1000) // 10)
    np.testing.assert_array_equal(table.column("candidate").to_numpy(), np.arange(1000) % 10)


def test_ghost_scores_are_written_beside_their_fits(toy, files, monkeypatch):
    bare, numbers = toy_set(toy), np.random.default_rng(5).normal(size=NUMBERS).astype(np.float32)
    scored = with_blobs(bare.manifest, bare.constant, bare.table, Score(numbers, 1, 1))
    monkeypatch.setattr(fitter, "load", lambda folder, **_: scored)
    fit_file(files.set, files.candidates, files.fitted, score=True)
    table = pq.read_table(files.fitted)
    expected = fit(scored, rows(toy), score=True).more
    assert set(expected) == {"score", "score_kinematic"}
    for name, values in expected.items():
        np.testing.assert_array_equal(table.column(name).to_numpy(), values)


def test_candidates_of_data_have_no_truth(toy, files):
    """Fits give the same bytes with and without the columns that only a simulation has."""
    fit_file(files.set, files.candidates, files.fitted)
    expected = files.fitted.read_bytes()
    with MEASURED.writer(files.candidates) as writer:
        writer.write_table(rows(toy).drop_columns(["particle", "purity"]))
    fit_file(files.set, files.candidates, files.fitted)
    assert files.fitted.read_bytes() == expected


def test_chunks_that_are_fitted_apart_give_the_same_bytes(toy, files, tmp_path):
    fit_file(files.set, files.candidates, files.fitted)
    parts = []
    for begin, end in ((0, 410), (410, 1000)):
        with CANDIDATES.writer(tmp_path / "chunk.parquet") as writer:
            writer.write_table(rows(toy).slice(begin, end - begin))
        parts.append(tmp_path / f"{begin}.parquet")
        fit_file(files.set, tmp_path / "chunk.parquet", parts[-1])
    gather(parts, tmp_path / "gathered.parquet")
    assert sha256(tmp_path / "gathered.parquet") == sha256(files.fitted)


def test_a_fitted_file_says_with_which_set(toy, files, tmp_path):
    fit_file(files.set, files.candidates, files.fitted)
    assert fitted_with(files.fitted) == toy.parameters.manifest.blobs.fingerprints()
    with FITTED.writer(tmp_path / "without.parquet") as writer:
        writer.write_table(FITTED.open(files.fitted).read().replace_schema_metadata(FITTED.schema.metadata))
    assert fitted_with(tmp_path / "without.parquet") is None
    both = (tmp_path / "without.parquet", files.fitted)
    assert common_set(both) == fitted_with(files.fitted)
    other = toy.parameters.manifest.blobs.model_copy(
        update={"table": toy.parameters.manifest.blobs.table.model_copy(update={"sha256": "1" * 64})}
    )
    with FITTED.writer(tmp_path / "other.parquet", set_metadata(other)) as writer:
        writer.write_table(FITTED.open(files.fitted).read())
    again = tmp_path / "again.parquet"
    again.write_bytes(files.fitted.read_bytes())
    # The message names the first file with a set, whatever files follow it.
    with pytest.raises(
        ParkfError, match=r"other\.parquet: fitted with another parameter set than .*/fitted\."
    ):
        common_set((*both, again, tmp_path / "other.parquet"))


def test_rich_states_are_columns_of_their_own(toy, files):
    fit_file(files.set, files.candidates, files.fitted, rich_states=True)
    table = FITTED.open(files.fitted).read()
    _, states = cpu.fit_with_rich(toy.parameters, from_arrow(rows(toy), "float32"), threads=1)
    for z in RICH_PLANES:
        got = table.column(f"state_{z}").combine_chunks().flatten().to_numpy().reshape(-1, 4)
        np.testing.assert_array_equal(got, states[f"state_{z}"])


@pytest.mark.parametrize("asked", [{"rich_states": True}, {"robust": True}, {"origin": "first-hit"}])
def test_options_that_a_scheme_does_not_have(files, asked):
    with pytest.raises(ParkfError, match=f"scheme 'trigger': .* alone; leave out {next(iter(asked))}"):
        fit_file(files.set, files.candidates, files.fitted, scheme="trigger", **asked)
    assert not files.fitted.exists()


def test_memory_does_not_grow_with_the_file(toy, files, monkeypatch):
    """Two hundred batches need no more memory than a few: only the results of each batch are kept."""
    tracks = rows(toy).slice(0, 300)
    with CANDIDATES.writer(files.candidates) as writer:
        for _ in range(200):
            writer.write_table(tracks)
    used = []
    write = fitter.fit

    def fit_and_look(*arguments, **options):
        used.append(pa.total_allocated_bytes())
        return write(*arguments, **options)

    monkeypatch.setattr(fitter, "fit", fit_and_look)
    assert fit_file(files.set, files.candidates, files.fitted).count == 60000
    assert len(used) == 200
    assert max(used[100:]) < 1.5 * max(used[:20])


def test_sliced_batches_keep_their_rows(toy):
    part = from_arrow(rows(toy).slice(17, 40), np.dtype("float32"))
    np.testing.assert_array_equal(part.velo[0], toy.arrays["velo_x"][17:57].astype(np.float32))


def test_an_empty_file_gives_an_empty_file(toy, files):
    with CANDIDATES.writer(files.candidates) as writer:
        writer.write_table(rows(toy).slice(0, 0))
    assert fit_file(files.set, files.candidates, files.fitted).count == 0
    assert FITTED.open(files.fitted).metadata.num_rows == 0


def test_bad_rows_leave_nothing_behind(toy, files):
    table = rows(toy)
    polarity = table.column("polarity").to_numpy().copy()
    polarity[700] = 0
    index = table.schema.get_field_index("polarity")
    with CANDIDATES.writer(files.candidates) as writer:
        writer.write_table(table.set_column(index, table.schema.field(index), pa.array(polarity)))
    with pytest.raises(ParkfError, match=r"'polarity', row 700: got 0, expected \+1 \(MagUp\) or -1"):
        fit_file(files.set, files.candidates, files.fitted)
    assert sorted(p.name for p in files.set.iterdir()) == ["candidates.parquet"]
