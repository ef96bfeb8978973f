"""Small runs for tests: files and their ledger, without Snakemake."""

from pathlib import Path
from typing import Any

from parkf.io.files import sha256
from parkf.io.ledger import Entry, Ledger, fingerprint, run_of, stamp_of


def entry(outputs: dict[str, str], inputs: dict[str, str] | None = None, **more: Any) -> Entry:
    """Return a line of a ledger; nothing of it is on the disk."""
    usual = {"key": "", "stage": "make", "code": "c", "values": {}, "environment": {}}
    return Entry(outputs=outputs, inputs=inputs or {}, **(usual | more))


def made(product: str, text: str, *inputs: str, **more: Any) -> Path:
    """Write a product, a path in the working folder, and its line in the ledger of its run."""
    path, run = Path(product), run_of(Path(product))
    assert run is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    read = {one: fingerprint(Path(one)) for one in inputs}
    line = entry({product: sha256(path)}, read, stamps={product: stamp_of(path)}, **more)
    Ledger(run).append(line)
    return path
