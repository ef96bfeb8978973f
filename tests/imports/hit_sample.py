"""Tracks of a particle gun in an analytic field, with hits on every plane, in the formats of others."""

import awkward as ak
import numpy as np
import uproot
from awkward.types import ListType, NumpyType

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES
from parkf.detector.transport import propagate

VELO = range(30, 40)
PLANES = (*VELO, *UT_PLANES, *SCIFI_PLANES)


def tracks(geometry, field, polarity=-1, count=250, seed=2):
    """Particles (n,) and their hits (n, planes): where they cross each plane, and what is measured there."""
    random = np.random.default_rng(seed)
    p = np.exp(random.uniform(np.log(4e3), np.log(4e4), count))
    charge = random.choice([-1.0, 1.0], count)
    tx, ty = random.uniform(-0.15, 0.15, count), random.uniform(-0.15, 0.15, count)
    states = np.column_stack([0 * tx, 0 * tx, tx, ty, charge / p])
    z, crossings = np.zeros(count), []
    for number in PLANES:
        moved = propagate(field, polarity, states, z, tuple(geometry.planes()[number]), threads=1)
        assert moved.ok.all()
        states, z = moved.states, moved.z
        crossings.append(np.column_stack([states[:, 0], states[:, 1], z]))
    crossings = np.stack(crossings, axis=1)
    sigma = np.array([0.0125] * len(VELO) + [0.027] * 4 + [0.1] * 12)
    noise = random.normal(size=(count, len(PLANES))) * sigma
    slope = np.array([0.0] * len(VELO) + [geometry.strip_slope(number) for number in PLANES[len(VELO) :]])
    lean = np.array([geometry.planes()[number, 2] for number in PLANES])
    norm = np.sqrt(1 + tx**2 + ty**2)
    return {
        "event": np.arange(count) // 10,
        "key": np.arange(count) % 10,
        "pid": (211 * charge).astype(int),
        "p": p,
        "px": p * tx / norm,
        "py": p * ty / norm,
        "pz": p / norm,
        "crossing": crossings,
        "sigma": sigma,
        # The strips' x at y = 0; for VELO hits, the point itself.
        "x": crossings[:, :, 0] - slope * crossings[:, :, 1] + noise,
        "y": crossings[:, :, 1] + random.normal(size=noise.shape) * sigma,
        "z": crossings[:, :, 2] - lean * crossings[:, :, 1] * (np.arange(len(PLANES)) >= len(VELO)),
        "slope": slope,
    }


def tree_of(sample):
    """Branches of the tree `Hits_detectors`, as lists."""
    count = len(sample["p"])
    velo, ut, scifi = slice(0, len(VELO)), slice(len(VELO), len(VELO) + 4), slice(len(VELO) + 4, None)

    def vectors(values, part):
        return np.broadcast_to(values, sample["x"].shape)[:, part]

    weight = 1 / sample["sigma"] ** 2
    return {
        "eventID": sample["event"].astype(np.int32),
        **{name: sample[name] for name in ("key", "pid", "p", "px", "py", "pz")},
        **{f"ovtx_{axis}": np.zeros(count) for axis in "xyz"},
        "isMatched": np.ones(count, bool),
        **{f"Velo_{axis}": vectors(sample[axis], velo) for axis in "xyz"},
        "Velo_Module": vectors(np.array(PLANES), velo),
        "UT_xAtYEq0": vectors(sample["x"], ut),
        "UT_dxDy": vectors(sample["slope"], ut),
        "UT_weight": vectors(weight, ut),
        "UT_planeCode": vectors(np.array(PLANES) - UT_PLANES.start, ut),
        "UT_yBegin": vectors(sample["crossing"][:, :, 1] - 40.0, ut),
        "UT_yEnd": vectors(sample["crossing"][:, :, 1] + 60.0, ut),
        "UT_zAtYEq0": np.empty((count, 0)),
        "FT_x": vectors(sample["x"], scifi),
        "FT_z": vectors(sample["z"], scifi),
        "FT_w": vectors(weight, scifi),
        "FT_dxdy": vectors(sample["slope"], scifi),
        "FT_hitPlaneCode": vectors(np.array(PLANES) - SCIFI_PLANES.start, scifi),
        "FT_YMin": vectors(np.where(sample["crossing"][:, :, 1] > 0, 0.0, -2425.0), scifi),
        "FT_YMax": vectors(np.where(sample["crossing"][:, :, 1] > 0, 2425.0, 0.0), scifi),
    }


def write_tree(path, branches, name="Hits_detectors"):
    with uproot.recreate(path) as file:
        kinds = {
            branch: values.dtype if getattr(values, "ndim", 2) == 1 else ListType(NumpyType(_number(values)))
            for branch, values in branches.items()
        }
        tree = file.mktree(name, kinds)
        if len(branches["p"]):
            tree.extend(
                {
                    branch: ak.from_regular(ak.Array(values))
                    if isinstance(kinds[branch], ListType)
                    else values
                    for branch, values in branches.items()
                }
            )
    return path


def _number(values):
    return str(values.dtype) if isinstance(values, np.ndarray) else "float64"
