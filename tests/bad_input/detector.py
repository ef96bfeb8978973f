"""Bad files of geometry, alignment and field."""

import gzip
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .case import CHECK, ROOT, Case, edited, file, project, written

GEOMETRY, ALIGNMENT, DIPOLE = (
    "data/geometry/run3.yaml",
    "data/geometry/alignment_nominal.yaml",
    "data/field/dipole.json",
)


def geometry(wrong: str, old: str, new: str) -> Case:
    return Case("geometry", wrong, edited(GEOMETRY, (old, new)))


def alignment(wrong: str, text: str) -> Case:
    parts = {"velo_halves", "velo_modules", "ut_layers", "scifi_layers"} - {text.split(":")[0]}
    content = "\n".join(["tag: x", text, *(f"{part}: {{}}" for part in sorted(parts))])
    return Case("alignment", wrong, written(ALIGNMENT, content))


def dipole(wrong: str, old: str, new: str) -> Case:
    return Case("dipole", wrong, edited(DIPOLE, (old, new)))


CASES = [
    geometry("key twice", "z_in: 2665.0", "z_in: 2665.0, z_in: 2664.0"),
    geometry("unknown key", "cluster_errors:", "cluster_error:"),
    geometry("key missing", "tag: run3-like-2", ""),
    geometry("text for a number", "z_in: 2665.0", "z_in: '2665.0'"),
    geometry("comma for a point", "resolution: 0.0125", "resolution: 0,0125"),
    geometry("NaN", "thickness: 1.06", "thickness: .nan"),
    geometry("sigma 0", "resolution: 0.0125", "resolution: 0"),
    geometry("sigma negative", "[0.085, 0.085,", "[-0.085, 0.085,"),
    geometry("beam without width", "sigma_z: 45.0", "sigma_z: 0.0"),
    geometry("beam outside of the VELO", "{x: 0.0, y", "{x: 100.0, y"),
    geometry("dx/dy 5", "z: 2372.5, dxdy: 0.0874887", "z: 2372.5, dxdy: 5"),
    geometry("lean of 45 degrees", "dzdy: 0.003601", "dzdy: 1.0"),
    geometry("efficiency 150 %", "efficiency: 0.966", "efficiency: 1.5"),
    geometry("pitch 0", "pitch: 0.0935", "pitch: 0"),
    geometry("thickness negative", "thickness: 4.9", "thickness: -4.9"),
    geometry("density of a neutron star", "density: 2.329", "density: 1.0e+14"),
    geometry("radiation length 0", "radiation_length: 93.7", "radiation_length: 0"),
    geometry("10^9 noise hits", "noise_per_module: 1.0", "noise_per_module: 1.0e+9"),
    geometry("layers out of order", "z: 2372.5, dxdy", "z: 2600.5, dxdy"),
    geometry("modules out of order", "[-287.5, -262.5", "[-262.5, -287.5"),
    geometry("51 modules", "[-287.5, ", "["),
    geometry("three UT layers", "    - {z: 2642.5, dxdy: 0.0, half_width: 865.0, half_height: 673.0}\n", ""),
    geometry("zones out of order", "half_width: 192.7", "half_width: 992.7"),
    geometry("magnet ends before it begins", "z_out: 7826.0", "z_out: 2000.0"),
    geometry("magnet ends in front of SciFi", "z_out: 7826.0", "z_out: 7000.0"),
    geometry("planes in metres", "z: 7826.0, dxdy", "z: 7.826, dxdy"),
    geometry("z of a kilometre", "z: 9403.0", "z: 1.0e+6"),
    geometry("unknown material", "z: 840.0, material: aluminium", "z: 840.0, material: steel"),
    geometry("shares of clusters", "[0.908,", "[0.5,"),
    Case("geometry", "not closed", written(GEOMETRY, "tag: [\n")),
    Case("geometry", "a list", written(GEOMETRY, "[1, 2]\n")),
    alignment("layer that there is not", "scifi_layers: {12: {x: 1.0}}"),
    alignment("half that there is not", "velo_halves: {top: {x: 1.0}}"),
    alignment("direction that there is not", "ut_layers: {0: {dx: 1.0}}"),
    alignment("200 mm", "scifi_layers: {3: {x: 200.0}}"),
    alignment("200 mrad", "ut_layers: {3: {rz: -0.2}}"),
    alignment("infinite", "velo_modules: {3: {z: .inf}}"),
    alignment("text", "velo_modules: {3: {z: up}}"),
    alignment("layers change places", "ut_layers: {0: {z: 25}, 1: {z: -25}}\nbeyond_1_mm: true"),
    alignment("layer twice", "ut_layers: {0: {z: 1}, 0: {z: 2}}"),
    dipole("key twice", '"about"', '"form": "x", "about"'),
    dipole("NaN", "[55.0, 500.0", "[NaN, 500.0"),
    dipole("beyond double precision", "[55.0, 500.0", "[1e999, 500.0"),
    dipole("10^30 T", "-0.0120026447]", "1e30]"),
    dipole("three numbers", ", -0.0120026447]", "]"),
    dipole("text", "[55.0, 500.0", '["55.0", 500.0'),
    dipole("unknown key", '"units"', '"unit"'),
    dipole("trailing comma", '"units"', ', "units"'),
    Case(
        "dipole",
        "no charges",
        written(
            DIPOLE,
            '{"about": "", "form": "", "units": {}, "aperture": {"x": [1, 1], "y": [1, 1]}, "charges": []}',
        ),
    ),
    Case("dipole", "deep", written(DIPOLE, '{"a": ' * 500)),
]


def _map(**changes: Any) -> bytes:
    """Bytes of a coarse map: a field in T that bends like LHCb's, on a grid of 1 m."""
    z = np.arange(-1000.0, 11000.0, 1000.0)
    values = np.zeros((5, 5, len(z), 3))
    values[..., 1] = -np.exp(-(((z - 4700.0) / 1800.0) ** 2))
    arrays = {"origin": np.array([-2000.0, -2000.0, z[0]]), "spacing": np.full(3, 1000.0), "values": values}
    arrays |= {name: change(arrays.get(name)) for name, change in changes.items()}
    stream = io.BytesIO()
    np.savez(stream, **{name: array for name, array in arrays.items() if array is not None})
    return stream.getvalue()


FIELD = ("field", "map.npz", "made.npz")


def field(wrong: str, content: bytes) -> Case:
    return Case("field map", wrong, file("map.npz", content, *FIELD))


def _filled(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(values: np.ndarray) -> np.ndarray:
        values = values.copy()
        values[1, 2, 3, 1] = value
        return values

    return change


def _flipped(content: bytes) -> bytes:
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 4
    return bytes(damaged)


def _npy(content: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, content)
    return stream.getvalue()


def _in_run(folder: Path) -> Sequence[str | Path]:
    project(folder)
    # The map is in metres here, so a tracker of ten metres lies outside it.
    content = _map(origin=lambda origin: origin / 1000, spacing=lambda spacing: spacing / 1000)
    (folder / "data/field/map.npz").write_bytes(content)
    config = folder / "run.yaml"
    config.write_text(config.read_text().replace("lhcb.json", "map.npz"))
    return CHECK


GOOD = _map()
CASES += [
    field("text", b"no archive"),
    field("empty", b""),
    field("truncated", GOOD[: len(GOOD) // 2]),
    field("flipped bit", _flipped(GOOD)),
    field("an .npy", _npy(np.zeros(3))),
    field("gzip", gzip.compress(GOOD)),
    field("no values", _map(values=lambda v: None)),
    field("unknown array", _map(colour=lambda v: np.zeros(3))),
    field("objects", _map(values=lambda v: np.array([{}]))),
    field("text for numbers", _map(values=lambda v: np.array(["x"]))),
    field("two dimensions", _map(values=lambda v: v[0, 0])),
    field("NaN", _map(values=_filled(np.nan))),
    field("10^30 T", _map(values=_filled(1e30))),
    field("in kG", _map(values=lambda v: 10 * v)),
    field("no field", _map(values=lambda v: 0 * v)),
    field("of MagUp", _map(values=lambda v: -v)),
    field("spacing 0", _map(spacing=lambda v: 0 * v)),
    field("spacing of a kilometre", _map(spacing=lambda v: 1e3 * v)),
    field("two spacings", _map(spacing=lambda v: v[:2])),
    field("complex numbers", _map(values=lambda v: v + 1j)),
    field("unknown look-up", _map(outside=lambda v: np.array("?"))),
    Case("field map", "in metres", _in_run),
    Case("field map", "missing", lambda folder: FIELD),
    Case("field map", "a .root", lambda folder: ("field", "map.root", "x.npz")),
    Case(
        "field map", "spacing 0 asked for", lambda folder: ("field", ROOT / DIPOLE, "x.npz", "--spacing", "0")
    ),
    Case(
        "field map",
        "spacing NaN asked for",
        lambda folder: ("field", ROOT / DIPOLE, "x.npz", "--spacing", "nan"),
    ),
]
