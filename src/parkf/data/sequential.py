"""The sequential test: batches of candidates arrive, and a change is found when it has happened.

Each change has its own statistic. Let u be the batch's estimate of its size in units of its error, and δ a
step of u. The likelihood ratio exp(δu − δ²/2) of a batch has mean 1 without a change. The statistic of
Shiryaev and Roberts, R ← (R + 1)·exp(δu − δ²/2), grows by 1 a batch in the mean; so does the average R over
all changes. The mean time until it reaches c is then at least c batches (J. Shin, A. Ramdas and A. Rinaldo,
"E-detectors", 2022). A batch of n candidates thus gives a false alarm in at most one of c·n candidates.

The reference is a sample, too: its error may shift all u by ε·√(n/N). u is lowered by three such errors,
with which the mean of the ratio stays below 1.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parkf.data.equations import Floats, whitener
from parkf.data.reference import Reference
from parkf.data.verdict import Found

RATE = 1e-7
"""False alarms per candidate, at most."""
BATCH = 1000
"""Usable candidates of a batch."""
_STEP = 0.5  # δ: larger ones find large changes faster, and trust the tails of u more
_SURE = 3.0  # errors of the reference that are not held against the data


@dataclass
class Detector:
    """A sequential test against a reference."""

    reference: Reference
    rate: float = RATE
    batch: int = BATCH
    batches: int = 0  # so far
    statistic: Floats = field(init=False)  # (2c,), R of each change: larger sizes, then smaller ones

    def __post_init__(self) -> None:
        reference = self.reference
        whiten = whitener(reference.covariance)
        # The best linear estimate of each size alone, as weights on the quantities' means.
        rows = reference.response @ whiten.T @ whiten
        information = np.sum(rows * reference.response, axis=1)
        # No hit of the sample measures some of the changes.
        self._size = 1 / np.sqrt(np.where(information > 0, information, np.inf))  # error from one candidate
        self._rows = rows * self._size[:, None]
        self._waiting = np.zeros((0, len(reference.mean)))  # candidates of a batch that is not whole
        count = 2 * len(reference.changes)
        self.statistic = np.zeros(count)
        # CUSUM of log ratios, which places a change: where each was last 0.
        self._sum, self._since = np.zeros(count), np.zeros(count, np.int64)
        self._means: list[Floats] = []

    @property
    def limit(self) -> float:
        """Value of the average statistic at which there is an alarm."""
        return 1 / (self.rate * self.batch)

    @property
    def candidates(self) -> int:
        """Usable candidates in whole batches so far."""
        return self.batches * self.batch

    def add(self, values: Floats) -> dict[str, Any] | None:
        """Add candidates, (m, k); return an alarm at the batch that causes it, or None.

        An alarm has ``found_at`` and ``changed_at``, numbers of usable candidates, and the change as
        ``what``, ``size`` and ``error`` from the batches since then.
        """
        waiting = np.concatenate([self._waiting, values])
        whole = len(waiting) // self.batch * self.batch
        self._waiting = waiting[whole:]
        for mean in waiting[:whole].reshape(-1, self.batch, waiting.shape[1]).mean(axis=1):
            if self.step(mean):
                return self.alarm()
        return None

    def step(self, mean: Floats) -> bool:
        """Take the mean of one batch, (k,); return whether there is an alarm."""
        u = self._rows @ (mean - self.reference.mean) * np.sqrt(self.batch)
        both = np.concatenate([u, -u]) - _SURE * np.sqrt(self.batch / self.reference.count)
        ratio = _STEP * both - 0.5 * _STEP**2
        self.statistic = (self.statistic + 1) * np.exp(np.minimum(ratio, 50.0))
        begins = self._sum + ratio <= 0
        self._sum = np.where(begins, 0, self._sum + ratio)
        self.batches += 1
        self._since = np.where(begins, self.batches, self._since)
        self._means.append(mean)
        return bool(self.statistic.mean() >= self.limit)

    def alarm(self) -> dict[str, Any]:
        """Describe the change with the largest statistic."""
        best = int(np.argmax(self.statistic))
        number, since = best % len(self.reference.changes), int(self._since[best])
        mean = np.mean(self._means[since:], axis=0)
        count = self.batch * (self.batches - since)
        size = float(self._rows[number] @ (mean - self.reference.mean) * self._size[number])
        error = float(self._size[number] * np.sqrt(1 / count + 1 / self.reference.count))
        found = Found(self.reference.changes[number], size, error)
        return {
            "found_at": self.candidates,
            "changed_at": since * self.batch,
            "what": found.change.name,
            "size": size,
            "error": error,
            "sentence": f"{found}, from candidate {since * self.batch} on",
            "false_alarms_per_candidate": self.rate,
        }
