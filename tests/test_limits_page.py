"""The page on limits shows the figures that the benchmarks on electrons and on far hits have measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_losses_of_electrons_are_the_measured_ones():
    page = " ".join((ROOT / "docs/explanation/limits.md").read_text().split())
    found = json.loads((ROOT / "benchmarks/results/electrons.json").read_text())
    for name, digits in (("embedded", 1), ("lhcb", 0)):
        names = (f"{what}{kind}" for what in ("median", "beyond") for kind in ("", "_error"))
        one = {key: 100 * found[name][key] for key in names}
        assert f"{-one['median']:.1f} ± {one['median_error']:.1f} %" in page
        assert f"{one['beyond']:.{digits}f} ± {one['beyond_error']:.{digits}f} %" in page


def test_shares_of_tracks_with_far_hits_are_the_measured_ones():
    page = " ".join((ROOT / "docs/explanation/limits.md").read_text().split())
    found = json.loads((ROOT / "benchmarks/results/far_hits.json").read_text())["schemes"]
    for name, digits in (("genuine", 2), ("ghosts", 1)):
        share, error = (100 * found["parkf"][name + what] for what in ("", "_error"))
        assert f"{share:.{digits}f} ± {error:.{digits}f} %" in page
    # The bar for hits that were moved, of each scheme.
    moved = [one[name] for one in found.values() for name in ("velo", "ut", "scifi")]
    assert len(moved) == 9
    assert min(moved) > 0.99
