"""Candidates for the full fit whose true states are known."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from parkf.fit.hits import from_arrow
from parkf.io.tables import CANDIDATES, PARTICLES
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate

from ..gun import shoot


def tracks(folder, geometry, field, *, events, seed, p_range=(3000.0, 100_000.0)):
    """Candidates of pions from the origin, matched to the truth, and the pions' true states there."""
    paths = {name: folder / f"{name}.parquet" for name in ("particles", "hits", "candidates")}
    columns = shoot(events=events, per_event=25, seed=seed, p_range=p_range)
    with PARTICLES.writer(paths["particles"]) as writer:
        writer.write_table(pa.table(columns, schema=PARTICLES.schema))
    detector = {"geometry": geometry, "field": field, "polarity": -1}
    simulate(paths["particles"], None, paths["hits"], **detector, seed=seed, threads=2)
    find_candidates(paths["hits"], paths["candidates"], **detector, workers=2, matched=True)
    table = CANDIDATES.open(paths["candidates"]).read()
    row = 25 * table["event"].to_numpy() + table["particle"].to_numpy()
    p = np.sqrt(columns["px"] ** 2 + columns["py"] ** 2 + columns["pz"] ** 2)
    truth = {
        "tx": (columns["px"] / columns["pz"])[row],
        "ty": (columns["py"] / columns["pz"])[row],
        "qop": (columns["charge"] / p)[row],
    }
    return SimpleNamespace(candidates=from_arrow(table, np.dtype(np.float64)), truth=truth)
