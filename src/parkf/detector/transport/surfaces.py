"""The detector as the compiled core sees it: materials, surfaces in the order of z, tubes."""

import math
from typing import Any

import numpy as np

from parkf import _transport
from parkf.detector.description import Material, Rectangle
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Z_IN, Z_OUT, Geometry

NO_HOLE = Rectangle(half_width=0.0, half_height=0.0)
NO_PLANE = -1

Panel = tuple[float, float, float, float, float, float]


def compiled_detector(geometry: Geometry) -> _transport.Detector:
    """Hand a geometry to the compiled core.

    The plane behind the magnet lies within the first SciFi layer's material; its state is the layer's,
    carried there without scattering, so that nothing scatters between the two.
    """
    return _Builder(geometry).build()


class _Builder:
    """Collects surfaces with their z, and adds them in its order."""

    def __init__(self, geometry: Geometry):
        self.geometry = geometry
        self.description = geometry.description
        self.planes = geometry.planes()
        self.materials = {name: index for index, name in enumerate(self.description.materials)}

    def build(self) -> _transport.Detector:
        detector = _transport.Detector()
        for material in self.description.materials.values():
            detector.add_material(compiled_material(material))
        surfaces = [*self._velo(), *self._strips(), self._z_in(), *self._slabs()]
        for surface in sorted(surfaces, key=lambda surface: surface["plane"][0]):
            detector.add_surface(**surface)
            if surface["plane_index"] == SCIFI_PLANES.start:
                detector.add_companion(Z_OUT, self.planes[Z_OUT].tolist())
        for tube in self.description.tubes:
            detector.add_tube(
                radius=tube.radius,
                z_min=tube.z_min,
                z_max=tube.z_max,
                material=self.materials[tube.material],
                thickness=tube.thickness,
            )
        return detector

    def _surface(
        self,
        plane: int,
        *,
        material: int,
        thickness: float,
        shear: float = 0.0,
        panels: tuple[Panel, ...] = (),
        hole: Rectangle = NO_HOLE,
        only_covered: bool = False,
    ) -> dict[str, Any]:
        frame = self.geometry.frames[plane]
        return {
            "plane": self.planes[plane].tolist(),
            "origin": frame.origin[:2].tolist(),
            "map": frame.to_local.ravel().tolist(),
            "shear": shear,
            "panels": panels,
            "hole": (hole.half_width, hole.half_height),
            "plane_index": plane,
            "only_covered": only_covered,
            "material": material,
            "thickness": thickness,
        }

    def _velo(self) -> list[dict[str, Any]]:
        velo = self.description.velo
        half = (0.5 * velo.sensor.length, 0.5 * velo.sensor.width)
        panels = {
            name: tuple(
                (s.x, s.y, math.cos(math.radians(s.angle)), math.sin(math.radians(s.angle)), *half)
                for s in side.sensors
            )
            for name, side in (("left", velo.left), ("right", velo.right))
        }
        return [
            self._surface(
                plane,
                material=self.materials[velo.material],
                thickness=velo.thickness,
                panels=panels[side],
                only_covered=True,
            )
            for plane, (_, side) in zip(VELO_PLANES, velo.modules, strict=True)
        ]

    def _strips(self) -> list[dict[str, Any]]:
        return [
            self._surface(
                plane,
                material=self.materials[part.material],
                thickness=part.thickness,
                shear=layer.dxdy,
                panels=((0.0, 0.0, 1.0, 0.0, layer.half_width, layer.half_height),),
                hole=part.hole,
            )
            for part, planes in ((self.description.ut, UT_PLANES), (self.description.scifi, SCIFI_PLANES))
            for plane, layer in zip(planes, part.layers, strict=True)
        ]

    def _z_in(self) -> dict[str, Any]:
        return self._surface(Z_IN, material=0, thickness=0.0)

    def _slabs(self) -> list[dict[str, Any]]:
        return [
            {
                "plane": (slab.z, 0.0, 0.0),
                "origin": (0.0, 0.0),
                "map": tuple(np.eye(2).ravel()),
                "shear": 0.0,
                "panels": (),
                "hole": (slab.opening, slab.opening),
                "plane_index": NO_PLANE,
                "only_covered": False,
                "material": self.materials[slab.material],
                "thickness": slab.thickness,
            }
            for slab in self.description.slabs
        ]


def compiled_material(material: Material) -> _transport.Material:
    """Hand a material to the compiled core."""
    compiled = _transport.Material()
    compiled.atomic_number = material.atomic_number
    compiled.density = material.density
    compiled.z_over_a = material.z_over_a
    compiled.radiation_length = material.radiation_length
    compiled.excitation = 1e-6 * material.excitation  # eV to MeV
    for name, number in material.density_effect.model_dump().items():
        setattr(compiled, name, number)
    return compiled
