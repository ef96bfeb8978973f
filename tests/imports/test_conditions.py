"""LHCb's conditions become displacements; parents move the elements mounted on them; the way back works."""

from pathlib import Path

import dump_writers
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from parkf.detector.alignment import Alignment, load_alignment
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, load_geometry
from parkf.imports.geometry.conditions import element_of, export_alignment
from parkf.imports.geometry.folder import import_conditions, import_dumps

ROOT = Path(__file__).parents[2]
BASE = ROOT / "data/geometry/run3.yaml"

TEXT = """
VP: !alignment {position: [0.01*mm, 0, 0], rotation: [0, 0, 0]}
VP/VPLeft: !alignment
  position: [-20.0*um, 0.003*cm, 0.0*mm]
  rotation: [0.1*mrad, -0.2*mrad, 3.0e-4]
VP/VPLeft/Module07WithSupport: !alignment {position: [0.005*mm, 0*mm, 0.1*mm], rotation: [0, 0, 0.5*mrad]}
UT: !alignment {position: [0.2*mm, 0*mm, 0*mm], rotation: [0, 0, 0]}
UTaU: !alignment {position: [0, 0, 1*mm], rotation: [0.5*mrad, 0, 0]}
UT/UTbX/Sector3: !alignment {position: [0.05*mm, 0, 0], rotation: [0, 0, 1*mrad]}
FT: !alignment {position: [0.3*mm, 0, 0], rotation: [0, 0, 0]}
FT/T2: !alignment {position: [0, 0, 2*mm], rotation: [0, 0, 0.4*mrad]}
FT/T2/LU: !alignment {position: [0, 0.1*mm, 0], rotation: [1*mrad, 0, 0]}
FT/T2/LU/HL1: !alignment {position: [0.07*mm, 0, 0], rotation: [0, 0.3*mrad, 0]}
FT/T2/LU/HL1/M2: !alignment {position: [-0.04*mm, 0, 0.2*mm], rotation: [0, 0, 0.6*mrad]}
FT/T2/LU/HL1/Q3/M2/Mat1: !alignment {position: [0.02*mm, 0, 0], rotation: [0, 0, 0.05*mrad]}
FT/T2/LU/HL1/M7: !alignment {position: [1*mm, 0, 0], rotation: [0, 0, 0]}
MagnetRegion/Rich1: !alignment {position: [1*mm, 0, 0], rotation: [0, 0, 0]}
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Geometry file with pieces, and the result of importing the conditions above into it."""
    folder = tmp_path_factory.mktemp("conditions")
    dumps = dump_writers.write(folder / "dumps", dump_writers.detector())
    import_dumps([dumps], base=BASE, geometry=folder / "g.yaml", alignment=folder / "none.yaml")
    (folder / "conditions.yaml").write_text(TEXT)
    told = import_conditions(
        [folder / "conditions.yaml"], folder / "a.yaml", geometry=folder / "g.yaml", tag=None
    )
    return folder, load_geometry(folder / "g.yaml"), load_geometry(folder / "g.yaml", folder / "a.yaml"), told


def _moved(points, centre, position, angles):
    """Turn points about a centre, about LHCb's axes x, then y, then z, and shift them."""
    return centre + Rotation.from_euler("xyz", angles).apply(points - centre) + position


def test_parents_move_what_is_mounted_on_them(places):
    _, nominal, geometry, _ = places
    plane = SCIFI_PLANES[5]
    before, after = nominal.pieces[plane], geometry.pieces[plane]
    number = 128 * 5 + 32 * 3 + 4 * 2 + 1
    one = int(np.flatnonzero(before.numbers == number)[0])
    corners = before.corners()
    quarter, module = before.numbers % 128 // 32, before.numbers % 32 // 4
    half = before.origin[quarter % 2 == 1].mean(axis=0)
    whole = before.origin[(quarter % 2 == 1) & (module == 2)].mean(axis=0)
    layers = np.array([nominal.frames[p].origin for p in SCIFI_PLANES])
    chain = (
        (before.origin[one], [0.02, 0, 0], [0, 0, 5e-5]),
        (whole, [-0.04, 0, 0.2], [0, 0, 6e-4]),
        (half, [0.07, 0, 0], [0, 3e-4, 0]),
        (layers[5], [0, 0.1, 0], [1e-3, 0, 0]),
        (layers[4:8].mean(axis=0), [0, 0, 2], [0, 0, 4e-4]),
        (layers.mean(axis=0), [0.3, 0, 0], [0, 0, 0]),
    )
    expected = corners[one]
    for step in chain:
        expected = _moved(expected, *step)
    np.testing.assert_allclose(after.corners()[one], expected, atol=1e-9)
    # The mat's neighbour on the module lacks the mat's own motion. A mat on the other half module also lacks
    # the motions of module and half module.
    neighbour = int(np.flatnonzero(before.numbers == number + 1)[0])
    expected = corners[neighbour]
    for step in chain[1:]:
        expected = _moved(expected, *step)
    np.testing.assert_allclose(after.corners()[neighbour], expected, atol=1e-9)
    across = int(np.flatnonzero(before.numbers == 128 * 5 + 4 * 2)[0])
    expected = corners[across]
    for step in chain[3:]:
        expected = _moved(expected, *step)
    np.testing.assert_allclose(after.corners()[across], expected, atol=1e-9)
    # The plane to which tracks are carried moves with its layer only.
    np.testing.assert_allclose(
        geometry.frames[plane].origin, layers[5] + np.array([0.3, 0.1, 2.0]), atol=1e-4
    )
    far = nominal.frames[SCIFI_PLANES[0]].origin + np.array([0.3, 0, 0])
    np.testing.assert_allclose(geometry.frames[SCIFI_PLANES[0]].origin, far, atol=1e-9)


def test_halves_modules_and_sectors_are_moved_in_their_units(places):
    _, nominal, geometry, _ = places
    centre = nominal.velo_centre
    module = nominal.frames[7].origin

    corners = nominal.pieces[7].corners().reshape(-1, 3)
    for step in (
        (module, [0.005, 0, 0.1], [0, 0, 5e-4]),
        (centre, [-0.02, 0.03, 0.0], [1e-4, -2e-4, 3e-4]),
        (centre, [0.01, 0, 0], [0, 0, 0]),
    ):
        corners = _moved(corners, *step)

    np.testing.assert_allclose(geometry.pieces[7].corners().reshape(-1, 3), corners, atol=1e-9)
    moved = geometry.frames[6].origin - nominal.frames[6].origin
    np.testing.assert_allclose(moved, [0.01, 0, 0], atol=1e-9)
    leaning = geometry.planes()[UT_PLANES[1]]
    assert leaning == pytest.approx([nominal.planes()[UT_PLANES[1], 0] + 1.0, 0.0, np.tan(5e-4)], abs=1e-6)
    sector = nominal.pieces[UT_PLANES[3]].origin[3] + [0.25, 0, 0]
    np.testing.assert_allclose(geometry.pieces[UT_PLANES[3]].origin[3], sector, atol=1e-9)


def test_what_the_geometry_lacks_is_named(places):
    folder, _, _, told = places
    assert told.startswith("12 of 14 elements taken")
    assert f"2 that {folder / 'g.yaml'} does not have: FT/T2/LU/HL1/M7, MagnetRegion/Rich1" in told
    # A geometry without pieces also lacks the elements that move pieces.
    told = import_conditions([folder / "conditions.yaml"], folder / "b.yaml", geometry=BASE, tag="flat")
    assert told.startswith("8 of 14 elements taken")
    assert "UT/UTbX/Sector3, FT/T2/LU/HL1, FT/T2/LU/HL1/M2, FT/T2/LU/HL1/Q3/M2/Mat1" in told
    assert load_alignment(folder / "b.yaml").tag == "flat"


def test_an_alignment_comes_back_from_conditions(places):
    folder, _, _, _ = places
    alignment = load_alignment(folder / "a.yaml")
    full = alignment.model_copy(
        update={
            "velo_sensors": {31: alignment.velo_modules[7], 32: alignment.velo_modules[7]},
            "velo_halves": {**alignment.velo_halves},
        }
    )
    export_alignment(full, folder / "back.yaml")
    import_conditions([folder / "back.yaml"], folder / "c.yaml", geometry=folder / "g.yaml", tag=full.tag)
    back = load_alignment(folder / "c.yaml")
    for name in Alignment.model_fields:
        first, second = getattr(full, name), getattr(back, name)
        if name == "tag":
            assert first == second
            continue
        if name == "beyond_1_mm":
            # The import adds it, since these files state their unit.
            assert second
            continue
        assert first.keys() == second.keys()
        for key in first:
            np.testing.assert_allclose(
                list(first[key].model_dump().values()), list(second[key].model_dump().values()), atol=1e-10
            )


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("VPRight", ("VELO", "right", None)),
        ("Module00WithSupport", ("VELO", 0, None)),
        ("/world/BeforeMagnetRegion/VP/VPLeft/Module51WithSupport/Ladder_2", ("VELO", 51, 2)),
        ("UTaX", ("UT", 0, None)),
        ("UT/UTbV/Sector012", ("UT", 2, 12)),
        ("FT", ("FT", None, None, None, None, None, None)),
        ("FT/T1/LX1", ("FT", 1, 0, None, None, None, None)),
        ("FT/T3/X2/HL0/M0", ("FT", 3, 3, 0, None, 0, None)),
        ("T/FT/T1/LV/Q3/M4/Mat2", ("FT", 1, 2, 1, 3, 4, 2)),
        ("FT/T1/LV/HL0/Q3/M4", None),
        # A module is in a half or in a quarter, and a mat is in a quarter's module.
        ("FT/T1/LV/M4", None),
        ("FT/T1/LV/HL0/M4/Mat2", None),
        ("FT/T1/LV/Q2/Mat2", None),
        ("FT/T1/LV/Q2/M4", ("FT", 1, 2, 0, 2, 4, None)),
        ("FT/T4", None),
        ("UTaV", None),
        ("Muon/M2", None),
        ("", None),
    ],
)
def test_paths(name, element):
    assert element_of(name) == element
