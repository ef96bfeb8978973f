"""The detector for the compiled core: materials, surfaces in the order of z, tubes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import parkf._transport as _transport
from parkf.detector.description import Description, Material
from parkf.detector.geometry import PLANES, SCIFI_PLANES, VELO_PLANES, Z_IN, Z_OUT, Geometry

NO_PLANE = -1
_PLAIN: dict[str, Any] = {"shear": 0.0, "panels": (), "only_covered": False, "hole": (0.0, 0.0)}


def compiled_detector(geometry: Geometry, between: Sequence[float] = ()) -> _transport.Detector:
    """Convert a geometry for the compiled core, with surfaces in the order of z.

    Planes across the beam at the z of `between`, mm, have no material and numbers from `PLANES` on.

    The plane behind the magnet lies within the material of the first SciFi layer. Its state is the state in
    that layer, carried to the plane without scattering.
    """
    planes, description = geometry.planes(), geometry.description
    materials = {name: index for index, name in enumerate(description.materials)}
    detector = _transport.Detector()
    for material in description.materials.values():
        detector.add_material(_compiled(material))
    surfaces = (
        *_velo(geometry, materials),
        *_strips(geometry, materials),
        _surface(geometry, Z_IN, material=0, thickness=0.0),
        *_slabs(description, materials),
        *(_across(z, plane_index=PLANES + i, material=0, thickness=0.0) for i, z in enumerate(between)),
    )
    for surface in sorted(surfaces, key=lambda surface: surface["plane"][0]):
        detector.add_surface(**surface)
        if surface["plane_index"] == SCIFI_PLANES.start:
            detector.add_companion(Z_OUT, planes[Z_OUT].tolist())
    for tube in description.tubes:
        size = {"radius": tube.radius, "z_min": tube.z_min, "z_max": tube.z_max}
        detector.add_tube(**size, material=materials[tube.material], thickness=tube.thickness)
    return detector


def _surface(geometry: Geometry, plane: int, **more: Any) -> dict[str, Any]:
    frame = geometry.frames[plane]
    return _PLAIN | {
        "plane": geometry.planes()[plane].tolist(),
        "origin": frame.origin[:2].tolist(),
        "map": frame.to_local.ravel().tolist(),
        "plane_index": plane,
        **more,
    }


def _velo(geometry: Geometry, materials: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    velo = geometry.velo
    half = (0.5 * velo.sensor.length, 0.5 * velo.sensor.width)
    panels = {
        name: tuple(
            (s.x, s.y, math.cos(math.radians(s.angle)), math.sin(math.radians(s.angle)), *half)
            for s in side.sensors
        )
        for name, side in (("left", velo.left), ("right", velo.right))
    }
    matter: dict[str, Any] = {"material": materials[velo.material], "thickness": velo.thickness}
    for plane, (_, side) in zip(VELO_PLANES, velo.modules, strict=True):
        yield _surface(geometry, plane, panels=panels[side], only_covered=True, **matter)


def _strips(geometry: Geometry, materials: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for plane, part, layer in geometry.strip_layers():
        yield _surface(
            geometry,
            plane,
            shear=layer.dxdy,
            panels=((0.0, 0.0, 1.0, 0.0, layer.half_width, layer.half_height),),
            hole=(part.hole.half_width, part.hole.half_height),
            material=materials[part.material],
            thickness=part.thickness,
        )


def _across(z: float, **more: Any) -> dict[str, Any]:
    return _PLAIN | {"plane": (z, 0.0, 0.0), "origin": (0.0, 0.0), "map": (1.0, 0.0, 0.0, 1.0), **more}


def _slabs(description: Description, materials: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for slab in description.slabs:
        yield _across(
            slab.z,
            hole=(slab.opening, slab.opening),
            plane_index=NO_PLANE,
            material=materials[slab.material],
            thickness=slab.thickness,
        )


def _compiled(material: Material) -> _transport.Material:
    compiled, numbers = _transport.Material(), material.model_dump()
    numbers |= numbers.pop("density_effect") | {"excitation": 1e-6 * material.excitation}  # eV to MeV
    for name, number in numbers.items():
        setattr(compiled, name, number)
    return compiled
