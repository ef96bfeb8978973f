"""Allen's dumps and LHCb's conditions written for tests, by code that shares nothing with the readers.

A detector here is a dictionary. `velo` has a rotation (3, 3) and an origin (3,) for each of 208 sensors. `ut`
and `scifi` have four points (4, 3) for each sector or mat: begin and end of the first strip, and of the last
one, in mm. Elements can be displaced before they are written.
"""

import struct

import numpy as np
from scipy.spatial.transform import Rotation

_RIGHT = [-287.5, -262.5, -237.5, -212.5, -137.5, -62.5, -37.5, -12.5, 12.5, 37.5, 62.5, 87.5, 112.5, 137.5]
_RIGHT += [162.5, 187.5, 212.5, 237.5, 262.5, 312.5, 387.5, 487.5, 587.5, 637.5, 687.5, 737.5]
MODULES = sorted([*_RIGHT, *(z + 12.5 for z in _RIGHT)])
UT_LAYERS = ((2327.5, 0.0, 248), (2372.5, 0.0875, 248), (2597.5, -0.0875, 276), (2642.5, 0.0, 276))
SCIFI_Z = [7826.0, 7896.0, 7966.0, 8036.0, 8508.0, 8578.0, 8648.0, 8718.0, 9193.0, 9263.0, 9333.0, 9403.0]
STEREO = (0.0, 0.0875, -0.0875, 0.0)
LENGTH, WIDTH = 42.57, 14.08
_HALF = np.sqrt(0.5)
# Sensors of a right-hand module: corner, direction of the long edge, and which way they face along the beam.
_SENSORS = (
    ((12.93298, -40.0576, -0.581), (-_HALF, _HALF), -1),
    ((-26.33973, -20.54145, 0.581), (_HALF, -_HALF), 1),
    ((-9.95606, 17.16855, 0.581), (-_HALF, -_HALF), 1),
    ((-49.93588, -3.0547, -0.581), (_HALF, _HALF), -1),
)


def detector(*, ut=UT_LAYERS, scifi_z=tuple(SCIFI_Z), stereo=STEREO, lean=0.0036):
    """Every element at its nominal position."""
    velo = []
    for module, z in enumerate(MODULES):
        turn = np.diag([1.0, 1.0, 1.0]) if module % 2 == 0 else np.diag([-1.0, -1.0, 1.0])
        for corner, edge, facing in _SENSORS:
            long = np.array([*edge, 0.0])
            normal = np.array([0.0, 0.0, float(facing)])
            rotation = np.column_stack([long, np.cross(normal, long), normal])
            velo.append((turn @ rotation, turn @ np.array(corner) + [0.0, 0.0, z]))
    sectors = [
        _strips(
            np.array([(i % columns - 0.5 * (columns - 1)) * 96.5, (i // columns - 7.5) * 85.0, z + depth(i)]),
            slope,
            0.0,
            0.5 * 511 * 0.19,
            48.64,
        )
        for z, slope, count in ut
        for columns in (16 if count == 248 else 18,)
        for i in range(count)
    ]
    mats, numbers = [], []
    for layer, z in enumerate(scifi_z):
        for quarter in range(4):
            for module in range(5 if layer < 8 else 6):
                for mat in range(4):
                    side, up = 2 * (quarter % 2) - 1, 2 * (quarter // 2) - 1
                    y = up * 1213.1
                    x = side * (68.8 + 130.8 * mat + 532.4 * module) + stereo[layer % 4] * y
                    place = np.array([x, y, z + lean * y])
                    mats.append(_strips(place, stereo[layer % 4], lean, 65.035, 1212.0))
                    numbers.append(128 * layer + 32 * quarter + 4 * module + mat)
    return {"velo": velo, "ut": np.array(sectors), "scifi": np.array(mats), "numbers": np.array(numbers)}


def depth(i):
    """Offset in z of a UT sector: staves alternate about the layer, and sectors about their stave."""
    return (5.0 if i % 2 else -5.0) + (2.2 if (i // 16) % 2 else -2.2)


def _strips(centre, slope, lean, half_width, half_height):
    along = np.array([slope, 1.0, lean]) / np.sqrt(1 + slope**2 + lean**2)
    across = np.cross(along, np.cross([1.0, 0.0, 0.0], along))
    across /= np.linalg.norm(across)
    corners = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    return np.array([centre + u * half_width * across + v * half_height * along for u, v in corners])


def displaced(found, seed, *, shift=0.1, angle=2e-4):
    """Move each element as a rigid body about its centre; UT sectors keep their dz/dy, which dumps lack."""
    random = np.random.default_rng(seed)
    velo = []
    for rotation, origin in found["velo"]:
        centre = origin + rotation @ [0.5 * LENGTH, 0.5 * WIDTH, 0.0]
        turn = Rotation.from_euler("xyz", random.uniform(-angle, angle, 3)).as_matrix()
        moved = centre + random.uniform(-shift, shift, 3)
        velo.append((turn @ rotation, moved + turn @ (origin - centre)))
    out = {"velo": velo, "numbers": found["numbers"]}
    for name in ("ut", "scifi"):
        rows = []
        for corners in found[name]:
            angles = random.uniform(-angle, angle, 3) * ([1, 1, 1] if name == "scifi" else [0, 1, 1])
            centre = corners.mean(axis=0)
            turned = Rotation.from_euler("xyz", angles).apply(corners - centre)
            rows.append(centre + turned + random.uniform(-shift, shift, 3))
        out[name] = np.array(rows)
        if name == "ut":
            # UT strips are inclined by dz/dx, so a turn about z gives them a dz/dy of 1e-7; remove it.
            for begin, end in ((0, 1), (2, 3)):
                middle = 0.5 * (out[name][:, begin, 2] + out[name][:, end, 2])
                out[name][:, begin, 2] = out[name][:, end, 2] = middle
    return out


def velo_corners(found):
    """Corners (208, 4, 3) of the sensors."""
    corners = np.array([[0, 0, 0], [LENGTH, 0, 0], [LENGTH, WIDTH, 0], [0, WIDTH, 0]])
    return np.array([corners @ rotation.T + origin for rotation, origin in found["velo"]])


def velo_bytes(found, *, mask=False, modules=MODULES):
    """``velo_geometry.bin``."""
    widths = np.full(768, 0.055)
    for chip in (255, 256, 511, 512):
        widths[chip] = 0.1375
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    edges *= LENGTH / edges[-1]
    x = 0.5 * (edges[1:] + edges[:-1])
    x[-1] = LENGTH - 0.5 * 0.055
    out = struct.pack("<Q52f", 52, *modules) + struct.pack("<Q768f", 768, *x)
    out += struct.pack("<Q768f", 768, *widths) + struct.pack("<QQ", 208, 12)
    for rotation, origin in found["velo"]:
        out += struct.pack("<12f", *rotation.ravel(), *origin)
    return out + (struct.pack("<I", 7) if mask else b"")


def ut_bytes(found, *, version=0):
    """``ut_geometry.bin``; every second sector numbers its strips backwards, which a negative z marks."""
    rows = []
    for index, corners in enumerate(found["ut"]):
        begin, end, last_begin, _ = corners if index % 2 == 0 else corners[[2, 3, 0, 1]]
        slope = (end[0] - begin[0]) / (end[1] - begin[1])
        x0, last_x0 = begin[0] - slope * begin[1], last_begin[0] - slope * last_begin[1]
        step = (last_begin - begin) / 511
        z = begin[2] if index % 2 == 0 else -begin[2]
        cosine = 1 / np.sqrt(1 + slope**2)
        row = (0.19, end[1] - begin[1], (last_x0 - x0) / 511, step[1], step[2], x0, begin[1], z, cosine)
        rows.append((*row, slope))
    rows = np.array(rows)
    out = struct.pack("<I", 1048 + (version << 16)) + struct.pack("<1048I", *[1] * 1048)
    for column in rows.T[: 9 + version]:
        out += struct.pack("<1048f", *column)
    return out


def scifi_bytes(found, *, banks="first channels"):
    """``scifi_geometry.bin``; upper mats number their fibres towards -x."""
    modules = [5] * 32 + [6] * 16
    out = struct.pack("<5I", 3, 4, 12, 4, 48) + struct.pack("<48I", *modules)
    out += struct.pack("<3I", 4, len(found["numbers"]), 240)
    out += {
        "none": struct.pack("<240I", *range(0, 480, 2)),
        "first channels": struct.pack("<I240I", 0, *range(0, 480, 2)),
        "links": struct.pack("<I240I", 1, *range(240)) + struct.pack("<5760I", *range(5760)),
    }[banks]
    table = np.zeros((13, 1536))
    for number, corners in zip(found["numbers"], found["scifi"], strict=True):
        low, high, last_low, last_high = corners
        up = low[1] > 0
        begin, last, end = (last_low, low, last_high) if up else (high, last_high, low)
        across = (last - begin) / np.linalg.norm(last - begin)
        # The first channel's centre lies half a channel from the mat's edge.
        mirror = begin - (-65.16 + 0.125) * across
        along = (end - begin) / (end[1] - begin[1])
        table[:, number] = [
            *mirror, *across, -65.16, 0.125, 0.22, 32.7, along[0], along[2], end[1] - begin[1]
        ]  # fmt: skip
    return out + struct.pack("<I", 1536) + table.astype("<f4").tobytes()


def beam_bytes(*, new=False):
    """``beamline.bin``."""
    if new:
        return struct.pack("<I9f", 1, 0.7, -0.2, 3.0, 0.0009, 0.0, 0.0016, 0.0, 0.0, 2500.0)
    return struct.pack("<2f", 0.7, -0.2)


def write(folder, found, **files):
    """Write all four dumps into a folder; `files` replaces the bytes of some."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "velo_geometry.bin": lambda: velo_bytes(found),
        "ut_geometry.bin": lambda: ut_bytes(found),
        "scifi_geometry.bin": lambda: scifi_bytes(found),
        "beamline.bin": beam_bytes,
    }
    for name, content in contents.items():
        key = name.split("_")[0].split(".")[0]
        (folder / name).write_bytes(files[key] if key in files else content())
    return folder
