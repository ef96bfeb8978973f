"""The page on limits shows the figures that the benchmark on electrons has measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_losses_of_electrons_are_the_measured_ones():
    page = " ".join((ROOT / "docs/explanation/limits.md").read_text().split())
    found = json.loads((ROOT / "benchmarks/results/electrons.json").read_text())
    for name, digits in (("embedded", 1), ("lhcb", 0)):
        one = {key: 100 * value for key, value in found[name].items() if key not in ("tracks", "electrons")}
        assert f"{-one['median']:.1f} ± {one['median_error']:.1f} %" in page
        assert f"{one['beyond']:.{digits}f} ± {one['beyond_error']:.{digits}f} %" in page
