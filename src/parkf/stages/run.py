"""The one function that runs a stage, and writes into the ledger what it has made of what."""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from parkf.io import ledger, store
from parkf.io.errors import ParkfError
from parkf.io.files import remove
from parkf.io.fingerprints.sources import sources_state
from parkf.io.ledger import Entry, Ledger, content_of, fingerprint, stamp_of
from parkf.io.process_settings import environment
from parkf.io.terminal import say
from parkf.stages.call import Call, code_of

# Stages of which each run has its own: measurements of the machine, pages, and what says what it finds.
_NOT_SHARED = {"report", "family_report", "likeness", "publish", "adopt_dataset"}


def run_stage(call: Call, code: str | None, state: str) -> None:
    """Run a stage, or copy its products where a run here has made the same ones already.

    `code` is the key of the stage's code in the plan of the run, and `state` is that of the sources
    (:mod:`parkf.io.fingerprints.sources`) before a module of the stage was imported. Without `code`, nobody
    has planned the call: it writes no ledger, and takes nothing. A ParkfError reports sources that are not
    those of the plan, or have changed since; the products are removed.
    """
    if code is None:
        call.function(**call.arguments)
        return
    if code_of(call.stage) != code:
        raise ParkfError(f"{call.stage}: {_CHANGED}")
    run = _run_of(call.outputs[0])
    began, clock, used = time.time(), time.perf_counter(), _cpu_s()
    inputs = {
        argument: {str(path): fingerprint(path) for path in files} for argument, files in call.inputs.items()
    }
    makes = [str(path.relative_to(run)) for path in call.outputs]
    key = _key(call, code, inputs, makes) if _is_shared(call) else ""
    read = {path: digest for files in inputs.values() for path, digest in files.items()}
    # A process that waits for the same products takes them, and finds them by the ledger.
    with ledger.being_made(key) if key else nullcontext():
        taken = _take(call, key) if key else ""
        if not taken:
            _work(call, state)
        outputs = {path: content_of(path) for path in call.outputs}
        if key and not taken:
            store.keep(outputs)
        Ledger(run).append(
            Entry(
                key=key,
                stage=call.stage,
                outputs={str(path): digest for path, digest in outputs.items()},
                inputs=read,
                code=code,
                values=dict(call.values),
                environment=environment(),
                stamps={str(path): stamp_of(path) for path in call.outputs},
                taken_from=taken,
                began=round(began, 3),
                wall_s=round(time.perf_counter() - clock, 3),
                cpu_s=round(_cpu_s() - used, 3),
                peak_mb=_peak_mb(),
                threads=call.threads,
            )
        )


_CHANGED = "its code has changed since the run was planned: start the run again"
_RIVALS = "runs here have made other bytes of the same, and none is taken: `parkf verify results` names them"


def _work(call: Call, state: str) -> None:
    call.function(**call.arguments)
    # Whatever was imported meanwhile may have been other code, also if it is as before again.
    if sources_state() != state:
        for path in call.outputs:
            remove(path)
        raise ParkfError(f"{call.stage}: {_CHANGED}; what it made is neither kept nor shared")


def _take(call: Call, key: str) -> str:
    """Copy the products of another execution with the same key; return its run, or an empty text."""
    entries = list(ledger.find(key))
    if len({tuple(entry.outputs.values()) for entry in entries}) > 1:
        say(f"{call.stage}: {_RIVALS}", file=sys.stderr)
        return ""
    for entry in entries:
        made = list(entry.outputs.items())
        if len(made) == len(call.outputs):
            wanted = {
                path: (digest, Path(there)) for path, (there, digest) in zip(call.outputs, made, strict=True)
            }
            if store.take(wanted):
                run = str(ledger.run_of(Path(made[0][0])))
                say(f"{call.stage}: copied from {run}, which has made the same", file=sys.stderr)
                return run
    return ""


def _is_shared(call: Call) -> bool:
    # Results of a GPU differ by rounding.
    fits = call.values.get("fits")
    on_gpu = isinstance(fits, dict) and any(one.get("backend", "cpu") != "cpu" for one in fits.values())
    return not (on_gpu or call.stage in _NOT_SHARED or call.stage.startswith("import_"))


def _key(call: Call, code: str, inputs: Mapping[str, Mapping[str, str]], makes: list[str]) -> str:
    """Digest all that decides the bytes of the products, which excludes the names of run and inputs."""
    deciding: dict[str, Any] = {
        "stage": call.stage,
        "code": code,
        "values": call.values,
        "inputs": {name: list(files.values()) for name, files in inputs.items()},
        "outputs": makes,
        "environment": environment(),
    }
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:32]


def _run_of(product: Path) -> Path:
    run = ledger.run_of(product)
    if run is None:
        raise ParkfError(f"{product}: a planned stage makes files of a run, expected results/<run>/...")
    return run


def _cpu_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_mb() -> float:
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(most / (2**20 if sys.platform == "darwin" else 2**10), 1)
