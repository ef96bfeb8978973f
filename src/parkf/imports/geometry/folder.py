"""Import of geometries: reads dumps and conditions, writes files, and reports what the files cannot hold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from parkf.detector.description import Description
from parkf.detector.geometry import Geometry, load_geometry
from parkf.detector.writing import write_alignment, write_yaml
from parkf.imports.geometry.conditions import Condition, import_alignment, read_conditions
from parkf.imports.geometry.dumps import FILES, read_beam_line, read_scifi, read_ut, read_velo
from parkf.imports.geometry.placing import Placed, place, residuals
from parkf.io.documents.models import load_document
from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned

_READERS = {"VELO": read_velo, "UT": read_ut, "SciFi": read_scifi}
_ELEMENTS = {"VELO": "sensors, corners", "UT": "sectors, ends of strips", "SciFi": "mats, ends of fibres"}


def import_dumps(
    dumps: Sequence[Path], *, base: Path, geometry: Path, alignment: Path, tag: str | None = None
) -> str:
    """Write the files `geometry` and `alignment` from Allen's dumps, and return a report.

    Dumps are files with the names `FILES`, or their folder. The geometry file `base` is the source of
    everything that dumps do not have. The name of both files is `tag`, or the name of the dumps' folder. The
    report has the files read, the elements' distances from the dumps', and what neither file holds.
    """
    found = _found(dumps)
    where = next(iter(found.values())).parent
    described = load_document(base, Description)
    elements = {name: read(found[name]) for name, read in _READERS.items() if name in found}
    beam = read_beam_line(found["beam line"]) if "beam line" in found else None
    try:
        placed = place(described, elements, beam, tag or where.resolve().name or "dumps")
    except ValidationError as error:
        # The models refuse this detector, with messages that are clear enough.
        reasons = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ParkfError(f"{where}: no detector that can be described: {'; '.join(reasons)}") from error
    said = [f"read {', '.join(sorted(path.name for path in found.values()))} of {where}"]
    if missing := [detector for detector in FILES if detector not in found]:
        said.append(f"without a dump, and as in {base}: {', '.join(missing)}")
    material = f"material, errors of hits, efficiencies, noise, holes around the beam: those of {base}"
    z_in, z_out = placed.geometry.magnet.z_in, placed.geometry.magnet.z_out
    magnet = f"the magnet is crossed by table from z = {z_in:g} to {z_out:g} mm"
    said += [material, magnet, _table(placed)]
    if placed.beam_z:
        said.append(f"not said: z of the luminous region, {1e3 * placed.beam_z:.0f} µm; it is at 0 here")
    head = f"Places from Allen's dumps ({', '.join(sorted(found))}); {material}."
    write_yaml(geometry, placed.description, head)
    write_alignment(alignment, placed.alignment, f"What {geometry.name} cannot say of Allen's dumps.")
    return "\n".join([*said, f"wrote {geometry} and {alignment}"])


def _found(dumps: Sequence[Path]) -> dict[str, Path]:
    """Find dumps by detector."""
    names = {name: detector for detector, name in FILES.items()}
    found: dict[str, Path] = {}
    for path in dumps:
        inside = [path / name for name in names if (path / name).is_file()]
        for file in inside if path.is_dir() else [path]:
            if file.name not in names:
                raise ParkfError(f"{file}: what is it? Allen's dumps are named {', '.join(names)}")
            if names[file.name] in found:
                raise ParkfError(f"{file}: a second {file.name}, beside {found[names[file.name]]}")
            found[names[file.name]] = file
    if not found:
        raise ParkfError(f"{', '.join(map(str, dumps))}: holds none of Allen's dumps: {', '.join(names)}")
    return found


def _table(placed: Placed) -> str:
    """Tabulate distances of elements from the dumps', with pieces and with planes only."""
    planes = Geometry(placed.geometry.description, placed.geometry.frames)
    rows = []
    for detector, elements in placed.elements.items():
        for what, geometry in (("as written", placed.geometry), ("planes alone, in z", planes)):
            worst = 1e3 * residuals(elements, geometry).max(axis=1)  # corner of each, µm
            sizes = [f"{size:.3f}" for size in (np.median(worst), np.quantile(worst, 0.95), worst.max())]
            rows.append((detector, f"{len(elements.number)} {_ELEMENTS[detector]}", what, *sizes))
    return aligned(("detector", "elements", "where", "median/µm", "95 %/µm", "largest/µm"), rows)


def import_conditions(conditions: Sequence[Path], output: Path, *, geometry: Path, tag: str | None) -> str:
    """Write the alignment file `output` from LHCb's conditions, for a geometry file.

    Its name is `tag`, or the name of the first file of `conditions` (YAML). Return a report: the number of
    elements used, and the elements that the geometry does not have.
    """
    read: dict[str, Condition] = {}
    for path in conditions:
        for name, condition in read_conditions(path).items():
            if name in read:
                raise ParkfError(f"{path}: {name}: occurs in another of the files, too")
            read[name] = condition
    placed = load_geometry(geometry)
    alignment, lacking = import_alignment(read, placed, tag=tag or conditions[0].stem)
    write_alignment(output, alignment, f"From LHCb's conditions, for geometry {placed.description.tag}.")
    moved = sum(len(of) for of in alignment.values() if isinstance(of, dict))
    said = f"{len(read) - len(lacking)} of {len(read)} elements taken, {moved} entries in {output}"
    if lacking:
        said += f"\n{len(lacking)} that {geometry} does not have: {', '.join(lacking)}"
    return said
