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


def geometry(wrong: str, old: str, new: str, *says: str) -> Case:
    return Case("geometry", wrong, edited(GEOMETRY, (old, new)), ("run3.yaml", *says))


def alignment(wrong: str, text: str, *says: str) -> Case:
    parts = {"velo_halves", "velo_modules", "ut_layers", "scifi_layers"} - {text.split(":")[0]}
    content = "\n".join(["tag: x", text, *(f"{part}: {{}}" for part in sorted(parts))])
    return Case("alignment", wrong, written(ALIGNMENT, content), says)


def dipole(wrong: str, old: str, new: str, *says: str) -> Case:
    return Case("dipole", wrong, edited(DIPOLE, (old, new)), ("dipole.json", *says))


CASES = [
    geometry(
        "key twice", "z_in: 2665.0", "z_in: 2665.0, z_in: 2664.0", "run3.yaml:11", "key 'z_in' is there twice"
    ),
    geometry(
        "unknown key", "cluster_errors:", "cluster_error:", "scifi.cluster_error: unknown key", "mean 'cl"
    ),
    geometry("key missing", "tag: run3-like-2", "", "tag: missing; expected text"),
    geometry(
        "text for a number",
        "z_in: 2665.0",
        "z_in: '2665.0'",
        "magnet.z_in: got the text '2665.0'",
        "write 2665",
    ),
    geometry(
        "comma for a point", "resolution: 0.0125", "resolution: 0,0125", "velo.resolution: got the text"
    ),
    geometry("NaN", "thickness: 1.06", "thickness: .nan", "ut.thickness: got nan, expected a finite number"),
    geometry(
        "sigma 0", "resolution: 0.0125", "resolution: 0", "velo.resolution: got 0, expected more than 0 (mm"
    ),
    geometry("sigma negative", "[0.085, 0.085,", "[-0.085, 0.085,", "scifi.cluster_errors.0: got -0.085"),
    geometry(
        "beam without width", "sigma_z: 45.0", "sigma_z: 0.0", "beam.sigma_z: got 0, expected more than 0"
    ),
    geometry(
        "beam outside of the VELO", "{x: 0.0, y", "{x: 100.0, y", "beam.x: got 100, expected at most 5 (mm"
    ),
    geometry(
        "dx/dy 5",
        "z: 2372.5, dxdy: 0.0874887",
        "z: 2372.5, dxdy: 5",
        "ut.layers.1.dxdy: got 5",
        "at most 0.5",
    ),
    geometry("lean of 45 degrees", "dzdy: 0.003601", "dzdy: 1.0", "scifi.dzdy: got 1, expected at most 0.1"),
    geometry(
        "efficiency 150 %", "efficiency: 0.966", "efficiency: 1.5", "scifi.efficiency: got 1.5", "at most 1"
    ),
    geometry("pitch 0", "pitch: 0.0935", "pitch: 0", "ut.zones.0.pitch: got 0, expected more than 0 (mm"),
    geometry(
        "thickness negative", "thickness: 4.9", "thickness: -4.9", "scifi.thickness: got -4.9", "at least 0"
    ),
    geometry("density of a neutron star", "density: 2.329", "density: 1.0e+14", "expected at most 25 (g/cm3"),
    geometry(
        "radiation length 0", "radiation_length: 93.7", "radiation_length: 0", "expected at least 3 (mm"
    ),
    geometry("10^9 noise hits", "noise_per_module: 1.0", "noise_per_module: 1.0e+9", "mean hits an event"),
    geometry(
        "layers out of order", "z: 2372.5, dxdy", "z: 2600.5, dxdy", "ut: ut.layers: z must ascend: entry 1"
    ),
    geometry("modules out of order", "[-287.5, -262.5", "[-262.5, -287.5", "velo.right.z must ascend"),
    geometry("51 modules", "[-287.5, ", "[", "velo: 51 modules, expected 52"),
    geometry(
        "three UT layers",
        "    - {z: 2642.5, dxdy: 0.0, half_width: 865.0, half_height: 673.0}\n",
        "",
        "ut.layers: got 3 entries, expected at least 4",
    ),
    geometry(
        "zones out of order", "half_width: 192.7", "half_width: 992.7", "ut.zones: half_width must ascend"
    ),
    geometry(
        "magnet ends before it begins", "z_out: 7826.0", "z_out: 2000.0", "must lie before magnet.z_out"
    ),
    geometry(
        "magnet ends in front of SciFi",
        "z_out: 7826.0",
        "z_out: 7000.0",
        "lies outside the first SciFi layer",
    ),
    geometry("planes in metres", "z: 7826.0, dxdy", "z: 7.826, dxdy", "magnet.z_out: 7826 lies outside"),
    geometry(
        "z of a kilometre",
        "z: 9403.0",
        "z: 1.0e+6",
        "scifi.layers.11.z: got 1e+06, expected at most 20000 (mm",
    ),
    geometry(
        "unknown material",
        "z: 840.0, material: aluminium",
        "z: 840.0, material: steel",
        "material 'steel' is not",
    ),
    geometry("shares of clusters", "[0.908,", "[0.5,", "scifi.cluster_fractions: sum 0.592, expected 1"),
    Case("geometry", "not closed", written(GEOMETRY, "tag: [\n"), ("run3.yaml", "not a YAML file")),
    Case("geometry", "a list", written(GEOMETRY, "[1, 2]\n"), ("run3.yaml: got a list of 2",)),
    alignment(
        "layer that there is not",
        "scifi_layers: {12: {x: 1.0}}",
        "scifi_layers.12: got 12, expected less than 12",
    ),
    alignment(
        "half that there is not",
        "velo_halves: {top: {x: 1.0}}",
        "velo_halves.top: unknown key 'top'; known here: left, right",
    ),
    alignment("direction that there is not", "ut_layers: {0: {dx: 1.0}}", "ut_layers.0.dx: unknown key 'dx'"),
    alignment(
        "200 mm",
        "scifi_layers: {3: {x: 200.0}}",
        "scifi_layers.3.x: got 200, expected at most 30 (mm",
        "geometry",
    ),
    alignment(
        "200 mrad", "ut_layers: {3: {rz: -0.2}}", "ut_layers.3.rz: got -0.2, expected at least -0.1 (rad"
    ),
    alignment(
        "infinite", "velo_modules: {3: {z: .inf}}", "alignment_nominal.yaml:2", "velo_modules.3.z: got inf"
    ),
    alignment("text", "velo_modules: {3: {z: up}}", "velo_modules.3.z: got the text 'up', expected a number"),
    alignment(
        "layers change places",
        "ut_layers: {0: {z: 25}, 1: {z: -25}}\nbeyond_1_mm: true",
        "UT 0 and 1 change places",
    ),
    alignment("layer twice", "ut_layers: {0: {z: 1}, 0: {z: 2}}", "key '0' is there twice"),
    dipole("key twice", '"about"', '"form": "x", "about"', "key 'form' is there twice, first in line 2"),
    dipole("NaN", "[55.0, 500.0", "[NaN, 500.0", "charges.0.0: got NaN, expected a finite number"),
    dipole("beyond double precision", "[55.0, 500.0", "[1e999, 500.0", "charges.0.0: got inf"),
    dipole("10^30 T", "-0.0120026447]", "1e30]", "charges.0.3: got 1e+30, expected at most 100 (T m2"),
    dipole("three numbers", ", -0.0120026447]", "]", "dipole.json:14", "charges.0.3: missing"),
    dipole("text", "[55.0, 500.0", '["55.0", 500.0', "charges.0.0: got the text '55.0', expected a number"),
    dipole("unknown key", '"units"', '"unit"', "unit: unknown key 'unit'; did you mean 'units'?"),
    dipole("trailing comma", '"units"', ', "units"', "dipole.json:4", "not a JSON file"),
    Case(
        "dipole",
        "no charges",
        written(
            DIPOLE,
            '{"about": "", "form": "", "units": {}, "aperture": {"x": [1, 1], "y": [1, 1]}, "charges": []}',
        ),
        ("charges: got 0 entries, expected at least 1",),
    ),
    Case("dipole", "deep", written(DIPOLE, '{"a": ' * 500), ("dipole.json", "not a JSON file")),
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


def field(wrong: str, content: bytes, *says: str) -> Case:
    return Case("field map", wrong, file("map.npz", content, *FIELD), ("map.npz", *says))


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
    config.write_text(config.read_text().replace("dipole.json", "map.npz"))
    return CHECK


GOOD = _map()
CASES += [
    field("text", b"no archive", "not an archive of arrays"),
    field("empty", b"", "not an archive of arrays"),
    field("truncated", GOOD[: len(GOOD) // 2], "not an archive of arrays"),
    field("flipped bit", _flipped(GOOD), "not an archive of arrays", "make it again"),
    field("an .npy", _npy(np.zeros(3)), "not an archive of arrays", "does not begin as such a file does"),
    field("gzip", gzip.compress(GOOD), "not an archive of arrays"),
    field("no values", _map(values=lambda v: None), "without values; it has origin, spacing"),
    field("unknown array", _map(colour=lambda v: np.zeros(3)), "with unknown colour"),
    field("objects", _map(values=lambda v: np.array([{}])), "not an archive of arrays", "pickle"),
    field(
        "text for numbers",
        _map(values=lambda v: np.array(["x"])),
        "values of type <U1, expected real numbers",
    ),
    field(
        "two dimensions", _map(values=lambda v: v[0, 0]), "values of shape (12, 3), expected (nx, ny, nz, 3)"
    ),
    field("NaN", _map(values=_filled(np.nan)), "values[1, 2, 3, 1] is not finite"),
    field("10^30 T", _map(values=_filled(1e30)), "values[1, 2, 3, 1] is 1e+30, expected T, within 20"),
    field("in kG", _map(values=lambda v: 10 * v), "reaches 9.", "expected 0.01 to 5", "convert it to T"),
    field("no field", _map(values=lambda v: 0 * v), "By on the axis reaches 0 T"),
    field("of MagUp", _map(values=lambda v: -v), "expected that of MagDown, By < 0; turn the sign"),
    field("spacing 0", _map(spacing=lambda v: 0 * v), "expected finite and positive spacing"),
    field("spacing of a kilometre", _map(spacing=lambda v: 1e3 * v), "a spacing of at most 1000 mm"),
    field("two spacings", _map(spacing=lambda v: v[:2]), "expected (3,) and (3,)"),
    field(
        "complex numbers", _map(values=lambda v: v + 1j), "values of type complex128, expected real numbers"
    ),
    field(
        "unknown look-up", _map(outside=lambda v: np.array("?")), "outside '?', expected one of error, zero"
    ),
    Case("field map", "in metres", _in_run, ("map.npz: the map covers", "z -1 to 10 mm", "is it in m?")),
    Case("field map", "missing", lambda folder: FIELD, ("map.npz: no such file",)),
    Case(
        "field map",
        "a .root",
        lambda folder: ("field", "map.root", "x.npz"),
        ("expected sources (.json) or",),
    ),
    Case(
        "field map",
        "spacing 0 asked for",
        lambda folder: ("field", ROOT / DIPOLE, "x.npz", "--spacing", "0"),
        ("spacing 0.0 mm, expected 10 to 1000",),
    ),
    Case(
        "field map",
        "spacing NaN asked for",
        lambda folder: ("field", ROOT / DIPOLE, "x.npz", "--spacing", "nan"),
        ("spacing nan mm, expected 10 to 1000",),
    ),
]
