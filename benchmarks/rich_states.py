"""States at the RICH planes, computed with a run's numbers for each fit and with those in LHCb's code.

``python -m benchmarks.rich_states results/default [--json rich.json]``

All start from true states of the run's training data and are compared with Runge-Kutta through the run's
field. LHCb's numbers are for LHCb's field and therefore at a disadvantage here. The trigger extrapolates to
2165 mm from the last VELO hit, parkf's fit from the first UT layer. The scattering is truth minus Runge-Kutta
at the next layer, scaled to the distance of the plane.
"""

from pathlib import Path

import numpy as np
from benchmarks.command import parser, write

from parkf.detector.field import FieldMap
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps.rich import PLANES_OF, RICH_STEPS
from parkf.training.rich import DATASET, SETS, RichFit, rows_at
from parkf.training.rows import COMPONENTS, read_batches, select

# Numbers of each plane's form in LHCb's trigger of 2026. Its code has the VELO's kick with the other sign.
LHCB = {
    990: (
        *(-0.27461, 0.02130, 0.13020, 0.63412, 0.00629, -0.66392, 0.57832, 0.12243, 0.11905, 0.67957),
        *(-0.04346, 41.12807, -0.36773, 0.01405, 0.13020),
    ),
    2165: (
        *(-1.79468, 0.09097, 0.13020, 0.92482, 0.01176, -2.25478, 0.59956, 1.26963, 0.14044, 1.41178),
        *(0.00099, 27.52532, -2.78371, 0.03879, 0.13020),
    ),
    9450: (
        *(0.51594, 0.92742, 0.50147, 0.90342, -0.23370, -4.42730, 0.05454, -0.62828, 1.27656, 0.87818),
        *(1.24467, 0.88083),
    ),
    11900: (
        *(0.32917, 1.10458, 0.00001, 0.44354, -0.09239, -1.10418, 0.02300, -2.05242, 1.20123, 0.87818),
        *(0.71955, 0.88083),
    ),
}
OF_TRIGGER = ("RICH1", "RICH2")
BINS = ((2, 5), (5, 10), (10, 20), (20, 100))
MOST = 200_000


def joined(batches):
    """Join the rows of the first batches until there are at least `MOST`."""
    parts, count = [], 0
    for rows in batches:
        parts.append(rows)
        count += len(rows["qop"])
        if count > MOST:
            break
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def half_widths(at, rows):
    """68 % and 95 % quantiles of |state - Runge-Kutta| for each component and momentum bin; mm and rad."""
    p = 1e-3 / np.abs(rows["qop"])
    masks = {"all": p > 0, **{f"{low}-{high} GeV": (p >= low) & (p < high) for low, high in BINS}}
    sizes = {c: np.abs(state - rows[f"{c}e"]) for c, state in zip(COMPONENTS, at, strict=True)}
    return {
        name: {c: np.quantile(size[mask], (0.68, 0.95)).tolist() for c, size in sizes.items()}
        for name, mask in masks.items()
    }


def scattering(dataset, last, z):
    """68 % quantiles of |truth - Runge-Kutta| of x and y at the plane, mm, scaled from the next layer."""
    rows = joined(select(batch, np.isin(batch["set"], last)) for batch in read_batches(dataset, last))
    begin = rows["z1"] if len(last) > 1 else rows["z0"]
    share = np.abs(z - begin) / np.abs(rows["z1"] - rows["z0"])
    return {c: float(np.quantile(np.abs((rows[f"{c}1"] - rows[f"{c}e"]) * share), 0.68)) for c in ("x", "y")}


def measure(run: Path):
    """Figures of each plane, for every step that leads there and for a straight line."""
    fitted, field = RichFit.load(run / "rich.json"), FieldMap.load(run / "field.npz")
    result = {}
    for name, step in RICH_STEPS.items():
        for number, z in enumerate(PLANES_OF[name]):
            dataset = run / f"datasets/{DATASET[name]}.parquet"
            rows = joined(rows_at(dataset, DATASET[name], z, field))
            functions = numpy_step(step)
            at = functions.predict(np.array(fitted.sets[name][number].values), rows)
            if name not in OF_TRIGGER:
                result[str(z)]["parkf"] = half_widths(at, rows)
                continue
            x, y, tx, ty = (rows[f"{c}0"] for c in COMPONENTS)
            dz = z - rows["z0"]
            result[str(z)] = {
                "rows": len(rows["qop"]),
                "scattering": scattering(dataset, SETS[DATASET[name]], z),
                "trigger": half_widths(at, rows),
                "LHCb": half_widths(functions.predict(np.array(LHCB[z]), rows), rows),
                "straight line": half_widths((x + dz * tx, y + dz * ty, tx, ty), rows),
            }
    return result


def main():
    """Run the command line."""
    line = parser(__doc__)
    line.add_argument("run", type=Path, help="folder of a run, results/default")
    arguments = line.parse_args()
    result = measure(arguments.run)
    for z, plane in result.items():
        x, y = (1e3 * plane["scattering"][c] for c in ("x", "y"))
        print(f"z = {z} mm, {plane['rows']} tracks; scattering {x:.1f}, {y:.1f} um")
        for way in ("parkf", "trigger", "LHCb", "straight line"):
            for name, widths in plane.get(way, {}).items():
                told = (f"{c} {1e3 * widths[c][0]:.3f} ({1e3 * widths[c][1]:.3f})" for c in COMPONENTS)
                print(f"  {way:13s} {name:10s} {', '.join(told)} um, mrad: 68 % (95 %)")
    write(arguments.json, result)


if __name__ == "__main__":
    main()
