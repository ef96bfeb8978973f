"""What a case of mistakes.yaml changes in its folder, and what it takes from the process that runs there."""

import io
import os
import resource
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parkf.io import tables
from parkf.io.arrow import column

# Limits of the process, which are set when its output goes to a file.
LATER: list[Callable[[], object]] = []
_TABLES = (tables.PARTICLES, tables.STATES, tables.HITS, tables.CANDIDATES)
_CONFIGURATION = "workflow/config/mine.yaml"


def write(name: str, content: str) -> None:
    Path(name).write_text(content)


def data(name: str, content: bytes) -> None:
    Path(name).write_bytes(content)


def text(name: str, old: str, new: str) -> None:
    """Replace a part of a text; it must be there."""
    content = Path(name).read_text()
    assert old in content, f"{old} is not in {name}"
    write(name, content.replace(old, new, 1))


def add(line: str) -> None:
    """Add a line to the configuration, in the place of the line with the same key."""
    key = line.partition(":")[0]
    kept = [one for one in Path(_CONFIGURATION).read_text().splitlines() if not one.startswith(f"{key}:")]
    write(_CONFIGURATION, "\n".join([*kept, line, ""]))


def copy(source: str, target: str) -> None:
    copyfile(source, target)


def remove(name: str) -> None:
    Path(name).unlink()


def folder(name: str) -> None:
    Path(name).mkdir()


def pipe(name: str) -> None:
    os.mkfifo(name)


def device(name: str) -> None:
    """Make a device without room; the machine's own one must not be touched."""
    os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(1, 7))


def link(to: str, name: str) -> None:
    Path(name).symlink_to(to)


def cut(name: str, length: int) -> None:
    """Keep `length` bytes, or leave out that many if it is below 0."""
    data(name, Path(name).read_bytes()[:length])


def data_at(name: str, place: int, content: bytes) -> None:
    """Replace bytes; a place below 0 counts from the end."""
    old = bytearray(Path(name).read_bytes())
    place %= len(old)
    old[place : place + len(content)] = content[: len(old) - place]
    data(name, bytes(old))


def flip(name: str, place: int) -> None:
    """Flip a bit."""
    old = Path(name).read_bytes()[place]
    data_at(name, place, bytes([old ^ 1]))


def npz(name: str, **changes: Any) -> None:
    """Multiply arrays by a number, or apply a function."""
    arrays = dict(np.load(name))
    for one, change in changes.items():
        arrays[one] = change(arrays[one]) if callable(change) else arrays[one] * change
    np.savez(name, **arrays)


def bomb(name: str) -> None:
    """Write an archive of 1 MB that is 1 GB."""
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in ("origin", "spacing", "values"):
            archive.writestr(f"{one}.npy", bytes(1 << 30 if one == "values" else 100))


def huge(name: str) -> None:
    """Write a map whose header promises 10^15 numbers."""
    header = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (10**5, 10**5, 10**5, 3)}
    np.lib.format.write_array_header_1_0(header, about)
    with zipfile.ZipFile(name, "w") as archive:
        for one in ("origin", "spacing"):
            small = io.BytesIO()
            np.save(small, np.full(3, 100.0))
            archive.writestr(f"{one}.npy", small.getvalue())
        archive.writestr("values.npy", header.getvalue())


def nan(name: str) -> None:
    """Make a set's numbers NaN, with a checksum in the manifest that is right."""
    import hashlib

    old = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    numbers = np.fromfile(name, "<f4")
    numbers[:] = np.nan
    numbers.tofile(name)
    text("set/manifest.json", old, hashlib.sha256(Path(name).read_bytes()).hexdigest())


def change(name: str, of: str, function: Callable[[Any], Any]) -> None:
    """Apply a function to a column of a table, and write the table as its command would."""
    table = pq.read_table(name)
    index = table.schema.get_field_index(of)
    kind = table.schema.field(of).type
    is_list = pa.types.is_fixed_size_list(kind)
    chunk = table.column(of).combine_chunks()
    numbers = np.array((chunk.flatten() if is_list else chunk).to_numpy(zero_copy_only=False))
    numbers = np.asarray(function(numbers))
    new = column(numbers.reshape(len(chunk), -1) if is_list else numbers, kind)
    _sealed(name, table.set_column(index, table.schema.field(index), new))


def times(name: str, factor: float, *columns: str) -> None:
    for one in columns:
        change(name, one, lambda numbers: (numbers * factor).astype(numbers.dtype))


def put(name: str, of: str, row: int, value: float) -> None:
    def replaced(numbers: Any) -> Any:
        numbers[row] = value
        return numbers

    change(name, of, replaced)


def rows(name: str, count: int) -> None:
    _sealed(name, pq.read_table(name).slice(0, count))


def many(name: str, count: int) -> None:
    _sealed(name, pa.concat_tables([pq.read_table(name)] * count))


def drop(name: str, of: str) -> None:
    pq.write_table(pq.read_table(name).drop_columns([of]), name)


def named(name: str, table: str) -> None:
    """Give a table another name in its metadata."""
    whole = pq.read_table(name)
    pq.write_table(whole.replace_schema_metadata({"parkf.table": table}), name)


def _sealed(name: str, table: pa.Table) -> None:
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    kind = about.pop("parkf.table").split()[0]
    own = next(one for one in _TABLES if one.name == kind)
    with own.writer(Path(name), about) as writer:
        writer.write_table(table.replace_schema_metadata(writer_schema(own, about)))


def writer_schema(own: tables.Table, about: dict[str, str]) -> dict[Any, Any]:
    return {**(own.schema.metadata or {}), **about}


def others(**wrong: Any) -> None:
    """Write hits and particles of others; a number multiplies the momenta or positions, or is the value."""
    count = 60
    at = np.arange(count)
    scale_p, scale_x = wrong.pop("p", 1.0), wrong.pop("x", 1.0)
    tracks = {"event": at * 0, "key": at, "pid": at * 0 + 211, "charge": at * 0 + 1}
    tracks |= {"p": (9000.0 + at) * scale_p, "eta": 3.0 + 0.0 * at, "phi": 0.1 * at}
    tracks |= {f"ovtx_{axis}": 0.0 * at for axis in "xyz"} | {"mother_pid": at * 0}
    hits = {"event": at * 0, "key": at, "det": np.full(count, "UT", dtype=object), "layer": at % 4}
    hits |= {"x": (100.0 + at) * scale_x, "y": (50.0 + at) * scale_x, "z": (2400.0 + 50 * (at % 4)) * scale_x}
    hits |= {"dxdy": 0.0 * at, "dzdy": 0.0 * at, "ymin": at - 50.0, "ymax": at + 50.0, "err": 0.05 + 0.0 * at}
    for name, value in wrong.items():
        hits[name] = np.full(count, value, dtype=object if isinstance(value, str) else None)
    pq.write_table(pa.table(tracks), "t.parquet")
    pq.write_table(pa.table(hits), "h.parquet")


def memory(more: int) -> None:
    """Leave `more` MB of address space to the process."""

    def limit() -> None:
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + (more << 20),) * 2)

    LATER.append(limit)


def files(more: int) -> None:
    """Leave `more` open files to the process."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3 + more, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    LATER.append(limit)


def full() -> None:
    """Let the output go to a device without room."""
    LATER.append(lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1))


def closed() -> None:
    """Let the output go to a pipe that nobody reads."""

    def broken() -> None:
        begin, end = os.pipe()
        os.close(begin)
        os.dup2(end, 1)

    LATER.append(broken)
