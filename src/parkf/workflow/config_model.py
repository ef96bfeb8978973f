"""A run's configuration as a model: every key with its unit, its limits and its reason.

A key that :data:`LEFT_OUT` stands for may be left out, but not be null. Rules between keys are validators
here; what depends on the files that a configuration names is in :mod:`parkf.workflow.config`.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from parkf.io import option_types as kinds
from parkf.io.documents.messages import got
from parkf.io.documents.models import Strict, refuse
from parkf.io.documents.position import Place
from parkf.io.errors import ParkfError

LEFT_OUT: Any = None


def _path(name: str) -> str:
    # Braces are wildcards to Snakemake, and no name of a file has control characters.
    if not re.fullmatch(r"[^{}\x00-\x1f]+", name):
        raise ValueError(f"got {got(name)}, expected a path, without control characters and {{wildcards}}")
    return name


def _distinct(entries: list[str]) -> list[str]:
    if len(set(entries)) < len(entries):
        raise ValueError("an entry is there twice; keep one of them")
    return entries


def _with_parkf(fits: list[str]) -> list[str]:
    if "parkf" not in fits:
        raise ValueError("expected parkf among the entries")
    return fits


def _not_inherited(name: str) -> str:
    # What a file extends is laid below it before the whole is checked.
    raise ValueError("only a configuration's own file says what it extends")


Path = Annotated[str, AfterValidator(_path)]
Paths = Annotated[list[Path], Field(min_length=1)]
Polarity = Literal["up", "down"]
Billion = Annotated[int, Field(le=1_000_000_000)]
HundredMillion = Annotated[int, Field(le=100_000_000)]
Scale = Annotated[float, Field(ge=0.5, le=2, description="factor on the noise of this kind of step")]


class Detector(Strict):
    """Files of the detector."""

    geometry: Path = Field(description="geometry file; parkf import geometry makes one of Allen's dumps")
    alignment: Path = Field(
        description="alignment file; parkf import alignment makes one of LHCb's conditions"
    )


class FieldSource(Strict):
    """The magnetic field, and how it is looked up."""

    source: Annotated[str, Field(pattern=r"\.(json|npz)$"), AfterValidator(_path)] = Field(
        description="sources of a dipole (.json), or a grid (.npz): parkf import field makes it of other maps"
    )
    spacing: float = Field(
        ge=20,
        le=200,
        description="mm; for .json sources: a finer grid takes gigabytes, a coarser one bends wrongly",
    )
    outside: kinds.Outside = Field(description="a look-up outside the map")
    interpolation: kinds.Interpolation = Field(description="between the nodes")


class Limits(Strict):
    """Data that the set is for, in runs or in times; without limit where a key is left out."""

    first_run: int = Field(LEFT_OUT, ge=0, description="first run")
    last_run: int = Field(LEFT_OUT, ge=0, description="last run, included")
    first_time: str = Field(LEFT_OUT, description="ISO 8601 with its zone: 2026-05-03T12:00Z")
    last_time: str = Field(LEFT_OUT, description="included")

    @model_validator(mode="after")
    def _interval(self) -> Self:
        # Imported here, because most configurations have no limits.
        from parkf.params.validity import validity_of

        try:
            validity_of(self.model_dump(exclude_unset=True))
        except ParkfError as error:
            raise ValueError(str(error).removeprefix("validity: ")) from error
        return self


class Likeness(Strict):
    """Another simulation of the detector, to lay beside the embedded one; left out without its files."""

    hits: Path = Field(description="as parkf import hits takes them")
    tracks: Path = Field(description="its particles")
    polarity: Polarity = Field(description="one of polarities")


class Pairs(Strict):
    """Tables of candidates of decays; a run needs signals for them."""

    jpsi: Paths = Field(LEFT_OUT, description="J/psi to two muons")
    d0: Paths = Field(LEFT_OUT, description="D0 to K pi")


class Calibration(Strict):
    """Data without truth that calibrate the detector, with the run's set."""

    candidates: Paths = Field(description="tables of candidates (.parquet)")
    placed: Path = Field(
        description="the alignment with which these candidates were made, where surveys found the elements"
    )
    pairs: Pairs
    survey: dict[Literal["x", "y", "z", "rx", "ry", "rz"], Annotated[float, Field(gt=0, le=10)]] = Field(
        min_length=1,
        description="the freedoms that are aligned, each with the error of a survey, mm or rad",
    )
    before: Path = Field(
        LEFT_OUT, description="calibration.json of the round before; a family with rounds sets it"
    )


class Events(Strict):
    """Sizes of the samples."""

    training: HundredMillion = Field(ge=1, description="crossings for each polarity")
    validation: HundredMillion = Field(ge=1, description="crossings for each polarity")
    pile_up: float = Field(
        gt=0,
        le=200,
        description="mean inelastic collisions a crossing; LHCb has 5.5, the HL-LHC 200 at most",
    )


class Pattern(Strict):
    """How candidates are found."""

    segments: kinds.Segments = Field(description="of VELO and SciFi: from hits alone, or by truth")
    crowded: bool = Field(description="hits with the tails, overlaps and density of LHCb's")


class Misalignment(Strict):
    """Shifts in the sample whose hits lie elsewhere than the set assumes."""

    scifi_module: float = Field(ge=0, le=5, description="mm; width of the shifts in x")
    scifi_mat: float = Field(ge=0, le=5, description="mm; of the mats within modules")


class Signals(Strict):
    """Decays whose masses are reported."""

    collisions: Billion = Field(ge=0, description="with a heavy quark pair, for each peak and polarity")


class Closure(Strict):
    """How the magnet table is closed on the fit; null: not at all."""

    tracks: HundredMillion = Field(ge=1000, description="particles started for each polarity")
    rays: Billion = Field(ge=10_000, description="rays carried on through the SciFi")
    passes: int = Field(ge=0, le=10, description="passes over the fits of the tracks")


class NoiseScale(Strict):
    """Noise of a fit over that of single steps, by kind of step."""

    V: Scale
    VUT: Scale
    UT: Scale
    UTTF: Scale
    TFT: float = Field(ge=0.5, le=10, description="factor on the noise of this kind of step")
    T: Scale
    BEAM: Scale
    BEND: float = Field(
        LEFT_OUT,
        gt=0,
        le=1,
        description="share of the hop that stays behind the bend, with the forms of production",
    )


class Training(Strict):
    """What the numbers of a set are trained on, and for."""

    datasets: Path = Field(
        description="'simulate', or a folder of step datasets, which parkf import steps makes of tuples;"
        " steps that it lacks are simulated"
    )
    max_rows: Billion = Field(ge=1000, description="rows kept of each step")
    rays: Billion = Field(ge=10_000, description="through the magnet, for its 240,000 numbers")
    client: kinds.Client = Field(
        description="fitter that the set is for: it closes the table, and its figures are held against the"
        " gates; trigger: LHCb's, with the forms of production"
    )
    closure: Closure | None
    neighbour: Path = Field(
        LEFT_OUT,
        description="folder of a run of another alignment, whose closed table and ghost score the set takes",
    )
    noise_scale: NoiseScale


class Fits(Strict):
    """Fits of the validation, and what they run on."""

    of: Annotated[
        list[Literal["parkf", "parkf_robust", "trigger", "full"]],
        AfterValidator(_with_parkf),
        AfterValidator(_distinct),
    ] = Field(description="fitters that are compared, parkf among them")
    precision: kinds.Precision = Field(description="of the numbers in a fit")
    backend: kinds.BackendChoice = Field(description="what the fits run on; auto: a GPU where there is one")


class RunConfig(Strict):
    """Configuration of a run, together with what it extends.

    It has every key but calibration, likeness, validity and those for others' files. No other key is allowed,
    so that a typing error cannot pass for a default.
    """

    extends: Annotated[str, AfterValidator(_not_inherited)] = Field(
        LEFT_OUT,
        description="configuration in the same folder, without .yaml, that gives all keys which this one"
        " leaves out, but run",
    )
    run: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=100,
        description="name of the folder under results/: letters, digits, . _ -",
    )
    seed: Billion = Field(ge=0, description="decides every random draw")
    forms: kinds.FormsName = Field(description="set of forms")
    detector: Detector
    field: FieldSource
    validity: Limits = LEFT_OUT
    likeness: Likeness = LEFT_OUT
    calibration: Calibration = LEFT_OUT
    polarities: Annotated[list[Polarity], AfterValidator(_distinct)] = Field(
        min_length=1, description="of the magnet: one or both"
    )
    events: Events
    pattern: Pattern
    misalignment: Misalignment
    signals: Signals
    training: Training
    fits: Fits

    @model_validator(mode="after")
    def _agreeing(self) -> Self:
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[tuple[Place, str]]:
        """Yield keys that do not agree with other keys."""
        given, training = self.model_fields_set, self.training
        if "likeness" in given and self.likeness.polarity not in self.polarities:
            what = f"got {self.likeness.polarity}, expected one of polarities: {', '.join(self.polarities)}"
            yield ("likeness", "polarity"), what
        if "calibration" in given and self.calibration.pairs.model_fields_set and not self.signals.collisions:
            what = "got 0, expected as many decays as in calibration.pairs, to compare them with"
            yield ("signals", "collisions"), what
        if self.forms != "production" and training.client == "trigger":
            what = "trigger: it has the forms of production alone; set forms: production, or client: parkf"
            yield ("training", "client"), what
        # Check this now: otherwise the assembly of the set would refuse it after hours of training.
        if self.forms != "production" and training.noise_scale.BEND not in (None, 1):
            what = "is for forms: production alone; extends: improved has the factors of improved forms"
            yield ("training", "noise_scale", "BEND"), what
