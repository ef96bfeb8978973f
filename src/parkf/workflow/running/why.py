"""Changes since the results of a run were made, and the jobs that would run again, with their time."""

import ast
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parkf.io.files import sha256
from parkf.io.project import PROJECT, found
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.comparison import changed
from parkf.params.configuration import flat
from parkf.params.manifest import read_manifest
from parkf.workflow.cluster import COSTS_FILE, load_costs, schedule
from parkf.workflow.config import SCHEMA, read_config
from parkf.workflow.run import Run
from parkf.workflow.running.chain import Chain, lines
from parkf.workflow.running.plan import in_order, options, plan
from parkf.workflow.running.progress import BETWEEN, duration
from parkf.workflow.running.rules import CODE, MEANING, planned
from parkf.workflow.running.shared import find, key

_PROFILE = "workflow/profiles/local"
# Time to copy the product of another run, s.
_TAKEN_S = 0.5
_LONGEST = 40
# Largest number of causes that are listed.
_MOST = 8
# Largest number of foreign and missing files that are listed.
_FEW = 4


@dataclass(frozen=True)
class Why:
    """The jobs that a run would do, counted by rule, and the reasons."""

    run: str  # ``results/<run>``
    made: datetime | None  # time of its newest file; None where there is none
    # Changes as texts, each with the jobs that depend on it directly. Keys of the configuration that decide
    # the whole training are listed without jobs.
    causes: Mapping[str, Mapping[str, int]]
    again: Mapping[str, int]  # jobs that run
    kept: Mapping[str, int]  # jobs whose files stay
    taken: Mapping[str, int]  # jobs whose files another run has made
    wall_s: float  # predicted time on a number of cores
    cores: int
    broken: Sequence[str]  # a message for each foreign or missing file; the jobs of these are not counted


def why(config: Path, cores: int) -> Why:
    """Return the jobs that Snakemake would run for a configuration now, and the reasons.

    A wrong configuration or a missing input raises a ParkfError.
    """
    read = read_config(config, found(SCHEMA), Path())
    asked = options(found(_PROFILE))
    resources = {"cores": cores, "overwrite_scatter": asked.set_scatter}
    dag = plan(found("Snakefile"), config, Path(), resources, asked.rerun_triggers)
    jobs = in_order(dag)
    running = [job for job in jobs if dag.needrun(job)]
    taken = _taken(running)
    results = Path("results") / read["run"]
    keys = _changed_keys(results, flat(Run(read).training))
    causes: dict[str, Counter[str]] = defaultdict(Counter, {change: Counter() for change in keys.values()})
    for job in running:
        for cause in _causes(job, dag.reason(job), keys):
            causes[cause][job.rule.name] += 1
    files = [path for job in jobs for path in map(Path, job.output) if path.is_file()]
    costs = load_costs(PROJECT / COSTS_FILE)
    seconds = {job: _TAKEN_S if job in taken else schedule.seconds_of(costs, job) for job in running}
    timed = {job: schedule.Job(job.rule.name, seconds[job], job.threads) for job in running}
    return Why(
        run=str(results),
        made=datetime.fromtimestamp(max(path.stat().st_mtime for path in files), UTC) if files else None,
        causes={cause: dict(jobs) for cause, jobs in causes.items()},
        again=_by_rule(job for job in running if job not in taken),
        kept=_by_rule(job for job in jobs if not dag.needrun(job)),
        taken=_by_rule(job for job in running if job in taken),
        wall_s=schedule.replay(schedule.listed(timed, dag.dependencies), cores, BETWEEN),
        cores=cores,
        broken=lines(one for one in Chain(results).problems() if one.kind in ("foreign", "missing")),
    )


def in_words(found: Why) -> str:
    """Return the reasons as a text of fewer than 25 lines."""
    running, taken, kept = (sum(jobs.values()) for jobs in (found.again, found.taken, found.kept))
    made = "" if found.made is None else f", made {found.made:%d %b %Y, %H:%M} UTC"
    if not (running + taken or found.broken):
        return f"{found.run}{made}: nothing has changed since, and nothing would run"
    work = f"{running + taken} of {running + taken + kept} jobs would run"
    parts = [f"{found.run}{made}: {work}, {duration(found.wall_s)} on {found.cores} cores", ""]
    if found.made is None:
        parts.append("Nothing of it is there yet.")
    else:
        parts.append("What has changed (and which jobs see it):")
        causes = sorted(found.causes.items(), key=lambda one: (bool(one[1]), -sum(one[1].values())))
        for cause, jobs in causes[:_MOST]:
            seen = f" ({_names(jobs)})" if jobs else ""
            parts.append("  " + textwrap.shorten(cause + seen, 110, placeholder=" …"))
        if len(causes) > _MOST:
            parts.append(f"  and {len(causes) - _MOST} more")
    if found.broken:
        rest = [f"  and {len(found.broken) - _FEW} more"] if len(found.broken) > _FEW else []
        parts += ["", "To be made again:", *(f"  {one}" for one in found.broken[:_FEW]), *rest]
    titles = {"Run": found.again, "Taken from other runs": found.taken, "Kept": found.kept}
    for title, jobs in titles.items():
        if jobs:
            text = f"{title}: {_names(jobs)}"
            parts += ["", *textwrap.wrap(text, 100, subsequent_indent="  ", max_lines=4, placeholder=" …")]
    return "\n".join(parts)


def _names(jobs: Mapping[str, int]) -> str:
    return ", ".join(
        rule if count == 1 else f"{count}\N{NO-BREAK SPACE}{rule}" for rule, count in jobs.items()
    )


def _by_rule(jobs: Iterable[Any]) -> dict[str, int]:
    return dict(Counter(job.rule.name for job in jobs))


def _changed_keys(results: Path, now: Mapping[str, str]) -> dict[str, str]:
    """Name the keys of the configuration that differ from those of the run's set, if it has one."""
    path = results / "set" / MANIFEST_FILE
    if not path.is_file():
        return {}
    before = read_manifest(path).configuration or {}
    return {
        key: f"{key}: {_short(before.get(key, 'not there'))} → {_short(now.get(key, 'not there'))}"
        for key in sorted(changed(before, now))
    }


def _causes(job: Any, reason: Any, keys: Iterable[str]) -> list[str]:
    """Name the reasons for which a job runs, except new inputs from other jobs and changed keys."""
    causes = [
        f"{path} has changed" for path in sorted(map(str, reason.updated_input - reason.updated_input_run))
    ]
    if reason.params_changed:
        said = {name for key in keys for name in (key, key.rpartition(".")[2])}
        params = _params(job, reason.params_changed.only_old, reason.params_changed.only_new)
        # Seeds of samples follow from the seed of the run.
        causes += [cause for name, cause in params if name.replace("seeds", "seed") not in said]
    if reason.input_changed:
        causes.append("other files are read")
    if reason.forced:
        causes.append("is asked for")
    if not causes and not reason.updated_input_run:
        if reason.incomplete_output:
            causes.append("was not finished")
        elif reason.missing_output:
            causes.append("is not there")
    return causes


def _params(job: Any, old: set[str], new: set[str]) -> Iterator[tuple[str, str]]:
    """Name a job's changed parameters and their changes; Snakemake stores old values without names."""
    before = [ast.literal_eval(text) for text in sorted(old)]
    for name, value in job.params.items():
        if repr(value) not in new:
            continue
        if name == CODE:
            yield name, "code"
        elif isinstance(value, dict):
            same = (one for one in before if isinstance(one, dict) and one.keys() & value.keys())
            for entry in sorted(changed(flat(next(same, {})), flat(value))):
                yield entry, f"{entry} has changed" if name == MEANING else entry
        else:
            was = [one for one in before if _kind(one) == _kind(value)]
            yield name, f"{name}: {_short(was[0])} → {_short(value)}" if len(was) == 1 else name


def _kind(value: object) -> str:
    return "number" if isinstance(value, int | float) else type(value).__name__


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _taken(running: Iterable[Any]) -> set[Any]:
    """Return the jobs whose products the store has; the following jobs depend on the checksums of these."""
    # Files that earlier jobs make, with the checksum of a file in the store, or None if it is made again.
    known: dict[Path, str | None] = {}
    taken = set()
    for job in running:
        asked, entry = planned(job), None
        if asked and asked.is_shared and None not in [known.get(Path(path), "") for path in asked.inputs]:
            prints = asked.fingerprints(lambda path: known.get(path) or sha256(path))
            entry = find(key(asked.decided_by(prints)))
        outputs = list(map(Path, job.output))
        if entry is None:
            known.update(dict.fromkeys(outputs))
        else:
            known.update(zip(outputs, entry.fingerprints, strict=True))
            taken.add(job)
    return taken
