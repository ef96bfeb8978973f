"""What is assumed of a detector, a calibration's input and output, and the files of a calibration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from parkf.data import CALIBRATION_FILES
from parkf.data.equations import Floats, as_plain
from parkf.data.masses import SLOPE
from parkf.data.quantities import REGIONS
from parkf.data.worse import measuring_worse, scattering_more
from parkf.detector.alignment import Alignment, load_alignment
from parkf.detector.description import Description
from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry, geometry_of
from parkf.detector.writing import write_alignment, write_geometry
from parkf.io.documents.models import load_document
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS

FORMAT = 2
_NAMED = 3.0  # errors of a displacement that is counted
_NEAR, _STEEPEST = 500.0, 0.4  # mm and slope: limits of directions in which the field's shape is known
_VELO_ERRORS = "hit errors of the VELO"
_STRIP_ERRORS = ("hit errors of the UT", "hit errors of SciFi")


@dataclass(frozen=True)
class State:
    """What is assumed of a detector: the input of a round, and, improved, its output."""

    description: Description
    alignment: Alignment
    magnet: FieldMap
    # Factors since the first round, by the name of the monitor's change.
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def geometry(self) -> Geometry:
        """The detector in place."""
        return geometry_of(self.description).align(self.alignment)

    def improved(
        self, alignment: Alignment, strength: Floats | None, factors: Mapping[str, float]
    ) -> "State":
        """Put what was found on top: scale and shapes of the field (3,), and the factors of this round."""
        total = dict(self.factors)
        if strength is not None:
            factors = {**factors, "field scale": 1 + float(strength[0])}
        for name, factor in factors.items():
            total[name] = total.get(name, 1.0) * factor
        noise = {region: factors[f"noise of the steps in {region}"] for region in REGIONS}
        velo, ut, scifi = (factors[name] for name in (_VELO_ERRORS, *_STRIP_ERRORS))
        worse = measuring_worse(scattering_more(self.description, noise), velo, ut, scifi)
        magnet = self.magnet if strength is None else stronger(self.magnet, strength)
        return State(worse, alignment, magnet, total)


def errors_by_layer(factors: Mapping[str, float]) -> Floats:
    """Return factors on the errors of UT and SciFi hits by layer, (16,), from those by name."""
    return np.repeat([factors.get(name, 1.0) for name in _STRIP_ERRORS], [UT_LAYERS, SCIFI_LAYERS])


def stronger(field: FieldMap, change: Floats) -> FieldMap:
    """Return a map that is stronger by scale and shapes (3,) of :func:`parkf.data.masses.strength_of`."""
    x, y, z = (
        field.origin[axis] + field.spacing[axis] * np.arange(field.values.shape[axis]) for axis in range(3)
    )
    strength = np.full(field.values.shape[:3], 1 + change[0])
    for size, across in ((change[1], x[:, None, None]), (change[2], y[None, :, None])):
        slope = np.clip(across / np.maximum(z, _NEAR), -_STEEPEST, _STEEPEST)
        strength += size * (slope / SLOPE) ** 2
    return replace(field, values=(strength[..., None] * field.values).astype(np.float32))


def read_state(geometry: Path, alignment: Path, field: Path, before: Path | None) -> State:
    """Read what a set was trained with, and the factors of the round `before`, if there was one."""
    factors = read_factors(before)
    description = load_document(geometry, Description)
    return State(description, load_alignment(alignment), FieldMap.load(field), factors)


def read_factors(path: Path | None) -> dict[str, float]:
    """Read the factors of a calibration.json, or none without one; a ParkfError reports another file."""
    if path is None:
        return {}
    content: Any = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT or "total" not in content:
        raise ParkfError(f"{path}: expected the calibration.json of `parkf calibrate`, format {FORMAT}")
    return dict(content["total"])


def write_state(folder: Path, state: State, found: Mapping[str, Any]) -> None:
    """Write the four files into a folder, calibration.json last."""
    folder.mkdir(parents=True, exist_ok=True)
    figures, alignment, geometry, field = (folder / name for name in CALIBRATION_FILES)
    head = f"From {found['tracks']} tracks, by parkf calibrate."
    write_alignment(alignment, state.alignment.model_dump(exclude_defaults=True), head)
    write_geometry(geometry, state.description, head)
    state.magnet.save(field)
    write_sealed(figures, {"format": FORMAT, **as_plain(found)})


def sentences(found: Mapping[str, Any]) -> list[str]:
    """Say in words what a round has found, and what its data cannot tell."""
    change, error = (np.asarray(found["alignment"][name]) for name in ("change", "error"))
    moved = int((np.abs(change) > _NAMED * error).sum())
    said = [
        f"{found['tracks']} tracks, beside {found['reference_tracks']} of the set's own simulation",
        f"alignment: {moved} of {len(change)} displacements changed by more than {_NAMED:g} errors",
    ]
    for kind, key in (("masses", "value"), ("field", "change"), ("factors", "change")):
        if found.get(kind) is not None:
            rows = zip(*(found[kind][one] for one in ("names", key, "error")), strict=True)
            said += [f"{kind}: {name} {value:+.5f} ± {error:.5f}" for name, value, error in rows]
    for mode in found["weak"]:
        if not mode["told"]:
            known = "" if mode["error"] is None else f" (known to {mode['error']:.2g})"
            said.append(f"not told by these data: {mode['name']}{known}; told by: {mode['sample']}")
    changes = ", ".join(f"{kind} {value:.1f}" for kind, value in found["change_in_errors"].items())
    again = "train a set with these files, and calibrate again"
    end = "this was the last round" if found["converged"] else again
    return [*said, f"changes in errors, rms: {changes}; {end}"]
