"""Honest samples: candidates of the detector that a set was made for, or close enough to it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SETS = ("2026-run3-like-2-r011", "2026-run3-like-2-r010", "2026-run3-like-2-r007", "2026-run3-like-2-r001")
_FEW = 10
_SOFT, _HARD = 1 / 3000.0, 1 / 20_000.0  # 1/MeV


def selections(candidates: pa.Table, seed: int) -> Iterator[tuple[str, pa.Table]]:
    """Yield parts of a sample with their names: all, few, soft, hard, one side, one charge, ghosts."""
    random = np.random.default_rng(seed)
    qop = np.abs(candidates.column("qop").to_numpy())
    charge = candidates.column("qop").to_numpy() > 0
    velo = candidates.column("velo_x").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    left = velo.reshape(len(qop), -1)[:, 0] < 0
    purity = candidates.column("purity").to_numpy() if "purity" in candidates.column_names else None
    yield "all", candidates
    for number in range(3):
        rows = np.sort(random.choice(len(qop), min(_FEW, len(qop)), replace=False))
        yield f"ten tracks, draw {number + 1}", candidates.take(rows)
    cuts = {
        "below 3 GeV": qop > _SOFT,
        "above 20 GeV": qop < _HARD,
        "x < 0": left,
        "positive": charge,
        "one event in ten": candidates.column("event").to_numpy() % 10 == 3,
    }
    if purity is not None:
        ghost = purity < 0.7
        # As many ghosts as others.
        kept = ghost | (random.random(len(qop)) < ghost.sum() / max((~ghost).sum(), 1))
        cuts |= {"half of them ghosts": kept}
    for name, rows in cuts.items():
        if rows.sum() >= _FEW:
            yield name, candidates.filter(pa.array(rows))


def displaced(candidates: pa.Table, particles: Path) -> pa.Table | None:
    """Return candidates of particles that were made more than 5 mm from the beam line."""
    truth = pq.read_table(particles, columns=["event", "particle", "x", "y"]).to_pandas()
    far = truth[np.hypot(truth["x"], truth["y"]) > 5.0][["event", "particle"]].assign(far=True)
    found = candidates.select(["event", "particle"]).to_pandas().merge(far, how="left")
    rows = found["far"].notna().to_numpy()
    return candidates.filter(pa.array(rows)) if rows.sum() >= _FEW else None
