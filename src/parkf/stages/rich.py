"""Stage ``rich``: the constants for states at the RICH planes."""

from parkf.detector.field import load_field
from parkf.stages.files import Made, Read
from parkf.training.rich import train_rich


def rich(*, velo: Read, ut: Read, scifi: Read, field: Read, output: Made, threads: int = 1) -> None:
    """Train the constants on the datasets of VUT (`velo`), UT and T (`scifi`)."""
    train_rich(velo, ut, scifi, load_field(field), threads=threads).save(output)
