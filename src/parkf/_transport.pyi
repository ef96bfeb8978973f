from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Field:
    def __init__(
        self,
        *,
        nodes: NDArray[np.float32],
        origin: Sequence[float],
        spacing: Sequence[float],
        scale: float,
        cubic: bool,
        zero_outside: bool,
    ) -> None: ...
    def look_up(
        self, points: NDArray[np.float64], threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]: ...

class Material:
    atomic_number: float
    density: float
    z_over_a: float
    radiation_length: float
    excitation: float
    x0: float
    x1: float
    a: float
    k: float
    c: float
    def __init__(self) -> None: ...

class Detector:
    def __init__(self) -> None: ...
    def add_material(self, material: Material) -> None: ...
    def add_tube(
        self, *, radius: float, z_min: float, z_max: float, material: int, thickness: float
    ) -> None: ...
    def add_surface(
        self,
        *,
        plane: Sequence[float],
        origin: Sequence[float],
        map: Sequence[float],
        shear: float,
        panels: Sequence[Sequence[float]],
        hole: Sequence[float],
        plane_index: int,
        only_covered: bool,
        material: int,
        thickness: float,
    ) -> None: ...
    def add_companion(self, index: int, plane: Sequence[float]) -> None: ...

def propagate(
    field: Field,
    states: NDArray[np.float64],
    z: NDArray[np.float64],
    planes: NDArray[np.float64],
    tolerance: float,
    threads: int,
    build: str = "",
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]: ...
def propagate_with_jacobian(
    field: Field,
    states: NDArray[np.float64],
    z: NDArray[np.float64],
    planes: NDArray[np.float64],
    tolerance: float,
    threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]: ...
def track_through(
    field: Field,
    detector: Detector,
    event: NDArray[np.int32],
    particle: NDArray[np.int32],
    properties: NDArray[np.float64],
    *,
    seed: int,
    tolerance: float,
    least_momentum: float,
    steepest: float,
    fewest_planes: int,
    velo_end: float,
    last_plane: int,
    threads: int,
    build: str = "",
) -> dict[str, NDArray[Any]]: ...
def builds() -> list[str]: ...
def instruction_sets() -> list[str]: ...
