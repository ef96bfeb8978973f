"""Counts of good and failed fits of the tracks in a file, batch by batch."""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.fit.fitted import FAR, STATUS, STATUS_BITS, Fitted, is_good
from parkf.io.terminal import say

HIGH_CHI2 = 5.0
"""Above this median χ²/ndof of good tracks, a warning is printed. It is about 1 if set and detector agree."""

FEW = 0.01
"""Share of tracks that may be far from their seeds, as ghosts are."""

# Bins of χ²/ndof, even in its logarithm. They determine the median to 1.2 %, in constant memory for any
# number of tracks.
_EDGES = np.geomspace(1e-3, 1e6, 9 * 200 + 1)


def note_on_seeds(far: int, good: int) -> list[str]:
    """Return a warning if many good tracks have q/p far from their seeds.

    Noise is that of the seed's momentum. If a seed is further off than the fit can linearise, q/p is biased
    by several of its errors, and χ² is as good as ever. A second fit from the fitted q/p corrects this.
    """
    if far <= FEW * good:
        return []
    return [
        f"warning: {far} of {good} good tracks have q/p more than {100 * FAR:.0f} % from their candidates':"
        " set qop of these candidates to the fitted one, and fit again"
    ]


class Summary:
    """Tracks of a file: good ones, those with each bit of a status, and the median of χ²/ndof."""

    def __init__(self) -> None:
        self.count = 0
        self.good = 0
        # What was noticed about the detector of the candidates.
        self.notes: list[str] = []
        self.failed: dict[str, int] = dict.fromkeys(STATUS_BITS, 0)
        self._chi2: NDArray[np.int64] = np.zeros(len(_EDGES) + 1, np.int64)

    def add(self, tracks: Fitted) -> None:
        """Count a batch."""
        status = np.asarray(tracks.status)
        good = is_good(status)
        self.count += len(status)
        self.good += int(good.sum())
        for name, bit in STATUS_BITS.items():
            self.failed[name] += int(((status & bit) != 0).sum())
        ndof = (tracks.ndof_velo + tracks.ndof_ut + tracks.ndof_scifi)[good]
        chi2 = (tracks.chi2_velo + tracks.chi2_ut + tracks.chi2_scifi)[good]
        each = chi2[ndof > 0] / ndof[ndof > 0]
        self._chi2 += np.bincount(np.searchsorted(_EDGES, each), minlength=len(self._chi2))

    @property
    def median_chi2(self) -> float | None:
        """Median of χ²/ndof of good tracks, to 1.2 %; None if none of them has degrees of freedom."""
        if not self._chi2.sum():
            return None
        below = np.cumsum(self._chi2)
        return float(_EDGES[min(np.searchsorted(below, 0.5 * below[-1]), len(_EDGES) - 1)])

    def lines(self) -> list[str]:
        """Summarise as text, with warnings about anything that users should look into."""
        median = self.median_chi2
        good = f"{self.good} of {self.count} tracks are good"
        lines = [good if median is None else f"{good}, median χ²/ndof {median:.2f}"]
        lines += [
            f"  {count} {name} ({STATUS_BITS[name]}): {STATUS[STATUS_BITS[name]]}"
            for name, count in self.failed.items()
            if count
        ]
        if median is not None and median > HIGH_CHI2:
            lines.append(
                f"warning: the median χ²/ndof is {median:.1f}, expected about 1: are geometry, alignment,"
                " field and polarity of these hits those of the parameter set?"
            )
        elif self.count and not self.good:
            lines.append("warning: no track is good")
        return lines + self.notes

    def tell(self, candidates: Path, output: Path) -> None:
        """Print the summary of the fit of a file of candidates on stderr."""
        say(f"{output}: {self.count} candidates fitted", *self.lines(), sep="\n", file=sys.stderr)
        if not self.count:
            say(
                f"warning: {candidates}: 0 candidates, expected some; check the events before",
                file=sys.stderr,
            )
