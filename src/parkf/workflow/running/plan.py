"""The plan of a run, from a dry run of Snakemake."""

import io
import warnings
from argparse import Namespace
from collections.abc import Collection, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError

with warnings.catch_warnings():
    # Ignore warnings from installed plugins that are not used.
    warnings.simplefilter("ignore")
    from snakemake.api import SnakemakeApi
    from snakemake.cli import parse_args
    from snakemake.settings import enums, types
    from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry


def plan(
    snakefile: Path,
    config: Path,
    folder: Path,
    resources: Mapping[str, Any],
    rerun_triggers: Collection[enums.RerunTrigger] = (),
    groups: Mapping[str, Any] | None = None,
) -> Any:
    """Return Snakemake's plan of a run in a working folder, a snakemake.dag.DAG.

    It has the jobs, their dependencies, and which jobs would run and why. `resources` are arguments of
    Snakemake's ``ResourceSettings``: cores, chunks. `rerun_triggers` are changes after which jobs run again,
    as in a profile; by default, Snakemake chooses. `groups` are arguments of ``GroupSettings``: rules whose
    jobs are submitted together. A run that Snakemake cannot plan raises a ParkfError.
    """
    _be_silent()
    output = io.StringIO()
    # Catch the output, because a dry run lists its jobs even with --quiet.
    with (
        redirect_stderr(output),
        redirect_stdout(output),
        SnakemakeApi(types.OutputSettings(dryrun=True, quiet={enums.Quietness.ALL})) as api,
    ):
        workflow = api.workflow(
            types.ResourceSettings(**resources),
            types.ConfigSettings(configfiles=[config]),
            snakefile=snakefile,
            workdir=folder,
        )
        triggers = {"rerun_triggers": frozenset(rerun_triggers)} if rerun_triggers else {}
        settings = types.DAGSettings(**triggers)
        try:
            together = types.GroupSettings(**(groups or {}))
            workflow.dag(settings).execute_workflow(executor="dryrun", group_settings=together)
        except Exception as error:
            raise ParkfError(f"no plan of the run: {error}") from error
        # Snakemake's interface prints a plan but does not return it.
        return workflow._workflow.dag


def options(profile: Path) -> Namespace:
    """Return the options that Snakemake's command line would have with a profile, a folder.

    A profile that Snakemake cannot read raises a ParkfError.
    """
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return parse_args(["--workflow-profile", str(profile)])[1]
    # Snakemake ends the process after a message about an unknown option.
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, Exception) else said.getvalue().strip().splitlines()[-1]
        raise ParkfError(f"{profile}: Snakemake cannot read this profile: {reason}") from error


def _be_silent() -> None:
    """Let dry runs of this process print no job: the texts of all jobs take as long as the plan itself."""
    plugin = ExecutorPluginRegistry().get_plugin("dryrun")
    executor: Any = plugin.executor

    class Silent(executor):
        silent = True

        def printjob(self, job: Any) -> None:
            pass

    if not hasattr(executor, "silent"):
        plugin.executor = Silent


def in_order(dag: Any) -> list[Any]:
    """Return all jobs of a plan except the target, each after the jobs that it waits for."""
    levels = (sorted(level, key=lambda job: (job.rule.name, str(job.output))) for level in dag.toposorted())
    return [job for level in levels for job in level if not job.is_norun]
