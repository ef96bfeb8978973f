"""Every command line of the README about clusters works, in the order in which it is shown there."""

import shlex

import pytest

from .documented import checkout, commands, shell, snakemake


def test_commands_run(project):
    for name, module in (
        ("slurm", "snakemake_executor_plugin_slurm"),
        ("htcondor", "snakemake_executor_plugin_htcondor"),
        ("scratch", "snakemake_storage_plugin_fs"),
    ):
        pytest.importorskip(module, reason=f"needs pip install 'parkf[{name}]'")
    folder = checkout(project)
    lines = commands()
    assert len(lines) > 5
    for line in lines:
        if line.startswith("make "):
            # The command that make would call, as a dry run; neighbouring tests really submit.
            line = shlex.join(["snakemake", *snakemake(line, folder), "--dry-run"])
        shell(line, folder)
    ours = (folder / "workflow/profiles/ours/profile.yaml").read_text()
    assert "  slurm_account: physics\n" in ours
