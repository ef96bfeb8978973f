"""The page of kinds of tracks has the figures of each kind, and of electrons."""

from markupsafe import Markup

from parkf.report.figures import COMPONENTS
from parkf.report.kinds_page import kinds_page


def plain(cells):
    """Return the rows of a table as people read them."""
    return [[Markup(cell).striptags() for cell in row] for row in cells.rows]


def figures(**numbers):
    return numbers | {f"{name}_error": 0.001 for name in numbers}


def test_a_kind_has_its_figures():
    widths = {name: figures(width=1.0 + 0.1 * i) for i, name in enumerate(COMPONENTS)}
    one = {
        "p_min": 5.0,
        "p_max": 10.0,
        "n": 321,
        "pulls": widths,
        **figures(core=0.007, bias=-0.003, qop_bias=-0.0002),
    }
    found = {"p_min": 5.0, "n": 400, "efficiency": 0.8, "efficiency_error": 0.02}
    content = {"momentum": [one], "search": {"efficiency": [found]}}
    shown = kinds_page({"downstream": content, "scifi": {"momentum": []}})["kinds"]
    assert [*shown] == ["downstream"]
    (row,) = plain(shown["downstream"])
    assert row[:4] == ["5–10", "321", "80.0 ± 2.0", "0.700 ± 0.100"]
    widths = [f"{1.0 + 0.1 * i:.3f} ± 0.001" for i in range(5)]
    assert row[5:] == ["-0.020 ± 0.100", *widths]


def test_electrons_have_a_section_where_they_were_measured():
    momenta = figures(
        most_probable=0.001,
        pion_most_probable=-0.004,
        width68=0.25,
        pion_width68=0.29,
        width68_over_pion=0.87,
        inside=0.71,
        pion_inside=0.08,
    )
    mass = figures(
        most_probable=3050.0,
        pion_most_probable=2990.0,
        width68=600.0,
        pion_width68=590.0,
        width68_over_pion=1.02,
        pion_near=0.1,
        near=0.15,
    )
    tracks = {"collisions": {"n": 900, **momenta}}
    peaks = {"jpsi-ee": {"n": 700, **mass}}
    page = kinds_page({"electron": {"tracks": tracks, "peaks": peaks}})
    assert page["kinds"] == {}
    (row,) = plain(page["electrons"])
    assert row[:5] == ["collisions", "900", "+0.10 ± 0.10", "-0.40 ± 0.10", "25.0 ± 0.1"]
    (row,) = plain(page["peaks"])
    assert row[:4] == ["J/ψ → ee", "700", "2990 ± 0 MeV", "3050 ± 0 MeV"]
    assert kinds_page({})["electrons"].rows == []
