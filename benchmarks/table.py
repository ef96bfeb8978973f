"""Accuracy of the magnet table, for both forms, in a trilinear and in a smooth field map.

Run: python -m benchmarks.table [rays]

This trains four tables (with 1.5 million rays by default, as a run does) and tests them on the same 300,000
scattered tracks over the full acceptance. It prints the 68 % and 99 % quantiles and the largest value of
|table − Runge–Kutta| in momentum bins, and writes them to benchmarks/results/table.json.
"""

import resource
import time
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from parkf.detector.field import make_field_map
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_json
from parkf.io.option_types import FormsName, Interpolation
from parkf.model.steps import FORMS
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.form import make_header
from parkf.training.magnet_table.rays import Magnet, independent_rays, training_rays
from parkf.training.magnet_table.train import fit_table

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks/results/table.json"
SEED = 2026
TEST_RAYS = 300_000
FIELDS: tuple[Interpolation, ...] = ("linear", "cubic")
NAMES: tuple[FormsName, ...] = ("production", "improved")
# For each component, the unit in the column heading and the factor to that unit.
COMPONENTS = {"x": ("mm", 1.0), "y": ("mm", 1.0), "tx": ("1e-4", 1e4), "ty": ("1e-4", 1e4)}


def main() -> None:
    """Train, test, print and write."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rays", nargs="?", type=int, default=1_500_000)
    count = parser.parse_args().rays
    geometry = load_geometry(ROOT / "data/geometry/run3.yaml")
    trilinear = make_field_map(
        ROOT / "data/field/dipole.json", spacing=100.0, interpolation="linear", outside="error"
    )
    results = []
    for interpolation in FIELDS:
        field = replace(trilinear, interpolation=interpolation)
        magnet = Magnet(field, geometry.magnet.z_in, geometry.magnet.z_out, geometry.beam, 2)
        begin = time.process_time()
        bends = magnet.bends(SEED)
        rays = training_rays(magnet, bends, count=count, seed=SEED)
        following = time.process_time() - begin
        test = independent_rays(magnet, count=TEST_RAYS, seed=SEED)
        for name in NAMES:
            begin = time.process_time()
            table = fit_table(
                make_header(FORMS[name].table, geometry.magnet.z_in, geometry.magnet.z_out, bends), rays
            )
            cost = {"rays": following, "fit": time.process_time() - begin}
            accuracy = table_accuracy(table, test)["full"]
            results.append({"forms": name, "field": interpolation, "cpu_seconds": cost, "full": accuracy})
            _show(f"{name} form, {interpolation} field", cost, accuracy)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"peak memory {memory:.2f} GB")
    write_json(RESULT, {"rays": count, "test_rays": TEST_RAYS, "peak_memory_gb": memory, "tables": results})


def _show(title: str, cost: dict[str, float], accuracy: list[dict[str, Any]]) -> None:
    print(f"\n{title}: {cost['rays']:.0f} s to follow the rays, {cost['fit']:.0f} s to fit (of one core)")
    edges = list(dict.fromkeys((f["p_min"], f["p_max"]) for f in accuracy))
    print("68 % / 99 %   " + "".join(f"{low:g}–{high:g} GeV".rjust(20) for low, high in edges) + "  largest")
    for component, (unit, scale) in COMPONENTS.items():
        found = [f for f in accuracy if f["component"] == component]
        columns = (f"{scale * f['q68']:.3g} / {scale * f['q99']:.3g}".rjust(20) for f in found)
        largest = np.max([scale * f["largest"] for f in found])
        print(f"{component} [{unit}]".ljust(14) + "".join(columns) + f"{largest:9.3g}")


if __name__ == "__main__":
    main()
