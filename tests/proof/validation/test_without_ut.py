"""Candidates without their UT hits; whole runs hold the figures (tests/runs/test_run.py)."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parkf.io.arrow import numbers
from parkf.io.tables import CANDIDATES, MEASURED
from parkf.proof.validation.fitting import write_changed
from parkf.proof.validation.kinds import _without_ut

EXAMPLE = Path(__file__).parents[3] / "examples/candidates.parquet"


def test_only_the_ut_hits_go(tmp_path):
    example = pq.read_table(EXAMPLE)
    truth = {"particle": np.arange(len(example), dtype=np.int32), "purity": np.ones(len(example), np.float32)}
    columns = {name: example.column(name) for name, _ in MEASURED.columns} | truth
    source, path = tmp_path / "candidates.parquet", tmp_path / "stripped.parquet"
    with CANDIDATES.writer(source, {"parkf.polarity": "up"}) as writer:
        writer.write_table(pa.table(columns, schema=CANDIDATES.schema))
    write_changed(source, path, _without_ut)
    stripped = CANDIDATES.open(path).read()
    assert stripped.schema.metadata == CANDIDATES.open(source).schema_arrow.metadata
    for name, _ in CANDIDATES.columns:
        before, after = columns[name], numbers(stripped.column(name).combine_chunks())
        if name.startswith("ut_"):
            assert after.shape == (len(example), 4)
            assert np.isnan(after).all()
        else:
            before = before if isinstance(before, np.ndarray) else numbers(before.combine_chunks())
            np.testing.assert_array_equal(before, after)
