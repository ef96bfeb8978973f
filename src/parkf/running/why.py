"""Why a run would run: what changed since its results were made, what follows, and for how long."""

import ast
import json
import re
import shlex
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parkf.cluster import COSTS_FILE, load_costs
from parkf.cluster.schedule import Job, replay, seconds_of
from parkf.documents.document import read_document
from parkf.files import sha256
from parkf.parameters.configuration import flat
from parkf.running.plan import in_order, plan
from parkf.running.shared import Entry, SharedJob, find, key

PROFILE = Path("workflow/profiles/local/profile.yaml")
SNAKEFILE = Path("Snakefile")
# Between two jobs, of Snakemake and of the command that it starts, s.
_BETWEEN = 0.5
# To copy what another run has made, s.
_TAKEN_S = 0.5
# Parameters of rules that are fingerprints, or say what code says: their values tell nobody anything.
_IN_WORDS = {
    "code": "code",
    "crowd": "code",
    "formula": "formulas",
    "formulas": "formulas",
    "table": "columns of a table",
    "gates": "gates.yaml",
}
_FINGERPRINT = re.compile(r"[0-9a-f]{16,}")
_LONGEST = 40
# Causes that are told.
_MOST = 8


@dataclass(frozen=True)
class Why:
    """What a run would do, and why.

    Attributes
    ----------
    run : str
        ``results/<run>``.
    made : datetime or None
        When the newest of its files was made; None where there are none.
    causes : dict of str to dict of str to int
        What changed, in words; and jobs that run again because of it alone, by rule.
    again, kept, taken : dict of str to int
        Jobs by rule: that run, whose files stay, and whose files another run has already.
    wall_s : float
        How long it takes, s.
    cores : int
        On so many cores.
    """

    run: str
    made: datetime | None
    causes: Mapping[str, Mapping[str, int]]
    again: Mapping[str, int]
    kept: Mapping[str, int]
    taken: Mapping[str, int]
    wall_s: float
    cores: int


def why(config: Path, run: str, cores: int) -> Why:
    """Ask Snakemake what a run would do here and now.

    Parameters
    ----------
    config : Path
        The run's configuration.
    run : str
        Its name.
    cores : int

    Raises
    ------
    ParkfError
        When the configuration is wrong, or an input is missing.
    """
    profile = read_document(PROFILE).content
    resources = {"cores": cores, "overwrite_scatter": profile.get("set-scatter", {})}
    dag = plan(SNAKEFILE, config, Path(), resources, profile["rerun-triggers"])
    jobs = in_order(dag)
    running = [job for job in jobs if dag.needrun(job)]
    taken = _taken(running)
    causes: dict[str, Counter[str]] = defaultdict(Counter)
    for job in running:
        for cause in _causes(job, dag.reason(job)):
            causes[cause][job.rule.name] += 1
    return Why(
        run=f"results/{run}",
        made=_newest(path for job in jobs for path in map(Path, job.output)),
        causes=dict(causes),
        again=Counter(job.rule.name for job in running if job not in taken),
        kept=Counter(job.rule.name for job in jobs if not dag.needrun(job)),
        taken=Counter(job.rule.name for job in taken),
        wall_s=_wall_s(running, taken, dag.dependencies, cores),
        cores=cores,
    )


def in_words(found: Why) -> str:
    """Tell it in a page of text, fewer than 25 lines."""
    running, taken, kept = (sum(jobs.values()) for jobs in (found.again, found.taken, found.kept))
    made = "" if found.made is None else f", made {found.made:%d %b %Y, %H:%M} UTC"
    if not running + taken:
        return f"{found.run}{made}: nothing has changed since, and nothing would run"
    work = f"{running + taken} of {running + taken + kept} jobs would run"
    parts = [f"{found.run}{made}: {work}, {_duration(found.wall_s)} on {found.cores} cores", ""]
    if found.made is None:
        parts.append("Nothing of it is there yet.")
    else:
        parts.append("What has changed, and which jobs see it:")
        causes = sorted(found.causes.items(), key=lambda one: -sum(one[1].values()))
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
    return "  " + textwrap.shorten(f"{cause} ({_names(jobs)})", 110, placeholder=" …")


def _names(jobs: Mapping[str, int]) -> str:
    return ", ".join(
        rule if count == 1 else f"{count}\N{NO-BREAK SPACE}{rule}" for rule, count in jobs.items()
    )


def _duration(wall_s: float) -> str:
    minutes, seconds = divmod(round(wall_s), 60)
    if minutes >= 60:
        return f"about {minutes // 60} h {minutes % 60} min"
    return f"about {minutes} min {seconds} s" if minutes else f"about {seconds} s"


def _causes(job: Any, reason: Any) -> Iterator[str]:
    """Say why a job runs, but for what other jobs make anew for it."""
    for path in sorted(map(str, reason.updated_input - reason.updated_input_run)):
        yield f"{path} has changed"
    if reason.params_changed:
        yield from _params(job, reason.params_changed.only_old, reason.params_changed.only_new)
    if reason.input_changed:
        yield "other files are read"
    if reason.incomplete_output:
        yield "was not finished"
    elif reason.missing_output and not reason.updated_input_run:
        yield "is not there"
    if reason.forced:
        yield "is asked for"


def _params(job: Any, old: set[str], new: set[str]) -> Iterator[str]:
    """Name the changed parameters of a job; of those before, Snakemake keeps the values alone, as text."""
    before = [ast.literal_eval(text) for text in sorted(old)]
    changed = [(name, value) for name, value in job.params.items() if repr(value) in new]
    for name, value in changed:
        if name in _IN_WORDS:
            yield _IN_WORDS[name]
            continue
        was = [one for one in before if _kind(one) == _kind(value)]
        if _kind(value) == "mapping":
            yield from _entries(flat(json.loads(value)), flat(json.loads(was[0])) if was else {})
        elif len(was) == 1:
            yield f"{name}: {_short(was[0])} → {_short(value)}"
        else:
            yield f"{name}: {_short(value)}"
    if not changed:
        yield "fewer parameters"


def _entries(now: Mapping[str, str], before: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*now, *before}):
        if now.get(name) != before.get(name):
            # The code of a set's manifest is that of its jobs, too.
            values = f": {_short(before.get(name, 'not there'))} → {_short(now.get(name, 'not there'))}"
            yield "code" if name == "code" else f"{name}{'' if _FINGERPRINT.search(values) else values}"


def _kind(value: object) -> str:
    if isinstance(value, str):
        return (
            "mapping" if value.startswith("{") else "fingerprint" if _FINGERPRINT.fullmatch(value) else "text"
        )
    return "number" if isinstance(value, int | float) else type(value).__name__


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _newest(paths: Iterable[Path]) -> datetime | None:
    times = [path.stat().st_mtime for path in paths if path.is_file()]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _taken(running: Iterable[Any]) -> set[Any]:
    """Find jobs whose products the store has: of what such a job makes, the next one's are known, too."""
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
    words = shlex.split(job.shellcmd or "")
    if "share" not in words[:2]:
        return None
    asked = SharedJob.of(words[3:])
    if any(path in known and known[path] is None for path in asked.inputs):
        return None
    name = key(asked.deciding(lambda path: known.get(path) or sha256(path)))
    return find(asked.store, name)


def _wall_s(running: Sequence[Any], taken: set[Any], after: Mapping[Any, Any], cores: int) -> float:
    costs = load_costs(COSTS_FILE)
    place = {job: number for number, job in enumerate(running)}
    jobs = [
        Job(
            job.rule.name,
            _TAKEN_S if job in taken else seconds_of(costs, job),
            job.threads,
            0,
            tuple(place[before] for before in after[job] if before in place),
        )
        for job in running
    ]
    return replay(jobs, cores, _BETWEEN)
