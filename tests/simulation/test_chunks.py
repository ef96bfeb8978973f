"""A sample made in chunks has the same bytes as one made at once, from particles to candidates."""

from parkf.io.files import sha256
from parkf.io.tables import PARTICLES, gather
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate


def test_chunks_do_not_change_a_byte(tmp_path, geometry, field, collisions):
    particles = PARTICLES.open(collisions.paths["particles"]).read()
    event = particles["event"].to_numpy()
    common = {"geometry": geometry, "field": field, "polarity": -1}
    products = ("states", "hits", "candidates")
    parts = {name: [tmp_path / f"{name}-{number}.parquet" for number in range(2)] for name in products}
    for number, (begin, end) in enumerate(((0, 20), (20, 50))):
        states, hits, candidates = (parts[name][number] for name in products)
        with PARTICLES.writer(tmp_path / "particles.parquet") as writer:
            writer.write_table(particles.filter((event >= begin) & (event < end)))
        simulate(tmp_path / "particles.parquet", states, hits, seed=3, threads=1, **common)
        find_candidates(hits, candidates, workers=1, **common)
    for name in products:
        gather(parts[name], tmp_path / "gathered.parquet")
        assert sha256(tmp_path / "gathered.parquet") == sha256(collisions.paths[name]), name
