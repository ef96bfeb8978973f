"""Whether candidates are of the detector of a parameter set, by recorded fingerprints and by their hits."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidates import Candidates
from parkf.fit.displaced import join_candidates
from parkf.fit.suspicions import suspicions
from parkf.io.errors import ParkfError
from parkf.io.findings import Finding
from parkf.io.fingerprints.detector import FILES, NOMINAL, POLARITY
from parkf.io.fingerprints.meaning import meaning_of
from parkf.params.configuration import only_polarity
from parkf.params.manifest import Manifest
from parkf.params.parameter_set import ParameterSet
from parkf.params.registry import readable_registry
from parkf.params.validity import POLARITIES

SAMPLE = 100
"""Candidates of a sample. Their fits with moved hits cost as much as 1,300 candidates."""
_HINT = 2.5  # errors of a sample that let a larger one decide
_LARGER = 1000  # candidates of the larger sample
_SIGMA = (1e-3, 10.0)  # mm; errors of single hits beyond are of another unit
_EACH = 16  # candidates of every later batch


class DetectorCheck:
    """Compares candidates, batch by batch, with a set.

    `where` names candidates and set in messages. `recorded` is what their table records about the detector,
    from :func:`parkf.io.fingerprints.detector.recorded_detector`. A wrong detector raises a ParkfError; with
    `trust`, `notes` has what disagrees. Doubtful sizes go to ``notes`` always. If the table is `sealed`, so
    that nobody changed what parkf wrote, and its record agrees with the set, then χ² and distances of hits go
    to ``notes``, too: the set may be poor, but it is for this detector.
    """

    def __init__(
        self,
        parameters: ParameterSet,
        where: str,
        recorded: Mapping[str, str],
        *,
        trust: bool = False,
        sealed: bool = False,
    ) -> None:
        self._parameters, self._where, self._trust = parameters, where, trust
        self._polarity = recorded.get(POLARITY)
        self._later: list[Candidates] = []
        self._rows = 0
        self._odd: dict[str, tuple[int, int]] = {}  # by detector: candidates with odd errors, first row
        self._notes: list[str] = []
        inputs = parameters.manifest.inputs
        self._known = sealed and all(name in recorded and name in inputs for name in FILES)
        self._settle(_other_detector(recorded, parameters.manifest))
        if self._polarity is None:
            self._notes.append(
                "polarity: not checked, because the candidates do not record it; polarity and charge turned"
                " together would fit as well"
            )

    @property
    def notes(self) -> list[str]:
        """What disagrees, or could not be compared."""
        odd = [
            f"doubtful: {count} candidates have errors of {name} hits beyond {_SIGMA[0]:g} to"
            f" {_SIGMA[1]:g} mm, the first in row {first}: another unit in some rows? correct them"
            for name, (count, first) in self._odd.items()
        ]
        return self._notes + odd

    def add(self, tracks: Candidates) -> None:
        """Compare a batch: the first one at once, later ones in :meth:`finish`."""
        if not tracks.count:
            return
        for name, sigma in (("UT", tracks.ut[3]), ("SciFi", tracks.scifi[3])):
            odd = np.flatnonzero(((sigma < _SIGMA[0]) | (sigma > _SIGMA[1])).any(axis=1))
            if len(odd):
                count, first = self._odd.get(name, (0, self._rows + int(odd[0])))
                self._odd[name] = (count + len(odd), first)
        if self._polarity is not None and (tracks.polarity != float(self._polarity)).any():
            self._settle(
                [Finding("wrong", f"polarity: {self._polarity} is recorded, rows have the other one")]
            )
        only = only_polarity(self._parameters.manifest.configuration)
        if only is not None and (tracks.polarity != only).any():
            names = f"{POLARITIES[-only]} among the candidates; the set was trained and proven with"
            self._settle([Finding("doubtful", f"polarity: {names} {POLARITIES[only]} alone")])
        if self._rows:
            self._later.append(tracks.rows(_thinned(tracks, _EACH)))
        else:
            self._judge(tracks)
        self._rows += tracks.count

    def finish(self) -> None:
        """Compare a sample of all later batches; if it shows nothing, its hits are not moved."""
        if self._later:
            self._judge(join_candidates(self._later), moved=False)

    def _judge(self, tracks: Candidates, *, moved: bool = True) -> None:
        whole = moved and tracks.count <= SAMPLE
        if whole or suspicions(self._parameters, _hardest(tracks), _HINT, moved=moved):
            self._settle(suspicions(self._parameters, _distinct(tracks, _thinned(tracks, _LARGER))))

    def _settle(self, found: list[Finding]) -> None:
        wrong = [one for one in found if one.verdict == "wrong" and not (self._known and one.quality)]
        if wrong and not self._trust:
            lines = [
                f"{self._where}: the candidates' detector is not the set's",
                *map(str, found),
                "no track was fitted; fit with a set for this detector, or correct the table; if this is as"
                " it should be, say --trust (in Python: trust=True)",
            ]
            raise ParkfError("\n".join(lines))
        self._notes += [text for one in found if (text := str(one)) not in self._notes]


def _thinned(tracks: Candidates, most: int) -> NDArray[np.int64]:
    """Return the rows of some of the candidates, evenly spaced."""
    return np.linspace(0, tracks.count - 1, min(most, tracks.count)).astype(np.int64)


def _hardest(tracks: Candidates) -> Candidates:
    """Return the candidates of the largest momenta: they scatter least, so that they show most."""
    rows = _thinned(tracks, 2 * SAMPLE)
    if len(rows) > SAMPLE:
        rows = rows[np.argpartition(np.abs(tracks.qop[rows]), SAMPLE)[:SAMPLE]]
    return _distinct(tracks, rows)


def _distinct(tracks: Candidates, rows: NDArray[np.int64]) -> Candidates:
    """Return each candidate once: errors of sizes assume that candidates are independent."""
    hits = np.stack([tracks.qop[rows], tracks.velo[0][rows, 0], tracks.scifi[0][rows, 0]], axis=1)
    # As bytes, they are sorted in a fifth of the time.
    as_bytes = hits.view(f"V{hits.itemsize * hits.shape[1]}")[:, 0]
    return tracks.rows(np.sort(rows[np.unique(as_bytes, return_index=True)[1]]))


def _other_detector(recorded: Mapping[str, str], manifest: Manifest) -> list[Finding]:
    """Compare the fingerprints that candidates and set both have; return a finding for each that differs."""
    found = []
    for name in FILES:
        theirs, ours = recorded.get(name), manifest.inputs.get(name)
        # Without an alignment file, only hits can show whether elements stand where the set assumes them.
        if theirs is None or ours is None or theirs == NOMINAL:
            continue
        # The first sets have fingerprints of a document's bytes, later ones those of its meaning.
        kept = readable_registry().folder / "inputs" / f"{ours}.yaml"
        if theirs not in (ours, meaning_of(kept) if kept.is_file() else ours):
            got = f"another {name}: {theirs[:12]}… of the candidates, expected {ours[:12]}… of the set"
            found.append(Finding("wrong", got))
    return found
