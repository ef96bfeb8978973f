"""Stage ``likeness``: the embedded simulation beside another one."""

from collections.abc import Sequence
from pathlib import Path

from parkf.io.files import read_json, write_sealed
from parkf.report.likeness import write_likeness
from parkf.stages.files import AllRead, Made, Read


def likeness(
    *,
    embedded: Read,
    other: Read,
    measured: AllRead,
    searches: AllRead,
    fits: list[str],
    kinds: list[str],
    output: Made,
    figures: Made,
) -> None:
    """Write the page that compares two simulations, and the other's `figures` for gates.

    Parameters
    ----------
    embedded, other
        Figures by ``characterise``.
    measured, searches
        Figures by ``measure`` for each of the `fits`, and by ``characterise_search`` for each of the `kinds`
        of segments: the embedded simulation's, then the other's.
    """
    of_fits = _pairs(fits, measured)
    write_likeness(embedded, other, of_fits, output, searches=_pairs(kinds, searches))
    theirs = {name: read_json(path) for name, (_, path) in of_fits.items()}
    # The full fit uses no set; all other fits used the same one.
    sets = [fit.pop("set") for fit in theirs.values()]
    write_sealed(figures, {"set": next((one for one in sets if one), None), "fits": theirs})


def _pairs(names: Sequence[str], files: Sequence[Path]) -> dict[str, tuple[Path, Path]]:
    pairs = zip(files[::2], files[1::2], strict=True)
    return dict(zip(names, pairs, strict=True))
