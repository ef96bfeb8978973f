"""A geometry with other hit errors and other scattering: what a set is trained anew with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from parkf.data.quantities import REGIONS
from parkf.detector.description import Description

_LOG = 0.038  # of Highland's formula, as in the transport
_VELO, _TO_UT, _UT, _MAGNET, _SCIFI = REGIONS


def scattering_more(description: Description, factors: Mapping[str, float]) -> Description:
    """Return a description in which particles scatter more by a factor in each of the monitor's regions.

    Energy loss stays: only radiation lengths change, by what Highland's formula needs at the thickness of the
    part. Each part gets a material of its own, which is called ``<material> of <part>``.
    """
    content: dict[str, Any] = description.model_dump(mode="json", exclude_unset=True)
    first_ut, last_ut = description.ut.layers[0].z, description.ut.layers[-1].z
    first_scifi = description.scifi.layers[0].z
    last_velo = max(z for z, _ in description.velo.modules)

    def region(z: float) -> str:
        edges = (last_velo, first_ut, last_ut, first_scifi)
        return REGIONS[int(np.searchsorted(edges, z))]

    parts = [(content["velo"], "velo", _VELO), (content["ut"], "ut", _UT)]
    parts += [(content["scifi"], "scifi", _SCIFI)]
    parts += [
        (tube, tube["name"], region(0.5 * (tube["z_min"] + tube["z_max"]))) for tube in content["tubes"]
    ]
    parts += [(slab, slab["name"], region(slab["z"])) for slab in content["slabs"]]
    for part, name, of in parts:
        if (factor := factors.get(of, 1.0)) != 1.0:
            plain = part["material"].partition(" of ")[0]
            material = dict(content["materials"][part["material"]])
            material["radiation_length"] = _length(material["radiation_length"], part["thickness"], factor)
            part["material"] = f"{plain} of {name}"
            content["materials"][part["material"]] = material
    used = {part["material"] for part, _, _ in parts}
    content["materials"] = {name: of for name, of in content["materials"].items() if name in used}
    return Description.model_validate(content)


def _length(length: float, thickness: float, factor: float) -> float:
    """Radiation length, mm, with which this thickness scatters more by `factor` than with `length`."""

    def width(reduced: float) -> float:
        return float(np.sqrt(reduced) * (1 + _LOG * np.log(reduced)))

    reduced = thickness / length
    wanted = factor * width(reduced)
    found: float = brentq(lambda x: width(x) - wanted, reduced / 25, reduced * 25, rtol=1e-12)
    return thickness / found


def measuring_worse(description: Description, velo: float, ut: float, scifi: float) -> Description:
    """Return a description whose hits have errors larger by these factors.

    A pitch of the UT stands for its error, the pitch over √12.
    """
    content: dict[str, Any] = description.model_dump(mode="json", exclude_unset=True)
    content["velo"]["resolution"] *= velo
    for zone in content["ut"]["zones"]:
        zone["pitch"] *= ut
    for name in ("cluster_errors", "alignment_error"):
        if name in content["scifi"]:
            content["scifi"][name] = (np.array(content["scifi"][name]) * scifi).tolist()
    return Description.model_validate(content)
