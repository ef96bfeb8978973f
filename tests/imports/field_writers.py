"""Write field maps in the formats of other programs, with code that shares nothing with the readers.

A map is the corner (3,) and spacing (3,) in mm and the field (nx, ny, nz, 3) in T, in float64.
"""

import struct

import numpy as np

SIGNS = {1: (1, 1, 1), 2: (-1, 1, 1), 3: (1, 1, -1), 4: (-1, 1, -1)}


def write_cdf(folder, corner, spacing, field):
    """Write four quadrants in gauss and cm; each quadrant's file counts away from the axis."""
    nx, ny, nz = (field.shape[0] + 1) // 2, (field.shape[1] + 1) // 2, field.shape[2]
    for number, (sx, sy) in {1: (1, 1), 2: (-1, 1), 3: (-1, -1), 4: (1, -1)}.items():
        lines = ["PARTICLE  made for a test", "something else"]
        numbers = [*(0.1 * spacing), nx, ny, nz, 0.1 * corner[2]]
        lines.append("GEOMETRY: " + " ".join(f"{n:g}" for n in numbers))
        for k in range(nz):
            for j in range(ny):
                for i in range(nx):
                    b = field[nx - 1 + sx * i, ny - 1 + sy * j, k]
                    lines.append(
                        " ".join(f"{1e4 * s * c:.9g}" for s, c in zip(SIGNS[number], b, strict=True))
                    )
        (folder / f"field.v0.c{number}.down.cdf").write_text("\n".join(lines) + "\n")
    return str(folder / "field.v0.c*.cdf")


def write_allen(folder, corner, spacing, field):
    path = folder / "magfield.bin"
    with path.open("wb") as file:
        file.write(struct.pack("<4f", *(1 / spacing), 0.0))
        file.write(struct.pack("<4i", *field.shape[:3], 0))
        file.write(struct.pack("<4f", *corner, 0.0))
        for k in range(field.shape[2]):
            for j in range(field.shape[1]):
                for i in range(field.shape[0]):
                    file.write(struct.pack("<4f", *(1e-3 * field[i, j, k]), 0.0))
    return str(path)


def rows_of(corner, spacing, field):
    """Rows (n, 6) in mm and T; z varies fastest."""
    return np.array(
        [
            [*(corner + spacing * np.array([i, j, k])), *field[i, j, k]]
            for i in range(field.shape[0])
            for j in range(field.shape[1])
            for k in range(field.shape[2])
        ]
    )


def write_plain(folder, corner, spacing, field):
    """Write CSV whose header says no unit: rows in random order, in cm and kG."""
    rows = rows_of(corner, spacing, field) * [0.1, 0.1, 0.1, 10, 10, 10]
    rows = rows[np.random.default_rng(3).permutation(len(rows))]
    path = folder / "field.csv"
    lines = ["x,y,z,Bx,By,Bz", *(",".join(f"{n:.10g}" for n in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_csv(folder, corner, spacing, field):
    rows = rows_of(corner, spacing, field) * [1e-3, 1e-3, 1e-3, 1e4, 1e4, 1e4]
    path = folder / "field.csv"
    lines = ["x [m],y [m],z [m],Bx [G],By [G],Bz [G]", *(",".join(f"{n:.10g}" for n in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)
