from types import SimpleNamespace

import pyarrow as pa
import pytest

from parkf.io.tables import CANDIDATES, FATES, HITS, PARTICLES, STATES
from parkf.simulation.generate.collisions import generate
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate

from ..gun import shoot


@pytest.fixture(scope="session")
def collisions(tmp_path_factory, geometry, field):
    """A small sample through the whole chain, MagDown: paths and tables as data frames."""
    folder = tmp_path_factory.mktemp("collisions")
    tables = {
        "particles": PARTICLES,
        "states": STATES,
        "hits": HITS,
        "fates": FATES,
        "candidates": CANDIDATES,
    }
    paths = {name: folder / f"{name}.parquet" for name in tables}
    generate(paths["particles"], beam=geometry.beam, events=50, seed=3, pile_up=5.5, workers=2)
    simulate(
        paths["particles"],
        paths["states"],
        paths["hits"],
        paths["fates"],
        geometry=geometry,
        field=field,
        polarity=-1,
        seed=3,
        threads=2,
    )
    find_candidates(
        paths["hits"], paths["candidates"], geometry=geometry, field=field, polarity=-1, workers=2
    )
    frames = {name: table.open(paths[name]).read().to_pandas() for name, table in tables.items()}
    return SimpleNamespace(paths=paths, events=50, **frames)


@pytest.fixture(scope="session")
def gun_particles(tmp_path_factory):
    """Pions from the origin, as a table on disk and as columns."""
    path = tmp_path_factory.mktemp("gun") / "particles.parquet"
    columns = shoot(events=40, per_event=25, seed=11)
    with PARTICLES.writer(path) as writer:
        writer.write_table(pa.table(columns, schema=PARTICLES.schema))
    return SimpleNamespace(path=path, columns=columns)
