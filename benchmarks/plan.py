"""What Snakemake would run for a configuration: all jobs, with what they declare and wait for."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from parkf.workflow.running.plan import plan as planned

ROOT = Path(__file__).parents[1]


def plan(config: Mapping[str, Any], chunks: Mapping[str, int]) -> Any:
    """Plan a run from nothing, as on a cluster.

    Parameters
    ----------
    config : mapping
        The run's configuration.
    chunks : mapping of str to int
        How many of each kind, as `--set-scatter` takes them.

    Returns
    -------
    snakemake.dag.DAG
        Jobs and what each of them waits for.
    """
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/profile.yaml").read_text())
    # No fewer cores than any rule has threads.
    resources = {
        "cores": 1024,
        "overwrite_threads": profile["set-threads"],
        "overwrite_scatter": dict(chunks),
    }
    with tempfile.TemporaryDirectory(prefix="parkf-plan-") as name:
        folder = Path(name)
        (folder / "data").symlink_to(ROOT / "data")
        (folder / "config.yaml").write_text(yaml.safe_dump(dict(config)))
        return planned(ROOT / "Snakefile", folder / "config.yaml", folder, resources)
