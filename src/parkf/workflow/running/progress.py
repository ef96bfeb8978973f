"""Progress of a run: Snakemake reports it to the leading process, which shows it on a terminal.

Snakemake's process writes a line of JSON into a pipe whenever a job starts or ends (:class:`Teller`). The
process that leads the run reads the lines, and draws the progress (:func:`show`).
"""

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from parkf.io.terminal import shortened
from parkf.workflow.cluster import Costs
from parkf.workflow.cluster.schedule import Job, listed, replay, seconds_of

VARIABLE = "PARKF_PROGRESS"
"""Variable of Snakemake's environment with the number of the open end of the pipe."""
# Time for Snakemake and for the start of a command between two jobs, s.
BETWEEN = 0.5
# Fraction of a run after which the speed of the machine is known, and largest correction of predicted times.
_KNOWN = 0.05
_SLOWEST = 20.0
# The time for the rest is predicted again after this fraction of the jobs has ended. A prediction goes
# through all jobs, so that predictions after each job would take a time that grows with their square.
_AGAIN = 0.01
# Off a terminal: fraction of a run between two lines, and largest number of warnings of Snakemake.
_EVERY = 0.05
MOST_WARNINGS = 5


@dataclass(frozen=True)
class State:
    """The state of a run: how many of its jobs are done, and how much time is left."""

    done: int
    total: int
    share: float  # fraction of the run's predicted time that is over
    elapsed_s: float
    left_s: float
    running: Mapping[str, int]  # number of running jobs by rule


class Forecast:
    """Follows the jobs of a run, and predicts the time for the rest.

    Jobs have Snakemake's numbers. Each job follows the jobs that it waits for, which `after` has by number.
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
        self._rest_s = self._whole_s = self._predicted_s()
        self._predicted_at = self._total

    def begins(self, numbers: Iterable[int]) -> None:
        """Record jobs that start."""
        self._running |= self._jobs.keys() & set(numbers)

    def ends(self, number: int) -> None:
        """Record a job that has ended."""
        self._jobs.pop(number, None)
        self._running.discard(number)

    def state(self) -> State:
        """Return the progress of the run; the time left is the cost of the other jobs at the same pace."""
        left = len(self._jobs)
        ended = self._predicted_at - left
        if ended and (not left or ended >= _AGAIN * self._total):
            self._rest_s, self._predicted_at = self._predicted_s(), left
        elapsed_s = self._now() - self._begin
        share = 1 - self._rest_s / self._whole_s if self._whole_s else 1.0
        pace = elapsed_s / (share * self._whole_s) if share > _KNOWN else 1.0
        running = Counter(self._jobs[number].rule for number in sorted(self._running))
        left_s = min(pace, _SLOWEST) * self._rest_s
        return State(self._total - left, self._total, share, elapsed_s, left_s, dict(running))

    def _predicted_s(self) -> float:
        return replay(listed(self._jobs, self._after), self._cores, BETWEEN)


class Teller(logging.Handler):
    """Reports the jobs in Snakemake's log to a process through a pipe; errors of the pipe are ignored."""

    def __init__(self, forecast: Forecast, pipe: TextIO) -> None:
        super().__init__()
        self._forecast, self._pipe = forecast, pipe
        self._tell(asdict(forecast.state()))

    def emit(self, record: logging.LogRecord) -> None:
        """Report a record of starting jobs, of a job that ends, or of a warning."""
        event = str(getattr(record, "event", None))
        if event == "job_started":
            self._forecast.begins(getattr(record, "jobs", None) or ())
        elif event == "job_finished":
            self._forecast.ends(getattr(record, "job_id", -1))
        else:
            if record.levelno == logging.WARNING:
                self._tell({"said": record.getMessage()})
            return
        self._tell(asdict(self._forecast.state()))

    def _tell(self, content: Mapping[str, Any]) -> None:
        # An error means that the process at the other end of the pipe has ended.
        with suppress(OSError):
            print(json.dumps(content), file=self._pipe, flush=True)


def tell(dag: Any, cores: int | None, costs: Costs, logger: logging.Logger) -> None:
    """Report the progress of a planned run to the process that leads it, if there is one.

    `cores` is None on a cluster, where all jobs can run at once.
    """
    pipe = os.environ.get(VARIABLE)
    if not pipe:
        return
    # Each job follows the jobs that it waits for.
    running = [job for level in dag.toposorted() for job in level if dag.needrun(job) and not job.is_norun]
    jobs = {job.jobid: Job(job.rule.name, seconds_of(costs, job), job.threads) for job in running}
    after = {job.jobid: [before.jobid for before in dag.dependencies[job]] for job in running}
    forecast = Forecast(jobs, after, cores or max(1, sum(job.threads for job in running)))
    logger.addHandler(Teller(forecast, os.fdopen(int(pipe), "w")))


class _Left(ProgressColumn):
    """Shows the rate of jobs, and the time left, from the costs of the jobs that remain."""

    def render(self, task: Task) -> Text:
        state: State | None = task.fields["state"]
        if state is None:
            return Text("looking what there is to do")
        left_s = max(0.0, state.left_s - (time.monotonic() - task.fields["told"]))
        rate = ""
        if state.done and state.elapsed_s > 1:
            rate = f", {60 * state.done / state.elapsed_s:.0f} a minute"
        return Text(f"{state.done} of {state.total} jobs{rate}, {duration(left_s)} left")


def show(what: str, console: Console, pipe: TextIO) -> None:
    """Show the progress of the run `what` until its pipe is closed.

    On a terminal the progress is one line that is updated. Elsewhere it is a line for each twentieth of the
    run, and warnings are shortened; Snakemake's own file has the whole text.
    """
    printed, warnings = 0.0, 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        _Left(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[at]}", table_column=Column(no_wrap=True)),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=1.0, state=None, told=0.0, at="")
        for line in pipe:
            content = json.loads(line)
            if "said" in content:
                warnings += 1
                if console.is_terminal or warnings <= MOST_WARNINGS:
                    text = content["said"] if console.is_terminal else shortened(content["said"])
                    console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                state = State(**content)
                if not console.is_terminal and state.done and state.share >= printed + _EVERY:
                    printed = state.share
                    left = f"{state.done} of {state.total} jobs, {duration(state.left_s)} left"
                    console.print(f"{time.strftime('%H:%M:%S')} {left}", highlight=False, soft_wrap=True)
                at = ", ".join(f"{n} {rule}" if n > 1 else rule for rule, n in state.running.items())
                told = time.monotonic()
                progress.update(task, completed=state.share, state=state, told=told, at=at)


def duration(seconds: float) -> str:
    """Return a time as text: hours and minutes, minutes and seconds, or seconds."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"about {minutes // 60} h {minutes % 60} min"
    return f"about {minutes} min {rest} s" if minutes else f"about {rest} s"
