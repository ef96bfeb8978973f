"""The nuisances: what may differ between the assumed detector and the detector that made the hits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from parkf.detector.field import FieldMap

BEFORE, BEHIND = 3000.0, 7000.0  # mm; the field's regions end and begin here
Z_SCIFI = 8600.0  # mm; about which the SciFi is stretched and twisted
_MIDDLES = {"before": 1500.0, "behind": 8500.0}  # mm; where a tilt of the field changes nothing


@dataclass(frozen=True)
class Nuisance:
    """A number that is 0 if the assumed detector is right."""

    name: str
    unit: str
    step: float  # for derivatives
    known: float  # error to which the number is known before the fit; infinite if it is not known
    what: str


NUISANCES = {
    one.name: one
    for one in (
        Nuisance("field_before", "", 1e-2, np.inf, "scale of the field before 3 m, less one"),
        Nuisance("field_middle", "", 1e-3, np.inf, "scale of the field from 3 to 7 m, less one"),
        Nuisance("field_behind", "", 1e-2, np.inf, "scale of the field behind 7 m, less one"),
        Nuisance("tilt_before", "1/m", 1e-2, 0.02, "change of that scale along z, before 3 m"),
        Nuisance("tilt_behind", "1/m", 1e-2, 0.02, "change of that scale along z, behind 7 m"),
        Nuisance("scifi_z", "mm", 0.5, 0.5, "shift of the SciFi in z"),
        Nuisance("scifi_stretch", "", 1e-3, 2e-4, "scale of distances along z in the SciFi, less one"),
        Nuisance("scifi_turn", "rad", 1e-4, 1e-3, "rotation of the SciFi about the beam"),
        Nuisance("scifi_twist", "rad/m", 1e-4, 1e-3, "change of that rotation along z"),
        Nuisance("loss", "", 0.1, 0.1, "scale of the energy loss, less one"),
    )
}
FIELD = tuple(name for name in NUISANCES if name.startswith(("field", "tilt")))

Values = Mapping[str, float]
"""Values of nuisances by name; those that are missing are 0."""


def changed_field(field: FieldMap, values: Values) -> FieldMap:
    """Return the field with its regions scaled; both nodes at a region's end belong to the middle."""
    if not any(values.get(name) for name in FIELD):
        return field
    z = field.origin[2] + field.spacing[2] * np.arange(field.values.shape[2])
    region = np.select([z < BEFORE - 1e-6, z > BEHIND + 1e-6], ["before", "behind"], "middle")
    scale = np.ones_like(z)
    for name in ("before", "middle", "behind"):
        tilt = 1e-3 * (z - _MIDDLES.get(name, 0.0)) * values.get(f"tilt_{name}", 0.0)
        scale += np.where(region == name, values.get(f"field_{name}", 0.0) + tilt, 0.0)
    scaled = field.values * scale[None, None, :, None]
    return replace(field, values=np.ascontiguousarray(scaled, dtype=np.float32))
