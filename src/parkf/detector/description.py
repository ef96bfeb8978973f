"""Content of a geometry file: strict models, each field with its unit; unknown keys are refused."""

import itertools
import math
from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from parkf.io.documents.models import Listed, Strict
from parkf.io.planes import SCIFI_LAYERS, SCIFI_MATS, UT_LAYERS, UT_SECTORS, VELO_MODULES

# These limits are far beyond the values of any tracker, yet close enough to notice a wrong unit or a wrong
# decimal point.
Along = Annotated[float, Field(ge=-5e3, le=2e4)]
Size = Annotated[float, Field(gt=0.0, le=1e4)]
Thickness = Annotated[float, Field(ge=0.0, le=2e3)]
Resolution = Annotated[float, Field(gt=0.0, le=10.0)]
Occupancy = Annotated[float, Field(ge=0.0, le=1e4)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]

TWELVE = "steps between layers, candidates and the kernel are made for twelve"
FOUR = "steps between layers, candidates and the kernel are made for four"
"""Reasons for the fixed numbers of layers."""


class Beam(Strict):
    """The luminous region in mm."""

    x: Annotated[float, Field(ge=-5, le=5, description="mm; the beam passes through the VELO's opening")]
    y: Annotated[float, Field(ge=-5, le=5, description="mm; the beam passes through the VELO's opening")]
    sigma_x: Annotated[Positive, Field(le=5, description="mm")]
    sigma_y: Annotated[Positive, Field(le=5, description="mm")]
    sigma_z: Annotated[Positive, Field(le=500, description="mm")]


class Magnet(Strict):
    """z in mm of the two planes between which the magnet table extrapolates."""

    z_in: Along
    z_out: Along


class DensityEffect(Strict):
    """Sternheimer's constants of the density effect."""

    x0: float
    x1: float
    a: float
    k: float
    c: float


class Material(Strict):
    """Properties that determine scattering and energy loss."""

    atomic_number: Annotated[Positive, Field(le=120)]
    density: Positive = Field(le=25, description="g/cm3; osmium has 22.6")
    z_over_a: Positive = Field(le=1, description="mol/g; hydrogen has 0.99")
    radiation_length: Positive = Field(ge=3, le=1e8, description="mm; uranium has 3.2, hydrogen 7.5e6")
    excitation: Positive = Field(ge=10, le=1000, description="mean excitation energy, eV")
    density_effect: DensityEffect


class Rectangle(Strict):
    """Half sizes about the centre, in mm."""

    half_width: Annotated[NotNegative, Field(le=1e4, description="mm")]
    half_height: Annotated[NotNegative, Field(le=1e4, description="mm")]


class SensorSize(Strict):
    """Active area of one VELO sensor in mm."""

    length: Size
    width: Size


class Sensor(Strict):
    """Centre of a VELO sensor in mm, and the angle of its long edge to the x axis in degrees."""

    x: Annotated[float, Field(ge=-200, le=200, description="mm")]
    y: Annotated[float, Field(ge=-200, le=200, description="mm")]
    angle: Annotated[float, Field(ge=-360, le=360, description="degrees")]
    z: Annotated[float, Field(ge=-200, le=200, description="mm, relative to the module")] = 0.0


class VeloSide(Strict):
    """One half of the VELO: z of its modules in mm, ascending, and the sensors on each module."""

    z: Listed[Along] = Field(min_length=1)
    sensors: Listed[Sensor] = Field(min_length=1)


class Velo(Strict):
    """Pixel modules around the beam, in two halves."""

    material: str
    thickness: Thickness = Field(description="mm, at normal incidence")
    resolution: Resolution = Field(description="mm, in x and y")
    efficiency: Fraction
    noise_per_module: Occupancy = Field(description="mean hits an event")
    sensor: SensorSize
    right: VeloSide = Field(description="the half at x < 0")
    left: VeloSide = Field(description="the half at x > 0")

    @property
    def modules(self) -> tuple[tuple[float, Literal["left", "right"]], ...]:
        """All modules as (z, side), in ascending z, which is the order of the plane indices."""
        right: list[tuple[float, Literal["left", "right"]]] = [(z, "right") for z in self.right.z]
        return tuple(sorted(right + [(z, "left") for z in self.left.z]))

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name, side in (("right", self.right), ("left", self.left)):
            _require_ascending(f"velo.{name}.z", side.z)
        z = tuple(z for z, _ in self.modules)
        _require_ascending("velo: z of all modules", z)
        if len(z) != VELO_MODULES:
            raise ValueError(f"velo: {len(z)} modules, expected {VELO_MODULES}")
        return self


class Piece(Strict):
    """A separately mounted part of a layer, a UT sector or a SciFi mat: centre and half sizes in mm."""

    number: int = Field(ge=0, description="in LHCb's numbering")
    x: float
    y: float
    z: float = Field(default=0.0, description="mm, from the layer's plane at this y")
    half_width: Positive = Field(description="mm, across the strips")
    half_height: Positive = Field(description="mm, along the strips")


class StripLayer(Strict):
    """A layer of strips or fibres with slope dx/dy; half sizes across them and along y in mm."""

    z: Along = Field(description="mm, at y = 0")
    dxdy: Annotated[float, Field(ge=-0.5, le=0.5, description="a slope; stereo layers have 0.087")]
    half_width: Size
    half_height: Size
    pieces: Listed[Piece] = Field(default=(), description="parts of the layer, where they are known")


class Zone(Rectangle):
    """A region of the UT with one strip pitch in mm."""

    pitch: Annotated[Positive, Field(le=10, description="mm")]

    @property
    def sigma(self) -> float:
        """Error of a single-strip hit in mm: pitch over the square root of twelve."""
        return float(self.pitch / 12**0.5)


class Ut(Strict):
    """The strip layers in front of the magnet."""

    material: str
    thickness: Thickness = Field(description="mm, at normal incidence")
    efficiency: Fraction
    noise_per_layer: Occupancy = Field(description="mean hits an event")
    hole: Rectangle
    zones: Listed[Zone] = Field(min_length=1, description="from the beam outwards")
    layers: Listed[StripLayer] = Field(min_length=UT_LAYERS, max_length=UT_LAYERS, description=FOUR)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _require_ascending("ut.layers: z", tuple(layer.z for layer in self.layers))
        _require_numbers("ut.layers", self.layers, UT_SECTORS)
        _require_ascending("ut.zones: half_width", tuple(zone.half_width for zone in self.zones))
        return self


class SciFi(Strict):
    """The fibre layers behind the magnet."""

    material: str
    thickness: Thickness = Field(description="mm, at normal incidence")
    efficiency: Fraction
    noise_per_layer: Occupancy = Field(description="mean hits an event")
    dzdy: float = Field(ge=-0.1, le=0.1, description="lean of the layers; LHCb's have 0.0036")
    hole: Rectangle
    cluster_errors: Listed[Resolution] = Field(
        min_length=SCIFI_LAYERS, max_length=SCIFI_LAYERS, description="mm, by size class"
    )
    alignment_error: NotNegative = Field(
        default=0.0,
        le=10,
        description="mm; error of a mat's position, added in quadrature to the errors of its hits",
    )
    cluster_fractions: Listed[Fraction] = Field(min_length=SCIFI_LAYERS, max_length=SCIFI_LAYERS)
    layers: Listed[StripLayer] = Field(min_length=SCIFI_LAYERS, max_length=SCIFI_LAYERS, description=TWELVE)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _require_ascending("scifi.layers: z", tuple(layer.z for layer in self.layers))
        _require_numbers("scifi.layers", self.layers, SCIFI_MATS)
        total = sum(self.cluster_fractions)
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"scifi.cluster_fractions: sum {total:g}, expected 1")
        return self

    @property
    def hit_errors(self) -> tuple[float, ...]:
        """Error of a hit in a fit, mm, by size class: the errors of the cluster and of the mat's position."""
        return tuple(math.hypot(error, self.alignment_error) for error in self.cluster_errors)


class Tube(Strict):
    """A corrugated wall around the beam, with the same thickness at any angle; sizes in mm."""

    name: str
    radius: Size
    z_min: Along
    z_max: Along
    material: str
    thickness: Thickness = Field(description="mm, along z")


class Slab(Strict):
    """An infinite plane of passive material with a square opening; its half size is in mm."""

    name: str
    z: Along
    material: str
    thickness: Thickness
    opening: Annotated[NotNegative, Field(le=1e4)]


class Description(Strict):
    """A whole geometry file."""

    tag: str = Field(min_length=1)
    beam: Beam
    magnet: Magnet
    materials: dict[str, Material]
    velo: Velo
    ut: Ut
    scifi: SciFi
    tubes: Listed[Tube]
    slabs: Listed[Slab]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        chain = (
            ("the last VELO module", self.velo.modules[-1][0]),
            ("the first UT layer", self.ut.layers[0].z),
            ("the last UT layer", self.ut.layers[-1].z),
            ("magnet.z_in", self.magnet.z_in),
            ("magnet.z_out", self.magnet.z_out),
        )
        for (before, z0), (after, z1) in itertools.pairwise(chain):
            if z0 >= z1:
                raise ValueError(f"{before} (z = {z0:g}) must lie before {after} (z = {z1:g})")
        first = self.scifi.layers[0]
        if abs(first.z - self.magnet.z_out) > first.half_height * abs(self.scifi.dzdy) + 1.0:
            raise ValueError(
                f"magnet.z_out: {self.magnet.z_out:g} lies outside the first SciFi layer (z = {first.z:g})"
            )
        _require_ascending("slabs: z", tuple(slab.z for slab in self.slabs))
        used = {"velo": self.velo.material, "ut": self.ut.material, "scifi": self.scifi.material}
        used |= {tube.name: tube.material for tube in self.tubes}
        used |= {slab.name: slab.material for slab in self.slabs}
        for part, material in used.items():
            if material not in self.materials:
                raise ValueError(f"{part}: material '{material}' is not among {sorted(self.materials)}")
        return self


def _require_numbers(what: str, layers: tuple[StripLayer, ...], most: int) -> None:
    numbers = [piece.number for layer in layers for piece in layer.pieces]
    twice = [number for number, count in Counter(numbers).items() if count > 1]
    if twice:
        raise ValueError(f"{what}: piece {twice[0]} occurs twice")
    if numbers and max(numbers) >= most:
        raise ValueError(f"{what}: piece {max(numbers)}, expected less than {most}")


def _require_ascending(what: str, values: tuple[float, ...]) -> None:
    for index, (before, after) in enumerate(itertools.pairwise(values)):
        if not before < after:
            raise ValueError(
                f"{what} must ascend: entry {index} is {before:g}, entry {index + 1} is {after:g}"
            )
