"""Results from published sets with one version of the source.

Usage: ``published_facts.py <params> <candidates> <folder>``.

It writes as JSON their digests, their fits, their exports, the sets as they are written back, and the
differences between two of them. It also writes the C++ header, and a set of today's improved forms. That set
is made from a published one, with 0 for the terms that the published one lacks.
"""

import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from parkf.fit import cpu
from parkf.fit.consumer import cpp_header
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.hits import from_arrow
from parkf.io.tables import CANDIDATES
from parkf.model.layout import layout_of
from parkf.params.comparison import compare
from parkf.params.exchange.trigger import export_trigger
from parkf.params.imported import imported
from parkf.params.parameter_set import load
from parkf.params.registry import Registry

LIKE = "2026-run3-like-2-r005"
# Compare with a set of the same layout, and with one of another layout.
COMPARED = ("2026-run3-like-2-r004", "2026-run3-like-2-r001")


def main(params, candidates, folder):
    registry = Registry(params)
    sets = {version: registry.load(version) for version in registry.versions()}
    with CANDIDATES.open(candidates) as file:
        batch = from_arrow(file.read(), np.dtype(np.float32))
    facts = {}
    for version, one in sets.items():
        fitted = cpu.fit(one, batch, smoother=True, threads=1, build="plain")
        rows = [getattr(fitted, name).tobytes() for name in (*NUMBERS, *INTEGERS)]
        (folder / f"{version}.fit").write_bytes(b"".join(rows))
        one.save(folder / version)
        (folder / f"{version}.parkf").write_bytes(load(registry.path(version)).form)
        facts[version] = {
            "layout": one.layout.layout_version,
            "sha256": one.sha256,
            "saved": _fingerprints(folder / version),
        }
        if one.manifest.forms == "production":
            export_trigger(one, folder / version / "trigger")
            facts[version]["trigger"] = _fingerprints(folder / version / "trigger")
    for version in COMPARED:
        pair = sets[version], sets[LIKE]
        differing = compare(*pair)
        facts[f"{version} and {LIKE}"] = [
            len(differing.differences),
            differing.other_formulas,
            *(asdict(one) for one in differing.differences),
        ]
    _today_like(sets[LIKE]).save(folder / "today")
    (folder / "today.parkf").write_bytes(load(folder / "today").form)
    (folder / "parkf.hpp").write_text(cpp_header())
    (folder / "facts.json").write_text(json.dumps(facts))


def _today_like(one):
    layout = layout_of("improved")
    blocks = {}
    for block in layout.blocks:
        had, values = one.layout.block(block.name).columns, one.block(block.name)
        columns, taken = [], 0
        for column in block.columns:
            new = taken == len(had) or had[taken].text != column.text
            columns.append(np.zeros(len(values), np.float32) if new else values[:, taken])
            taken += not new
        blocks[block.name] = np.stack(columns, axis=1)
    return imported(layout, blocks, one.table, one.manifest.constants, inputs={}, source=LIKE)


def _fingerprints(folder):
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
