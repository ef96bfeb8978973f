"""Stage ``import_hits``: hits and particles of another simulation."""

from parkf.imports.hits.take import take_tables
from parkf.stages.files import Made, Read


def import_hits(*, source: Read, tracks: Read, hits: Made, particles: Made) -> None:
    """Import hits and their particles from two Parquet files."""
    take_tables(source, tracks, hits_to=hits, particles_to=particles)
