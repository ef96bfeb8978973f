"""Rows of tables for tests: from columns of NumPy, of toy candidates, of the dataset of a step."""

import numpy as np
import pyarrow as pa

from parkf.io.tables import CANDIDATES, Table


def arrow(table: Table, columns: dict[str, object]) -> pa.Table:
    """Make a table of its columns; two-dimensional arrays become lists of one length."""

    def column(name: str, kind: pa.DataType) -> pa.Array:
        values = columns[name]
        if not isinstance(values, np.ndarray):
            return pa.array(values, kind)
        if pa.types.is_fixed_size_list(kind):
            flat = pa.array(values.ravel().astype(np.float32))
            return pa.FixedSizeListArray.from_arrays(flat, kind.list_size)
        return pa.array(values).cast(kind, safe=False)

    return pa.table([column(name, kind) for name, kind in table.columns], schema=table.schema)


def candidates(toy, **columns) -> pa.Table:
    """Return a toy's candidates, ten of an event, with some columns replaced."""
    n = len(toy.arrays["qop"])
    keys = {"event": np.arange(n) // 10, "candidate": np.arange(n) % 10, "particle": np.arange(n)}
    return arrow(CANDIDATES, toy.arrays | keys | {"purity": np.ones(n)} | columns)


def step_rows(rows: int) -> dict[str, np.ndarray]:
    """Return columns of a valid dataset of the step VUT."""
    random = np.random.default_rng(1)
    charge = random.choice([-1, 1], rows)
    p = random.uniform(2e3, 5e4, rows)
    columns = {
        "event": np.arange(rows) // 10,
        "particle": np.arange(rows) % 10,
        "pdg_id": 211 * charge,
        "charge": charge,
        "polarity": random.choice([-1, 1], rows),
        "set": np.zeros(rows),
        "qop": charge / p,
        "z0": np.full(rows, 700.0),
        "z1": np.full(rows, 2327.5),
        "p_true": p - 3.0,
    }
    for name, limit in (("x", 100), ("y", 100), ("tx", 0.2), ("ty", 0.2)):
        for place in "01e":
            columns[name + place] = random.uniform(-limit, limit, rows)
    return columns
