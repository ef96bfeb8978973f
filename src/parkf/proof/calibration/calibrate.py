"""``parkf calibrate``: what data without truth say of positions, field, hit errors and scattering.

The order is that of dependence. Elements are aligned first, since their displacements widen all residuals;
masses of decays then show the field, and, by their charge asymmetry, the one bend of the alignment that hits
do not. With the hits in place, hit errors and scattering are what is left. Each number is compared with the
same number of the set's own simulated sample, so that what the set's forms and the simulation's tails do
counts in neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import SECTIONS as SECTIONS_OF_ALIGNMENT
from parkf.detector.alignment import Alignment, Displacement
from parkf.detector.description import Description
from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry, geometry_of
from parkf.fit import fit
from parkf.fit.alignment.align import equations_of
from parkf.fit.alignment.derivatives import SECTIONS, Elements
from parkf.fit.alignment.moving import Moving
from parkf.fit.alignment.solve import Equations, Solution
from parkf.fit.candidates import Candidates
from parkf.fit.displaced import joined
from parkf.io.errors import ParkfError
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.params.parameter_set import ParameterSet
from parkf.proof.calibration.description import measuring_worse, scattering_more
from parkf.proof.calibration.factors import KINDS, LIMIT, Factors, measure_factors
from parkf.proof.calibration.momenta import NAMES, SLOPE, combined, measure_momenta, strength_of
from parkf.proof.calibration.weak import weak_modes
from parkf.proof.monitoring.monitor import read_batches
from parkf.proof.monitoring.quantities import REGIONS
from parkf.proof.monitoring.reference import make_reference

Floats = NDArray[np.float64]

SURVEY = {"x": 0.1, "y": 0.1, "z": 0.1}
"""mm: what surveys know of modules and layers."""
FEWEST = 2000
"""Candidates of a calibration, and of its reference."""
STOP = 1.0
"""Errors: a round whose changes are smaller, rms of each kind of numbers, is the last one."""
_PASSES = 6  # of an alignment
_ROUGH, _FIRST = 2, 20_000  # rough passes, and their candidates
_SMALL = 0.1  # errors: a pass that moves no element by more is the last one
_NEAR, _STEEPEST = 500.0, 0.4  # mm and slope: limits of directions in which the field's shape is known
_VELO_ERRORS = "hit errors of the VELO"
_STRIP_ERRORS = ("hit errors of the UT", "hit errors of SciFi")


@dataclass(frozen=True)
class Sample:
    """Candidates, and candidates of decays by name, each with its events (n,)."""

    tracks: Candidates
    pairs: Mapping[str, tuple[Floats, Candidates]]

    @classmethod
    def read(cls, candidates: Sequence[Path], pairs: Sequence[tuple[str, Path]]) -> "Sample":
        """Read files; several files of a decay are different events."""
        batches = [batch for _, batch in read_batches(candidates)]
        count = sum(batch.count for batch in batches)
        if count < FEWEST:
            raise ParkfError(
                f"{' '.join(map(str, candidates))}: {count} candidates, expected at least {FEWEST}; give more"
            )
        of: dict[str, list[tuple[Floats, Candidates]]] = {}
        for number, (decay, path) in enumerate(pairs):
            for events, batch in read_batches([path]):
                of.setdefault(decay, []).append((events.astype(np.float64) + number * 2.0**32, batch))
        return cls(
            joined(batches),
            {
                decay: (np.concatenate([one for one, _ in parts]), joined([one for _, one in parts]))
                for decay, parts in of.items()
            },
        )

    def first(self, count: int) -> "Sample":
        """Return the sample with its first candidates; all if it has no more."""
        return self if self.tracks.count <= count else replace(self, tracks=self.tracks.rows(slice(0, count)))

    def moved_pairs(self, moving: Moving) -> "Sample":
        """Return the sample with the hits of its pairs moved; those of its candidates are, piece by piece."""
        pairs = {decay: (events, moving(tracks)) for decay, (events, tracks) in self.pairs.items()}
        return replace(self, pairs=pairs)


@dataclass(frozen=True)
class State:
    """What is assumed of a detector: the input of a round, and, improved, its output."""

    description: Description
    alignment: Alignment
    magnet: FieldMap
    # Factors since the first round, by the name of the monitor's change.
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def geometry(self) -> Geometry:
        """The detector in place."""
        return geometry_of(self.description).align(self.alignment)

    @property
    def strip_errors(self) -> Floats:
        """Factors on the errors of UT and SciFi hits, by layer, (16,)."""
        return strip_factors(self.factors)


def strip_factors(factors: Mapping[str, float]) -> Floats:
    """Return the factors on the errors of UT and SciFi hits, by layer, (16,); a detector has one factor."""
    return np.repeat([factors.get(name, 1.0) for name in _STRIP_ERRORS], [UT_LAYERS, SCIFI_LAYERS])


def calibrate(
    parameters: ParameterSet,
    data: Sample,
    reference: Sample,
    state: State,
    *,
    placed: Alignment,
    survey: Mapping[str, float] | None = None,
    tag: str = "calibrated",
) -> tuple[State, dict[str, Any]]:
    """Calibrate a detector for which a set was trained with `state`; return the improved state and figures.

    `data` are candidates as the alignment `placed` showed them, where the survey found the elements.
    `reference` are candidates of the set's own simulation, in the state.
    """
    survey = dict(survey or SURVEY)
    _require_alike(data, reference, placed, state.alignment)
    own = _momenta(parameters, reference) if reference.pairs else None
    elements, freedoms = Elements.of(state.geometry), list(survey)
    of_reference = equations_of(parameters, reference.tracks, state.geometry, freedoms)
    alignment, solution, moving = _aligned(
        parameters, data, state, of_reference, own, placed=placed, survey=survey, tag=tag
    )
    momenta = None if own is None else _difference(_momenta(parameters, data.moved_pairs(moving)), own)
    strength = None if momenta is None else strength_of(*momenta)
    made = make_reference(parameters, reference.tracks, kinds=KINDS, limit=LIMIT)
    factors, layers = measure_factors(parameters, data.tracks, moving, made)
    after = _improved(state, alignment, strength, factors)
    first, last, now = (
        _places(one, elements, freedoms).ravel() for one in (placed, state.alignment, alignment)
    )
    found = {
        "tracks": solution.tracks,
        "reference_tracks": of_reference.tracks,
        "survey": survey,
        "alignment": {
            "names": [f"{section} {key} {one}" for section, key in elements.names for one in freedoms],
            "value": now - first,
            "change": now - last,
            **_errors(solution.covariance),
        },
        "masses": None if momenta is None else {"names": NAMES, "value": momenta[0], **_errors(momenta[1])},
        "field": None if strength is None else {"names": NAMES[:3], **strength},
        "factors": _named(factors),
        # Beside those of the detectors. They are not applied.
        "layers": _named(layers),
        "total": dict(after.factors),
        "weak": weak_modes(solution, survey, state.description.magnet),
    }
    return after, found | _convergence(found)


def _aligned(
    parameters: ParameterSet,
    data: Sample,
    state: State,
    of_reference: Equations,
    own: tuple[Floats, Floats] | None,
    *,
    placed: Alignment,
    survey: Mapping[str, float],
    tag: str,
) -> tuple[Alignment, Solution, Moving]:
    """Align by passes; return the alignment, the solution of the last pass, and what moves the data's hits.

    `own` are the numbers of the reference's masses, or None without decays.
    """
    before, alignment, freedoms = geometry_of(state.description).align(placed), state.alignment, list(survey)
    for number in range(_PASSES):
        # Large displacements are found with some of the tracks. Until then, tracks of decays do not meet.
        whole = number >= _ROUGH
        geometry = replace(state, alignment=alignment).geometry
        moving = Moving(before, geometry, state.strip_errors)
        tracks = (data if whole else data.first(_FIRST)).tracks
        equations = equations_of(parameters, tracks, geometry, freedoms, moving).beside(of_reference)
        if whole and own is not None:
            value, covariance = _difference(_momenta(parameters, data.moved_pairs(moving)), own)
            equations.measure_bend(1e-6 * float(value[3]), 1e-6 * float(np.sqrt(covariance[3, 3])))
        solution = equations.solve(
            survey=survey,
            surveyed=_places(placed, equations.elements, freedoms)
            - _places(alignment, equations.elements, freedoms),
            constraints=np.zeros((0, equations.vector.size)),
        )
        alignment = solution.alignment(alignment, tag)
        if whole and np.abs(solution.value / solution.error).max() < _SMALL:
            break
    geometry = replace(state, alignment=alignment).geometry
    return alignment, solution, Moving(before, geometry, state.strip_errors)


def _errors(covariance: Floats) -> dict[str, Floats]:
    """Errors and correlations of some numbers."""
    error = np.sqrt(np.diag(covariance))
    return {"error": error, "correlation": covariance / np.outer(error, error)}


def _named(factors: Factors) -> dict[str, Any]:
    names = [one.name for one in factors.changes]
    return {"names": names, "change": factors.sizes, **_errors(factors.covariance)}


def _convergence(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of this round in errors, rms by kind, and whether they are small.

    The own simulations of two rounds fluctuate, too, so that single numbers change by an error or two.
    """
    changes = {}
    for kind in ("alignment", "field", "factors"):
        if found[kind] is not None:
            # A shape of the field that is none has not been changed.
            ratio = found[kind]["change"] / found[kind]["error"]
            changes[kind] = float(np.sqrt(np.mean(ratio[ratio != 0] ** 2)))
    return {"change_in_errors": changes, "converged": max(changes.values()) < STOP}


def _places(alignment: Alignment, elements: Elements, freedoms: Sequence[str]) -> Floats:
    """Displacements of all elements in an alignment, (m, f), mm and rad."""
    of = [getattr(alignment, section).get(key, Displacement()) for section, key in elements.names]
    return np.array([[getattr(one, freedom) for freedom in freedoms] for one in of])


def _require_alike(data: Sample, reference: Sample, placed: Alignment, now: Alignment) -> None:
    """Refuse other decays in the reference, and alignments that differ in more than modules and layers."""
    if data.pairs.keys() != reference.pairs.keys():
        raise ParkfError(
            f"pairs: {', '.join(data.pairs) or 'none'} of the data and {', '.join(reference.pairs) or 'none'}"
            " of the reference, expected the same decays of both"
        )
    for name in set(SECTIONS_OF_ALIGNMENT) - set(SECTIONS):
        if getattr(placed, name) != getattr(now, name):
            raise ParkfError(
                f"alignment {now.tag}: {name}: differ from those of {placed.tag}, with which the candidates"
                " were made, expected the same; only modules and layers are moved"
            )


def _momenta(parameters: ParameterSet, sample: Sample) -> tuple[Floats, Floats]:
    """Return the four numbers of :data:`NAMES` from all decays of a sample, and their covariance."""
    return combined(
        [
            measure_momenta(decay, events, tracks, fit(parameters, tracks))
            for decay, (events, tracks) in sample.pairs.items()
        ]
    )


def _difference(data: tuple[Floats, Floats], reference: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return data[0] - reference[0], data[1] + reference[1]


def _improved(
    state: State,
    alignment: Alignment,
    strength: Mapping[str, Floats] | None,
    found: Factors,
) -> State:
    """Put what was found on top of a state."""
    factors = dict(state.factors)
    by_name = {change.name: 1 + float(size) for change, size in zip(found.changes, found.sizes, strict=True)}
    for name, factor in by_name.items():
        factors[name] = factors.get(name, 1.0) * factor
    noise = {region: by_name[f"noise of the steps in {region}"] for region in REGIONS}
    ut, scifi = (by_name[name] for name in _STRIP_ERRORS)
    more = scattering_more(state.description, noise)
    magnet = state.magnet
    if strength is not None:
        factors["field scale"] = factors.get("field scale", 1.0) * (1 + float(strength["change"][0]))
        magnet = _stronger(magnet, strength["change"])
    return State(measuring_worse(more, by_name[_VELO_ERRORS], ut, scifi), alignment, magnet, factors)


def _stronger(field: FieldMap, change: Floats) -> FieldMap:
    """Return a map that is stronger by the scale and the shapes of :func:`strength_of`."""
    x, y, z = (
        field.origin[axis] + field.spacing[axis] * np.arange(field.values.shape[axis]) for axis in range(3)
    )
    strength = np.full(field.values.shape[:3], 1 + change[0])
    for size, across in ((change[1], x[:, None, None]), (change[2], y[None, :, None])):
        slope = np.clip(across / np.maximum(z, _NEAR), -_STEEPEST, _STEEPEST)
        strength += size * (slope / SLOPE) ** 2
    return replace(field, values=(strength[..., None] * field.values).astype(np.float32))
