"""The command line of a benchmark, with its folders and the file that it writes, and stages that it runs."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from pathlib import Path
from typing import Any

from parkf.detector.field import DipoleSources, FieldMap, evaluate_on_grid
from parkf.detector.geometry import Geometry, load_geometry
from parkf.imports.hits.take import take_tables
from parkf.io.project import PROJECT

LHCB = PROJECT / "../shared/data/lhcb_fullsim"
"""Ten events of LHCb's full simulation."""


def parser(text: str | None, **folders: str | Path) -> ArgumentParser:
    """Return a parser with `--json`, and with an argument for each of the folders, which have defaults."""
    found = ArgumentParser(description=text, formatter_class=RawDescriptionHelpFormatter)
    for name, default in folders.items():
        found.add_argument(name, nargs="?", type=Path, default=Path(default))
    found.add_argument("--json", type=Path, help="write the figures here")
    return found


def write(path: Path | None, content: Any) -> None:
    """Write figures as JSON where a file is named."""
    if path is not None:
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")


def stage(name: str, **arguments: Any) -> None:
    """Run a stage of a run in this process."""
    getattr(import_module(f"parkf.stages.{name}"), name)(**arguments)


def lhcb_events(source: Path, folder: Path) -> tuple[Geometry, FieldMap, Path, Path]:
    """Return geometry and field of LHCb's ten events, and their hits and particles as tables in a folder."""
    hits, particles = folder / "hits.parquet", folder / "particles.parquet"
    geometry = load_geometry(PROJECT / "data/geometry/run3_fullsim.yaml")
    field = evaluate_on_grid(DipoleSources.load(PROJECT / "data/field/lhcb.json"))
    take_tables(source / "hits.parquet", source / "tracks.parquet", hits_to=hits, particles_to=particles)
    return geometry, field, hits, particles
