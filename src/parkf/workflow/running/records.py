"""The record of a finished job, beside its file: what its products are, and what they were made of."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from parkf.io.errors import ParkfError
from parkf.io.files import existing, read_json, remember, sha256, stamp_of, write_sealed
from parkf.io.process_settings import environment
from parkf.workflow.running.jobs import Job, located

ENDING = ".made.json"
"""Ending of a record's name, in place of the ending of the job's file."""


@dataclass(frozen=True)
class Record:
    """A finished job; all paths are relative to the working folder."""

    job: Job
    inputs: Mapping[str, str]  # fingerprint of each input when the job began
    outputs: Mapping[str, str]  # SHA-256 of each output
    stamps: Mapping[str, Sequence[int]]  # of each output, from :func:`stamp_of`
    earlier: Mapping[str, Sequence[str]]  # SHA-256 of each output that an earlier execution had made

    @classmethod
    def read(cls, job_file: Path) -> Self | None:
        """Read the record of a job's file; None if there is none that can be read."""
        with suppress(ParkfError, TypeError, KeyError):
            content: dict[str, Any] = read_json(record_of(job_file))
            job = Job.of(content.pop("job"), job_file)
            content.pop("environment")
            return cls(job, **content)
        return None


def record_of(job_file: Path) -> Path:
    """Return the path of the record of a job's file."""
    return job_file.with_name(job_file.name.removesuffix(".json") + ENDING)


def recall(job: Job) -> None:
    """Let this process know the checksums of a job's inputs from the records of the jobs that made them.

    An input that has changed since then is read.
    """
    inputs = set(job.inputs)
    for file in job.before:
        if (record := Record.read(Path(file))) is not None:
            for path in inputs & record.stamps.keys():
                remember(located(path), record.outputs[path], record.stamps[path])


def write_record(job_file: Path, inputs: Sequence[str]) -> None:
    """Write the record of a job that has just ended; `inputs` is :meth:`Job.fingerprints` at its begin."""
    job, before = Job.read(job_file), Record.read(job_file)
    made = {path: located(path) for path in job.outputs}
    outputs = {path: content_of(there) for path, there in made.items()}
    earlier: dict[str, list[str]] = {}
    if before is not None:
        for path, was in before.outputs.items():
            others = {was, *before.earlier.get(path, ())} - {outputs.get(path)}
            earlier |= {path: sorted(map(str, others))} if others else {}
    write_sealed(
        record_of(job_file),
        {
            "job": asdict(job),
            "inputs": dict(zip(job.inputs, inputs, strict=True)),
            "outputs": outputs,
            "stamps": {path: stamp_of(there) for path, there in made.items()},
            "earlier": earlier,
            "environment": environment(),
        },
    )


def write_stamps(job_file: Path, stamps: Mapping[str, Sequence[int]]) -> None:
    """Write new stamps of some outputs, whose content has been read, into the record of a job's file."""
    content = read_json(record_of(job_file))
    write_sealed(record_of(job_file), content | {"stamps": {**content["stamps"], **stamps}})


def content_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of all files in a folder."""
    if not path.is_dir():
        return sha256(existing(path))
    # Snakemake marks its folders with a hidden file.
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    parts = [f"{file.relative_to(path)} {sha256(file)}" for file in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
