"""Functions for rules, called while Snakemake reads the Snakefile, and for jobs, called before a run starts.

Inputs, outputs and parameters of a rule have the names of its command's arguments and options. The rule calls
the command with ``--job {log}.json``. A run writes these files before its first job starts.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from threading import Thread
from typing import Any

from snakemake.logging import logger
from snakemake.shell import shell

from parkf.io.documents.document import read_document
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.code import code_of, forget_sources
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.project import PROJECT, found
from parkf.io.terminal import say
from parkf.io.usage import VARIABLE as USAGE
from parkf.report.job_graph import write_graph
from parkf.workflow.cluster import COSTS_FILE, load_costs, name_endings
from parkf.workflow.config import load_config
from parkf.workflow.config_files import extended
from parkf.workflow.family import Family, load_family
from parkf.workflow.run import Run
from parkf.workflow.running.alike import hold_once
from parkf.workflow.running.groups import check_groups_once
from parkf.workflow.running.jobs import COPIES, OUTPUT, Job, plain, text_of
from parkf.workflow.running.lock import VARIABLE as LED
from parkf.workflow.running.progress import tell
from parkf.workflow.running.ready import shell_function
from parkf.workflow.running.shared import tidy
from parkf.workflow.running.snakemake import start_jobs_alike
from parkf.workflow.running.storage import copies_in, fetch_first, place_of, store_products_alone

# Samples and parameter sets that `scattergather` divides.
_SCATTERED = ("training", "validation", "signals", "sets")
_CALL = re.compile(r"parkf (?P<command>[a-z-]+(?: [a-z]+)?) --job \{log(?:\[0\])?\}\.json(?= )")
# Parameters that are no arguments: fingerprints, arguments that differ between the command lines of a job,
# and captions of Snakemake's own report.
CODE, MEANING, FINGERPRINT, _EACH = "code", "meaning", "fingerprint", "each"
_NO_ARGUMENTS = (CODE, MEANING, FINGERPRINT, _EACH, "captions")
# Commands that each run repeats: measurements of the machine, copies, and pages of one run. Imports are
# repeated, too, because they print their findings.
_NOT_SHARED = (
    "throughput",
    "check-dataset",
    "stages",
    "report",
    "likeness",
    "params publish",
    "family report",
)
# Formulas that do not count as code of a command. The rule of `train` has the fingerprint of its step's
# formulas as a parameter; the table depends only on the formulas of the magnet.
_STEPS = tuple(
    f"parkf.model.steps.{name}"
    for name in ("beam", "corrections", "curved", "forms", "gap", "scifi", "ut", "velo", "velo_to_ut")
)
_FORMULAS = {"train": (*_STEPS, "parkf.model.steps.magnet"), "train-table": _STEPS}
# First commands of the shells of jobs.
_PREFIX = f"set -euo pipefail; export PATH={quote(str(Path(sys.executable).parent))}:$PATH {USAGE}=1; "
_UNLED = (
    "plain snakemake neither looks after a killed run's lock, jobs and files, nor makes damaged files again:"
    " `parkf run` does"
)


def settle(workflow: Any) -> None:
    """Set how jobs run: the first commands of their shells, and the reaction if a scheduler ends a job.

    Jobs run the `parkf` that was installed with Snakemake, even if the PATH has another one. Every log ends
    with the time and memory of its job, for stages.json. A run that was not started by ``parkf run`` prints
    one line about what it lacks.
    """
    shell.prefix(_PREFIX)
    os.environ[COPIES] = copies_in(workflow)
    store_products_alone(workflow)
    name_endings()
    check_groups_once()
    start_jobs_alike()
    if not workflow.is_main_process or workflow.output_settings.dryrun:
        return
    if LED not in os.environ:
        say(_UNLED, file=sys.stderr)
    elif workflow.resource_settings.nodes is None:
        # Jobs run on this machine. The process starts while this one reads the rules.
        shell_function()


def read_run(workflow: Any, config: Mapping[str, Any], gather: Any, *, in_family: bool) -> Run:
    """Read and check the configuration of a run of a snakemake.workflow.Workflow.

    `config` is from the configuration's own file and the command line; `gather`, a snakemake.io.Gather, has
    the numbers of chunks. The process that leads the run also checks the files that the configuration names.
    For a member of a family, the family has checked them.
    """
    whole, layers = extended(config, [Path(os.path.relpath(file)) for file in workflow.configfiles])
    look = workflow.is_main_process and not in_family
    checked = load_config(whole, Path(), layers, look_into_inputs=look)
    widths = {name: len(getattr(gather, name)("{scatteritem}")) for name in _SCATTERED}
    return Run(checked, widths, has_begun=not workflow.is_main_process)


def read_runs(workflow: Any, config: Mapping[str, Any]) -> Family:
    """Read the configuration of a family as :func:`read_run` reads the configuration of a run."""
    document = read_document(Path(os.path.relpath(workflow.configfiles[-1])))
    return load_family(config, Path(), document, look_into_inputs=workflow.is_main_process)


def fixed(value: Any) -> Callable[[Any], Any]:
    """Turn a rule's parameter that is the same for all jobs into a function.

    Snakemake's linter mistakes a text for a forgotten input if a path begins with this text.
    """
    return lambda wildcards: value


def gates() -> dict[str, Any]:
    """Return parameters of a rule that reads the thresholds of the working folder, or else of the project.

    Whether a job runs again depends on their meaning, not on the path, because a project may be moved.
    """
    path = found("workflow/config/gates.yaml").absolute()
    return {"gates": lambda wildcards, input: str(path), FINGERPRINT: {"gates.yaml": meaning_of(path)}}


def kernel_may_be_old() -> bool:
    """Whether the kernel is not from today's formulas, or these are wrong; ``parkf kernel`` says more.

    This process has read the formulas anyway; another one would take a second.
    """
    from parkf.workflow.installation import kernel_is_current

    try:
        return not kernel_is_current()
    except ParkfError:
        return True


def prepare(workflow: Any, graphs: Mapping[str, str], *, needs_gpu: bool) -> None:
    """Write files for the jobs of a planned run and for its report, and begin to report its progress.

    `graphs` has, for the folder of each run, the prefix of its rules' names. If the run `needs_gpu`, the GPU
    is checked before the first job starts.
    """
    # On a cluster, jobs run on other machines, and a scheduler is asked for at most 100 jobs in a second.
    if workflow.local_exec:
        shell.prefix(_PREFIX + shell_function())
        # Here this limit only costs time: Snakemake looks again for free jobs each second after each job, and
        # waits for these looks at its end.
        workflow.scheduler.job_rate_limiter = None
    dag, copies, storage = workflow.dag, copies_in(workflow), place_of(workflow)
    for one in dag.jobs:
        if dag.needrun(one) and (job := planned(one, copies)) is not None:
            replace(job, storage=storage).write(Path(f"{one.log[0]}.json"))
    for folder, prefix in graphs.items():
        write_graph(dag, Path(folder), prefix)
    tell(dag, workflow.resource_settings.cores, load_costs(PROJECT / COSTS_FILE), logger)
    # Shared products that no run has any more only occupy disk space; no job waits for their removal.
    Thread(target=tidy).start()
    # On a cluster, the GPU is in the machines of the jobs and cannot be checked here.
    if needs_gpu and workflow.local_exec:
        from parkf.fit.gpu import device

        logger.info(f"fits run on {device()}")


def planned(job: Any, copies: str = "") -> Job | None:
    """Return a job of Snakemake's plan; None for a job that calls no command with a job's file.

    `copies` is the folder from :func:`copies_in`.
    """
    call = _CALL.match(job.rule.shellcmd or "")
    if call is None:
        return None
    params = dict(job.params.items())
    if CODE not in params:
        raise ParkfError(f"rule {job.rule.name}: nothing says what its command is made of")
    # An output that the shell writes is no argument.
    made = {name: path for name, path in job.output.items() if f"{{output.{name}" not in job.rule.shellcmd}
    given = {name: value for name, value in params.items() if name not in _NO_ARGUMENTS}
    named = {**dict(job.input.items()), **made, **given}
    unnamed = [file for name, file in job.output._allitems() if name is None]
    if _EACH in params:
        pairs = zip(params[_EACH], unnamed, strict=True)
        arguments = [{**named, **own, OUTPUT: file} for own, file in pairs]
    else:
        arguments = [({OUTPUT: unnamed[0]} if len(unnamed) == 1 else {}) | named]
    on_gpu = any(one.get("backend", "cpu") != "cpu" for one in arguments)
    command = call["command"]
    imports = command.startswith("import ")
    return Job(
        command=command,
        arguments=plain(arguments, copies),
        inputs=plain(list(job.input), copies),
        outputs=plain(list(job.output), copies),
        deciding=[text_of(params[name]) for name in (CODE, FINGERPRINT) if name in params],
        run=str(job.log[0]).partition("/logs/")[0],
        # Results of a GPU differ by rounding, so their bytes are not reproducible.
        is_shared=not (on_gpu or imports or command in _NOT_SHARED),
        passing=plain(sorted(map(str, job.temp_output)), copies),
    )


def complete(rules: Iterable[Any], environment: str) -> None:
    """Add parameters to each of Snakemake's rules, which decide its products in addition to its inputs.

    One is a fingerprint of the command's code and of the rule's own text. For each document that the rule
    reads without regard to the file's time (``ancient``), another is a fingerprint of the document's meaning.
    Snakemake compares them with those of the last run. Rules of other members of a family that already have
    them are not changed. If Snakemake makes environments, jobs run in `environment`. A rule that does not
    call its command with a job's file raises a ParkfError.
    """
    for rule in rules:
        text = rule.shellcmd or ""
        call = _CALL.match(text)
        if call is None:
            if text.startswith("parkf"):
                raise ParkfError(
                    f"rule {rule.name}: got {text!r}, expected `parkf <command> --job {{log}}.json`: without"
                    " it, nothing says what decides the rule's products"
                )
        elif CODE not in dict(rule.params.items()):
            command = call["command"]
            names = [
                sorted(name for name, _ in part.items()) for part in (rule.input, rule.output, rule.params)
            ]
            # The rule also decides what else the shell does, for example where it writes the output.
            decided_by = [code_of(command, without=_FORMULAS.get(command, ())), text, names]
            fingerprint = hashlib.sha256(json.dumps(decided_by).encode()).hexdigest()[:16]
            documents = [str(file) for file in rule.input if getattr(file, "is_ancient", False)]
            meanings = {MEANING: {file: meaning_of(Path(file)) for file in documents}} if documents else {}
            rule.set_params(code=fingerprint, **meanings)
            rule.conda_env = environment
            hold_once(rule)
            if os.environ.get(COPIES):
                fetch_first(rule)
    # The jobs of a large run need the memory.
    forget_sources()
