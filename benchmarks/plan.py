"""The jobs that Snakemake would run for a configuration, with their resources and dependencies."""

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
        Number of chunks of each kind, as for `--set-scatter`.

    Returns
    -------
    snakemake.dag.DAG
        The jobs, and the jobs that each of them waits for.
    """
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/profile.yaml").read_text())
    # There must be at least as many cores as any rule has threads.
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
