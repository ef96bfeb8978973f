"""Functions for the rules of the workflow, which Snakemake calls while it reads them."""

import gc
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.leader import follow, lead
from parkf.io.ledger import RESULTS
from parkf.io.project import found

_DOCUMENTS = (".yaml", ".json")
_PART = re.compile(r"\d+(?=-of-\d+)")

# Snakemake's modules and the jobs of its plan are a million objects that stay. Python would search them for
# garbage many times, and once more at its exit, in a fifth of the time of a plan.
gc.set_threshold(100_000)
# Modules become bytecode once, not in each job anew; one in the working folder is not that of a library.
os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONSAFEPATH": "1"}
# A process that reads rules plans for a while, and must not outlive its leader meanwhile.
follow()


def stage_words() -> str:
    """Return the words that begin the command of each stage."""
    return f"{quote(sys.executable)} -P -m parkf.stages"


def meanings(*paths: str) -> dict[str, str]:
    """Return what documents of users mean, by path, for the parameters of a rule; other files have none."""
    return {str(path): meaning_of(Path(path)) for path in paths if is_document(str(path))}


def is_document(path: str) -> bool:
    """Whether a file is a user's document, which counts by its meaning."""
    return path.endswith(_DOCUMENTS) and not Path(path).is_relative_to(RESULTS)


def gates_file() -> str:
    """Return the thresholds of the working folder, or else of the project."""
    return str(found("workflow/config/gates.yaml"))


def collapsed(paths: Iterable[str]) -> list[str]:
    """Return paths with one pattern for all chunks of a sample, so that a command is not too long."""
    return list(dict.fromkeys(_PART.sub("*", str(path)) for path in paths))


def text_of(value: Mapping[str, Any]) -> str:
    """Write a mapping as JSON, which does not depend on the order of its keys."""
    return json.dumps(value, sort_keys=True)


def begin(results: str, *, needs_gpu: bool) -> None:
    """Prepare the first job of a run: a run's own folder, and processes that end together.

    A ParkfError reports a run that is at work in the folder, an old kernel, and a missing GPU.
    """
    from parkf.workflow.held import hold
    from parkf.workflow.installation import require_current_kernel

    lead()
    hold(Path(results))
    require_current_kernel()
    if needs_gpu:
        from parkf.fit.gpu import device

        print(f"fits run on {device()}", file=sys.stderr)  # noqa: T201
