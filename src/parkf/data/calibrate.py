"""``parkf calibrate``: what data without truth say of positions, field, hit errors and scattering.

The order is that of dependence. Elements are aligned first, since their displacements widen all residuals;
masses of decays then show the field, and, by their charge asymmetry, the one bend of the alignment that hits
do not. With the hits in place, hit errors and scattering are what is left. Each number is compared with the
same number of the set's own simulated sample, so that what the set's forms and the simulation's tails do
counts in neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parkf.data.align import Displacements, displaced, equations_of, places
from parkf.data.changes import FACTORS
from parkf.data.elements import SECTIONS
from parkf.data.equations import Solution
from parkf.data.evidence import gather
from parkf.data.masses import NAMES, combined, measure_decays, read_pairs, strength_of
from parkf.data.moving import Moving
from parkf.data.parts import Parts
from parkf.data.reference import Reference, make_reference
from parkf.data.state import State, errors_by_layer, read_state, sentences, write_state
from parkf.data.tracks import Events, read_tracks
from parkf.data.verdict import Means
from parkf.data.weak import weak_modes
from parkf.detector.alignment import SECTIONS as SECTIONS_OF_ALIGNMENT
from parkf.detector.alignment import Alignment, load_alignment
from parkf.detector.geometry import geometry_of
from parkf.fit.candidates import Candidates
from parkf.io.errors import ParkfError
from parkf.io.terminal import say
from parkf.params.parameter_set import ParameterSet, load

SURVEY = {"x": 0.1, "y": 0.1, "z": 0.1}
"""mm: what surveys know of modules and layers."""
FEWEST = 2000
"""Candidates of a calibration, and of its reference."""
STOP = 1.0
"""Errors: a round whose changes are smaller, rms of each kind of numbers, is the last one."""
_PASSES = 6  # of an alignment
_ROUGH, _FIRST = 2, 20_000  # rough passes, and their candidates
_SMALL = 0.1  # errors: a pass that moves no element by more is the last one


@dataclass(frozen=True)
class Data:
    """Candidates, and candidates of decays by name, each with its events (n,)."""

    tracks: Candidates
    pairs: Mapping[str, tuple[Events, Candidates]]
    event: Events | None = None  # of the tracks

    @classmethod
    def read(cls, candidates: Sequence[Path], pairs: Sequence[tuple[str, Path]]) -> "Data":
        """Read files; several files of a decay are different events."""
        event, tracks = read_tracks(candidates, FEWEST)
        return cls(tracks, read_pairs(pairs), event)

    def momenta(self, parameters: ParameterSet, moving: Moving | None = None) -> Solution:
        """Return the numbers that masses of all decays show, of hits where `moving` has them."""
        return combined([*measure_decays(parameters, self.pairs, moving).values()])


def calibrate_files(
    parameters: Path,
    output: Path,
    *,
    candidates: Sequence[Path],
    placed: Path,
    reference: Sequence[Path],
    detector: tuple[Path, Path, Path],
    pairs: Sequence[tuple[str, Path]],
    reference_pairs: Sequence[tuple[str, Path]],
    survey: Mapping[str, float],
    before: Path | None = None,
) -> None:
    """Calibrate by files, write what is found into a folder, and print it.

    `detector` are geometry, alignment and field that the set was trained with.
    """
    after, found = calibrate(
        load(parameters),
        Data.read(candidates, pairs),
        Data.read(reference, reference_pairs),
        read_state(*detector, before),
        placed=load_alignment(placed),
        survey=survey,
    )
    write_state(output, after, found)
    say("\n".join(sentences(found)))


def calibrate(
    parameters: ParameterSet,
    data: Data,
    reference: Data,
    state: State,
    *,
    placed: Alignment,
    survey: Mapping[str, float] | None = None,
) -> tuple[State, dict[str, Any]]:
    """Calibrate a detector for which a set was trained with `state`; return the improved state and figures.

    `data` are candidates as the alignment `placed` showed them, where the survey found the elements.
    `reference` are candidates of the set's own simulation, in the state.
    """
    survey = dict(survey or SURVEY)
    _require_alike(data, reference, placed, state.alignment)
    own = reference.momenta(parameters) if reference.pairs else None
    of_reference = equations_of(parameters, reference.tracks, state.geometry, list(survey))
    alignment, solution, moving = _aligned(
        parameters, data, state, of_reference, own, placed=placed, survey=survey
    )
    momenta = None if own is None else data.momenta(parameters, moving).beside(own)
    strength = None if momenta is None else strength_of(momenta)
    made = make_reference(parameters, reference.tracks, reference.event)
    factors = measure_factors(parameters, moving(data.tracks), made)
    by_name = {name: 1 + size for name, size in factors.by_name.items()}
    after = state.improved(alignment, None if strength is None else strength["change"], by_name)
    first, last, now = (places(one, solution.names) for one in (placed, state.alignment, alignment))
    found = {
        "tracks": solution.tracks,
        "reference_tracks": of_reference.tracks,
        "survey": survey,
        "alignment": solution.as_json() | {"value": now - first, "change": now - last},
        "masses": None if momenta is None else momenta.as_json(),
        "field": None if strength is None else {"names": NAMES[:3], **strength},
        "factors": factors.as_json("change"),
        "total": dict(after.factors),
        "weak": weak_modes(solution, of_reference.elements, survey, state.description.magnet),
    }
    return after, found | _convergence(found)


def _aligned(
    parameters: ParameterSet,
    data: Data,
    state: State,
    of_reference: Displacements,
    own: Solution | None,
    *,
    placed: Alignment,
    survey: Mapping[str, float],
) -> tuple[Alignment, Solution, Moving]:
    """Align by passes; return the alignment, the solution of the last pass, and what moves the data's hits.

    `own` are the numbers of the reference's masses, or None without decays.
    """
    before, alignment = geometry_of(state.description).align(placed), state.alignment
    errors = errors_by_layer(state.factors)
    for number in range(_PASSES):
        # Large displacements are found with some of the tracks. Until then, tracks of decays do not meet.
        whole = number >= _ROUGH
        geometry = replace(state, alignment=alignment).geometry
        moving = Moving(before, geometry, errors)
        tracks = data.tracks if whole else data.tracks.rows(slice(0, _FIRST))
        equations = equations_of(parameters, tracks, geometry, list(survey), moving).beside(of_reference)
        if whole and own is not None:
            momenta = data.momenta(parameters, moving).beside(own)
            equations.measure_bend(1e-6 * float(momenta.value[3]), 1e-6 * float(momenta.error[3]))
        at = places(placed, equations.names) - places(alignment, equations.names)
        solution = equations.displacements(survey, at, velo_rests=False)
        alignment = displaced(alignment, solution, "calibrated")
        if whole and np.abs(solution.value / solution.error).max() < _SMALL:
            break
    geometry = replace(state, alignment=alignment).geometry
    return alignment, solution, Moving(before, geometry, errors)


def measure_factors(parameters: ParameterSet, tracks: Candidates, reference: Reference) -> Solution:
    """Fit a factor minus one on the hit errors of each detector, and on the noise in each region.

    The hits of `tracks` are aligned. Means are compared per information, as by `parkf monitor`: hits that are
    lost are no errors.
    """
    evidence = gather(parameters, tracks, Parts.of_sample(parameters, reference.stations))
    # One of a whole detector's hit errors, or the noise in a region; nothing of several regions together.
    chosen = [n for n, one in enumerate(FACTORS) if (one.kind == "error") == (one.number < 0)]
    return Means.of(reference, evidence).fit(chosen)[0]


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


def _require_alike(data: Data, reference: Data, placed: Alignment, now: Alignment) -> None:
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
