"""What a run would make again, and why: Snakemake's summary of its plan, held beside the run's ledger."""

import csv
import subprocess
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.ledger import Entry
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.comparison import changed
from parkf.params.configuration import flat
from parkf.params.manifest import read_manifest
from parkf.stages.call import code_of
from parkf.workflow.config import read_config
from parkf.workflow.products import Products, lines
from parkf.workflow.run import Run
from parkf.workflow.snakemake import command, environment

_LONGEST = 40
# Largest numbers of causes, and of foreign and missing files, that are listed.
_MOST, _FEW = 8, 4


@dataclass(frozen=True)
class Why:
    """The products that a run would make again, and the reasons."""

    run: str  # ``results/<run>``
    made: datetime | None  # time of its newest product; None where there is none
    causes: Mapping[str, Sequence[str]]  # changes as texts, each with the stages that see it directly
    again: Mapping[str, int]  # products to be made, by rule
    kept: Mapping[str, int]  # products that stay, by rule
    wall_s: float | None  # time that they took last, shared by the cores; None if some were never made
    cores: int
    broken: Sequence[str]  # a line for each product that is foreign, missing, or not of today's inputs


def why(config: Path, cores: int) -> Why:
    """Return what a run would make now, and the reasons; a wrong configuration raises a ParkfError."""
    read = read_config(config, Path())
    run = Path("results") / read["run"]
    products = Products(run)
    problems = products.problems()
    rows = _summary(config, cores)
    wrong = products.after(str(one.path) for one in problems)
    entries = {path: entry for path, entry in products.entries.items() if Path(path).is_relative_to(run)}
    again = {path: rule for path, rule, pending in rows if pending or path in wrong}
    last = {id(entry): entry for path in again if (entry := entries.get(path)) is not None}
    known = all(path in entries for path in again)
    times = [entry.began + entry.wall_s for entry in entries.values()]
    return Why(
        run=str(run),
        made=datetime.fromtimestamp(max(times), UTC) if times else None,
        causes=_causes(run, Run(read), entries),
        again=Counter(again.values()),
        kept=Counter(rule for path, rule, _ in rows if path not in again),
        wall_s=sum(one.wall_s for one in last.values()) / cores if known else None,
        cores=cores,
        broken=lines(problems),
    )


def _summary(config: Path, cores: int) -> list[tuple[str, str, bool]]:
    """Return each product of the plan: its path, its rule, and whether Snakemake would make it."""
    words = command(config, cores=cores)
    place = words.index("--")
    asked = subprocess.run(
        [*words[:place], "--detailed-summary", *words[place:]],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        raise ParkfError(f"no plan of the run: {asked.stderr.strip()[-2000:]}")
    rows = csv.DictReader(asked.stdout.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [(row["output_file"], row["rule"], row["plan"] == "update pending") for row in rows]


def _causes(run: Path, now: Run, entries: Mapping[str, Entry]) -> dict[str, list[str]]:
    """Name what has changed since the products were made: keys of the configuration, and code."""
    causes: dict[str, list[str]] = {}
    path = run / "set" / MANIFEST_FILE
    if path.is_file():
        before, after = read_manifest(path).configuration or {}, flat(now.training)
        for key in sorted(changed(before, after)):
            texts = (_short(one.get(key, "not there")) for one in (before, after))
            causes[f"{key}: {' → '.join(texts)}"] = []
    codes = {entry.stage: entry.code for entry in entries.values()}
    if stages := sorted(stage for stage, code in codes.items() if code_of(stage) != code):
        causes["code"] = stages
    return causes


def in_words(found: Why) -> str:
    """Return the reasons as a text of fewer than 25 lines."""
    made = "" if found.made is None else f", made {found.made:%d %b %Y, %H:%M} UTC"
    number, kept = sum(found.again.values()), sum(found.kept.values())
    if not (number or found.broken):
        return f"{found.run}{made}: nothing has changed since, and nothing would run"
    time = (
        []
        if found.wall_s is None
        else [f"The last time, they took {_duration(found.wall_s)} on {found.cores} cores."]
    )
    parts = [f"{found.run}{made}: {number} of {number + kept} products would be made", *time, ""]
    if found.made is None:
        parts.append("Nothing of it is there yet.")
    elif found.causes:
        parts.append("What has changed (and which stages see it):")
        for cause, stages in list(found.causes.items())[:_MOST]:
            seen = f" ({', '.join(stages)})" if stages else ""
            parts.append("  " + textwrap.shorten(cause + seen, 110, placeholder=" …"))
        if len(found.causes) > _MOST:
            parts.append(f"  and {len(found.causes) - _MOST} more")
    if found.broken:
        rest = [f"  and {len(found.broken) - _FEW} more"] if len(found.broken) > _FEW else []
        parts += ["", "Not what this run makes of today's inputs:"]
        parts += [*(f"  {one}" for one in found.broken[:_FEW]), *rest]
    for title, products in {"Made again": found.again, "Kept": found.kept}.items():
        if products:
            text = f"{title}: {_names(products)}"
            parts += ["", *textwrap.wrap(text, 100, subsequent_indent="  ", max_lines=4, placeholder=" …")]
    return "\n".join(parts)


def _names(products: Mapping[str, int]) -> str:
    return ", ".join(
        rule if count == 1 else f"{count}\N{NO-BREAK SPACE}of {rule}" for rule, count in products.items()
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"about {minutes} min {rest} s" if minutes else f"about {rest} s"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
