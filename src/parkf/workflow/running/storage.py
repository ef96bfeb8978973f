"""Products that a storage plug-in of Snakemake keeps, for example in S3; jobs have copies of them.

Inputs of users, logs and files of jobs stay in the working folder.
"""

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from snakemake.logging import logger

from parkf.io.errors import ParkfError
from parkf.workflow.running.jobs import RESULTS, Job, located
from parkf.workflow.running.shared import STORE, find, key, remove


def copies_in(workflow: Any) -> str:
    """Return the folder in which jobs have copies of products; empty where they use the products themselves.

    A path with characters that a shell interprets raises a ParkfError.
    """
    has_copies = workflow.storage_registry.default_storage_provider is not None
    folder = workflow.storage_settings.local_storage_prefix
    if has_copies:
        folder = _stored(workflow, str(RESULTS)).local_path().parent
    if not re.fullmatch(r"[\w./+-]+", str(folder)):
        raise ParkfError(
            f"local-storage-prefix (SCRATCH): got {str(folder)!r}, expected a path of letters, digits and . /"
            " + - _ alone"
        )
    return str(folder) if has_copies else ""


def place_of(workflow: Any) -> str:
    """Return where a storage has products, such as ``s3://bucket/prefix``; empty for the working folder."""
    return str(workflow.storage_settings.default_storage_prefix or "").rstrip("/")


def store_products_alone(workflow: Any) -> None:
    """Let the storage have products only; Snakemake by itself would look there for all files of rules."""
    modifier = workflow.modifier.path_modifier
    apply = modifier.apply_default_storage

    def apply_to_products(path: Any) -> Any:
        parts = Path(str(path)).parts
        return apply(path) if parts[:1] == RESULTS.parts and parts[2:3] != ("logs",) else path

    modifier.apply_default_storage = apply_to_products


def fetch_first(rule: Any) -> None:
    """Let the jobs of a rule fetch products that another run has stored, before their command runs."""
    run: Callable[..., None] = rule.run_func

    @wraps(run)
    def fetch_and_run(input: Any, output: Any, params: Any, wildcards: Any, *others: Any) -> None:
        _threads, _resources, log, *_ = others
        _fetch(rule.workflow, Job.read(Path(f"{log[0]}.json")))
        run(input, output, params, wildcards, *others)

    rule.run_func = fetch_and_run


def _fetch(workflow: Any, job: Job) -> None:
    name = key(job.decided_by()) if job.is_shared else ""
    entry = find(name) if name else None
    for path, output in zip(entry.away if entry is not None else (), job.outputs, strict=False):
        stored = _stored(workflow, path)
        stored.set_local_path(located(output))
        try:
            stored.retrieve_object()
        # Each plug-in has errors of its own.
        except Exception as error:
            logger.warning(f"{path}: not in the storage any more, made again: {error}")
            remove([STORE / name])
            return


def _stored(workflow: Any, path: str) -> Any:
    place = place_of(workflow)
    return workflow.storage_registry.default_storage_provider.object(f"{place}/{path}" if place else path)
