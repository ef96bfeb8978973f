"""Every command line of the README about clusters works, in the order in which it is shown there."""

import pytest

from ..ready import snakemake as run_snakemake
from .documented import checkout, commands, shell, snakemake


def test_commands_run(project):
    for name, module in (
        ("slurm", "snakemake_executor_plugin_slurm"),
        ("htcondor", "snakemake_executor_plugin_htcondor"),
    ):
        pytest.importorskip(module, reason=f"needs pip install 'parkf[{name}]'")
    folder = checkout(project)
    lines = commands()
    assert len(lines) > 5
    for line in lines:
        if line.startswith("make "):
            # What make would call, as a dry run; neighbouring tests really submit.
            done = run_snakemake(*snakemake(line, folder), "--dry-run", folder=folder)
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            shell(line, folder)
    ours = (folder / "workflow/profiles/ours/profile.yaml").read_text()
    assert "  slurm_account: physics\n" in ours
