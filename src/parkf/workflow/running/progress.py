"""Progress of a run: Snakemake reports it to the leading process, which shows it on a terminal.

Snakemake's process writes a line of JSON into a pipe whenever a job starts or ends (:class:`Teller`). The
process that leads the run reads the lines, and draws the progress (:class:`Shower`).
"""

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from parkf.workflow.cluster import Costs
from parkf.workflow.cluster.schedule import Job, listed, replay, seconds_of

VARIABLE = "PARKF_PROGRESS"
"""Names the open end of the pipe, a number, in the environment of Snakemake."""
# Time between two jobs that Snakemake and the start of a command take, s.
BETWEEN = 0.5
# Fraction of a run after which the speed of the machine is known, and the largest factor on predicted times.
_KNOWN = 0.05
_SLOWEST = 20.0


@dataclass(frozen=True)
class State:
    """The state of a run: how many of its jobs are done, and how much time is left."""

    done: int
    total: int
    # Fraction of the run's predicted time that is over.
    share: float
    elapsed_s: float
    left_s: float
    # Number of running jobs by rule.
    running: Mapping[str, int]


class Forecast:
    """Follows the jobs of a run, and predicts the time for the rest.

    Jobs have Snakemake's numbers; each comes behind those that it waits for, which `after` has by number.
    `now` is a clock in s.
    """

    def __init__(
        self,
        jobs: Mapping[int, Job],
        after: Mapping[int, Sequence[int]],
        cores: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._jobs, self._after, self._cores, self._now = dict(jobs), after, cores, now
        self._total = len(jobs)
        self._running: set[int] = set()
        self._begin = now()
        self._whole_s = self._rest_s()

    def begins(self, numbers: Iterable[int]) -> None:
        """Record jobs that start."""
        self._running |= self._jobs.keys() & set(numbers)

    def ends(self, number: int) -> None:
        """Record a job that has ended."""
        self._jobs.pop(number, None)
        self._running.discard(number)

    def state(self) -> State:
        """Return the progress of the run; the time left is the cost of the rest at the pace so far."""
        rest_s, elapsed_s = self._rest_s(), self._now() - self._begin
        share = 1 - rest_s / self._whole_s if self._whole_s else 1.0
        pace = elapsed_s / (share * self._whole_s) if share > _KNOWN else 1.0
        running = Counter(self._jobs[number].rule for number in sorted(self._running))
        return State(
            done=self._total - len(self._jobs),
            total=self._total,
            share=share,
            elapsed_s=elapsed_s,
            left_s=min(pace, _SLOWEST) * rest_s,
            running=dict(running),
        )

    def _rest_s(self) -> float:
        return replay(listed(self._jobs, self._after), self._cores, BETWEEN)


class Teller(logging.Handler):
    """Reports the jobs in Snakemake's log to the process at the end of a pipe; an error there is ignored.

    `names` has the names of jobs by Snakemake's number.
    """

    def __init__(self, forecast: Forecast, pipe: TextIO, names: Mapping[int, str] | None = None) -> None:
        super().__init__()
        self._forecast, self._pipe, self._names = forecast, pipe, names or {}
        self._tell(asdict(forecast.state()))

    def emit(self, record: logging.LogRecord) -> None:
        """Report a record of starting jobs, of a job that ends, or of a warning."""
        event = str(getattr(record, "event", None))
        if event == "job_started":
            numbers = getattr(record, "jobs", None) or ()
            self._forecast.begins(numbers)
            for number in numbers:
                self._tell_job(number, "starts")
        elif event == "job_finished":
            number = getattr(record, "job_id", -1)
            self._forecast.ends(number)
            state = self._forecast.state()
            self._tell_job(number, f"ends ({state.done} of {state.total}, {duration(state.left_s)} left)")
        elif record.levelno == logging.WARNING:
            self._tell({"said": record.getMessage()})
            return
        else:
            return
        self._tell(asdict(self._forecast.state()))

    def _tell_job(self, number: int, what: str) -> None:
        if (name := self._names.get(number)) is not None:
            self._tell({"job": f"{name} {what}"})

    def _tell(self, content: Mapping[str, Any]) -> None:
        try:
            print(json.dumps(content), file=self._pipe, flush=True)
        except OSError:
            # The process at the other end of the pipe has ended.
            return


def tell(dag: Any, cores: int | None, costs: Costs, logger: logging.Logger) -> None:
    """Report the progress of a plan of Snakemake's to the process that leads this run, if there is one.

    `cores` is None on a cluster, where all jobs can run at once.
    """
    pipe = os.environ.get(VARIABLE)
    if not pipe:
        return
    # In an order in which they can run.
    running = [job for level in dag.toposorted() for job in level if dag.needrun(job) and not job.is_norun]
    jobs = {job.jobid: Job(job.rule.name, seconds_of(costs, job), job.threads) for job in running}
    after = {job.jobid: [before.jobid for before in dag.dependencies[job]] for job in running}
    wide = sum(job.threads for job in running)
    forecast = Forecast(jobs, after, cores or max(1, wide))
    names = {job.jobid: " ".join([job.rule.name, *filter(None, map(str, job.wildcards))]) for job in running}
    logger.addHandler(Teller(forecast, os.fdopen(int(pipe), "w"), names))


class _Left(ProgressColumn):
    """Shows the rate of jobs, and the time left, from the costs of the jobs that remain."""

    def render(self, task: Task) -> Text:
        state: State | None = task.fields["state"]
        if state is None:
            return Text("looking what there is to do")
        left_s = max(0.0, state.left_s - (time.monotonic() - task.fields["told"]))
        rate = (
            f", {60 * state.done / state.elapsed_s:.0f} a minute"
            if state.done and state.elapsed_s > 1
            else ""
        )
        return Text(f"{state.done} of {state.total} jobs{rate}, {duration(left_s)} left")


class Shower:
    """Shows the progress of a run: on a terminal in one line, elsewhere in a line for each job.

    `what` is the name of the run.
    """

    def __init__(self, what: str, console: Console) -> None:
        self._what = what
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            _Left(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[at]}", table_column=Column(no_wrap=True)),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task(what, total=1.0, state=None, told=0.0, at="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def read(self, pipe: TextIO) -> None:
        """Draw each report of progress until the pipe is closed."""
        for line in pipe:
            content = json.loads(line)
            if "job" in content or "said" in content:
                console = self._progress.console
                if "said" in content or not console.is_terminal:
                    text = content.get("said") or f"{time.strftime('%H:%M:%S')} {content['job']}"
                    console.print(text, markup=False, highlight=False, soft_wrap=True)
                continue
            state = State(**content)
            at = ", ".join(f"{count} {rule}" if count > 1 else rule for rule, count in state.running.items())
            told = time.monotonic()
            self._progress.update(self._task, completed=state.share, state=state, told=told, at=at)


def duration(seconds: float) -> str:
    """Return a time as text: hours and minutes, minutes and seconds, or seconds."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"about {minutes // 60} h {minutes % 60} min"
    return f"about {minutes} min {rest} s" if minutes else f"about {rest} s"
