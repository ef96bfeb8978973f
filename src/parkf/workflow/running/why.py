"""What has changed since the results of a run were made, which jobs would run again, and for how long."""

import ast
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parkf.io.documents.document import read_document
from parkf.io.files import sha256
from parkf.io.project import PROJECT, found
from parkf.params.configuration import flat
from parkf.params.manifest import read_manifest
from parkf.params.parameter_set import MANIFEST_FILE
from parkf.workflow.cluster import COSTS_FILE, Costs, load_costs, schedule
from parkf.workflow.config import SCHEMA, read_config
from parkf.workflow.run import Run
from parkf.workflow.running.plan import in_order, plan
from parkf.workflow.running.progress import BETWEEN, duration
from parkf.workflow.running.rules import CODE, MEANING, planned
from parkf.workflow.running.shared import Entry, find, key

_PROFILE = Path("workflow/profiles/local/profile.yaml")
# Time to copy the product of another run, s.
_TAKEN_S = 0.5
_LONGEST = 40
# Largest number of causes that are listed.
_MOST = 8


@dataclass(frozen=True)
class Why:
    """What a run would do, and why. Jobs are counted by rule."""

    # ``results/<run>``.
    run: str
    # Time of its newest file; None where there is none.
    made: datetime | None
    # Changes as texts, with the jobs that depend on each directly: none for a key of the configuration that
    # decides the whole training.
    causes: Mapping[str, Mapping[str, int]]
    # Jobs that run, whose files stay, and whose files another run has made.
    again: Mapping[str, int]
    kept: Mapping[str, int]
    taken: Mapping[str, int]
    # Predicted time on a number of cores, s.
    wall_s: float
    cores: int


def why(config: Path, cores: int) -> Why:
    """Return what Snakemake would do for a run's configuration now.

    Raises
    ------
    ParkfError
        When the configuration is wrong, or an input is missing.
    """
    read = read_config(config, found(SCHEMA), Path())
    profile = read_document(found(_PROFILE)).content
    resources = {"cores": cores, "overwrite_scatter": profile.get("set-scatter", {})}
    dag = plan(found("Snakefile"), config, Path(), resources, profile["rerun-triggers"])
    jobs = in_order(dag)
    running = [job for job in jobs if dag.needrun(job)]
    taken = _taken(running)
    results = Path("results") / read["run"]
    keys = _changed_keys(results, flat(Run(read).training))
    causes: dict[str, Counter[str]] = defaultdict(Counter, {key: Counter() for key in keys.values()})
    for job in running:
        for cause in _causes(job, dag.reason(job), keys):
            causes[cause][job.rule.name] += 1
    return Why(
        run=str(results),
        made=_newest(path for job in jobs for path in map(Path, job.output)),
        causes={cause: dict(jobs) for cause, jobs in causes.items()},
        again=_by_rule(job for job in running if job not in taken),
        kept=_by_rule(job for job in jobs if not dag.needrun(job)),
        taken=_by_rule(job for job in running if job in taken),
        wall_s=_wall_s(running, taken, dag.dependencies, load_costs(PROJECT / COSTS_FILE), cores),
        cores=cores,
    )


def in_words(found: Why) -> str:
    """Return a text of fewer than 25 lines."""
    running, taken, kept = (sum(jobs.values()) for jobs in (found.again, found.taken, found.kept))
    made = "" if found.made is None else f", made {found.made:%d %b %Y, %H:%M} UTC"
    if not running + taken:
        return f"{found.run}{made}: nothing has changed since, and nothing would run"
    work = f"{running + taken} of {running + taken + kept} jobs would run"
    parts = [f"{found.run}{made}: {work}, {duration(found.wall_s)} on {found.cores} cores", ""]
    if found.made is None:
        parts.append("Nothing of it is there yet.")
    else:
        parts.append("What has changed (and which jobs see it):")
        causes = sorted(found.causes.items(), key=lambda one: (bool(one[1]), -sum(one[1].values())))
        parts += [_line(cause, jobs) for cause, jobs in causes[:_MOST]]
        if len(causes) > _MOST:
            parts.append(f"  and {len(causes) - _MOST} more")
    for title, jobs in (
        ("Run", found.again),
        ("Taken from other runs", found.taken),
        ("Kept", found.kept),
    ):
        if jobs:
            text = f"{title}: {_names(jobs)}"
            parts += ["", *textwrap.wrap(text, 100, subsequent_indent="  ", max_lines=4, placeholder=" …")]
    return "\n".join(parts)


def _line(cause: str, jobs: Mapping[str, int]) -> str:
    seen = f" ({_names(jobs)})" if jobs else ""
    return "  " + textwrap.shorten(cause + seen, 110, placeholder=" …")


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
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
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
    """Name the changed parameters of a job with their changes; Snakemake keeps old values without names."""
    before = [ast.literal_eval(text) for text in sorted(old)]
    for name, value in job.params.items():
        if repr(value) not in new:
            continue
        if name == CODE:
            yield name, "code"
        elif isinstance(value, dict):
            same = (one for one in before if isinstance(one, dict) and one.keys() & value.keys())
            entries = flat(next(same, {})), flat(value)
            for entry in sorted({*entries[0], *entries[1]}):
                if entries[0].get(entry) != entries[1].get(entry):
                    yield entry, f"{entry} has changed" if name == MEANING else entry
        else:
            was = [one for one in before if _kind(one) == _kind(value)]
            yield name, f"{name}: {_short(was[0])} → {_short(value)}" if len(was) == 1 else name


def _kind(value: object) -> str:
    return "number" if isinstance(value, int | float) else type(value).__name__


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _newest(paths: Iterable[Path]) -> datetime | None:
    times = [path.stat().st_mtime for path in paths if path.is_file()]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _taken(running: Iterable[Any]) -> set[Any]:
    """Return the jobs whose products the store has; their checksums decide about the jobs that follow."""
    known: dict[Path, str | None] = {}
    taken = set()
    for job in running:
        entry = _entry(job, known)
        outputs = [Path(path) for path in job.output]
        if entry is None:
            known |= dict.fromkeys(outputs)
        else:
            known |= dict(zip(outputs, entry.fingerprints, strict=True))
            taken.add(job)
    return taken


def _entry(job: Any, known: Mapping[Path, str | None]) -> Entry | None:
    asked = planned(job)
    if asked is None or not asked.is_shared:
        return None
    if any(path in known and known[path] is None for path in map(Path, asked.inputs)):
        return None
    return find(key(asked.decided_by(lambda path: known.get(path) or sha256(path))))


def _wall_s(
    running: Sequence[Any], taken: set[Any], after: Mapping[Any, Any], costs: Costs, cores: int
) -> float:
    seconds = {job: _TAKEN_S if job in taken else schedule.seconds_of(costs, job) for job in running}
    jobs = {job: schedule.Job(job.rule.name, seconds[job], job.threads) for job in running}
    return schedule.replay(schedule.listed(jobs, after), cores, BETWEEN)
