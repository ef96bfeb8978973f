"""Stage ``gather``: one file of all chunks of a sample."""

from parkf.io.tables import gather as join
from parkf.stages.files import AllRead, Made


def gather(*, chunks: AllRead, output: Made) -> None:
    """Join the chunks of a table in their order."""
    join(chunks, output)
