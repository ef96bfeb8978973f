"""The page of kinds of tracks has the figures of each kind, and of decays alone that were measured."""

from parkf.report.figures import COMPONENTS
from parkf.report.kinds_page import kinds_page


def figures(**numbers):
    return numbers | {f"{name}_error": 0.001 for name in numbers}


def test_a_kind_has_its_figures_and_the_decays_that_were_measured():
    widths = {name: figures(width=1.0 + 0.1 * i) for i, name in enumerate(COMPONENTS)}
    one = {
        "p_min": 5.0,
        "p_max": 10.0,
        "n": 321,
        "pulls": widths,
        **figures(core=0.007, bias=-0.003, qop_bias=-0.0002),
    }
    mass = {"n": 45, "vertex": figures(width=12.3, pull_width=1.02)}
    mass |= figures(mean=0.11, width=3.21, width_over_full=1.01, seed_over_width=2.5)
    content = {"momentum": [one], "directions": [], "decays": {"ks": mass, "lambda": None}}
    (shown,) = kinds_page({"downstream": content, "scifi": {"momentum": []}})["kinds"]
    assert shown["title"] == "Downstream tracks"
    (row,) = shown["table"].rows
    assert row[:3] == ["5–10", "321", "0.700 ± 0.100"]
    assert row[4:] == ["-0.020 ± 0.100", *(f"{1.0 + 0.1 * i:.3f} ± 0.001" for i in range(5))]
    (row,) = shown["decays"].rows
    assert row[1:4] == ["45", "+0.11 ± 0.00", "3.21 ± 0.00"]
    assert row[-2:] == ["12.3 ± 0.0", "1.020 ± 0.001"]
