"""A run's configuration, checked, and what the Snakefile derives from it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any, Self

from parkf.io.documents.document import Document
from parkf.io.documents.messages import said
from parkf.io.documents.position import Place
from parkf.io.documents.schemas import mistakes
from parkf.io.errors import ParkfError
from parkf.io.files import matching, sha256
from parkf.training.ghost_score import CROSSINGS
from parkf.workflow.chunks import BLOCK_COLLISIONS, BLOCK_EVENTS, chunk_names, chunk_ranges
from parkf.workflow.config_files import EXTENDS, configurations, laid, read_layers

CONFIGS = Path("workflow/config")
SCHEMA = Path("workflow/schemas/config.schema.json")
# Fits that are measured beside each other, and the scheme of each; "full" needs no parameter set. The one in
# float64 shows what the precision of the others costs.
SCHEMES = {
    "parkf": "smoother",
    "parkf_float64": "smoother",
    "parkf_robust": "smoother",
    "paper_scheme": "forward_backward",
    "velo_only": "velo_only",
}
_SAMPLES = ("training_up", "training_down", "validation_up", "validation_down")
_SIGNALS = ("jpsi_up", "jpsi_down", "d0_up", "d0_down")
_NOT_TRAINING = ("run", "validity", "misalignment", "signals", "likeness", "fits")
ROWS_A_CROSSING = {"V": 1150, "VUT": 70, "UT": 420, "UTTF": 72, "TFT": 70, "T": 770, "BEAM": 640}
"""Of each step, at the pile-up of Run 3."""
STEPS = tuple(ROWS_A_CROSSING)
_NO_DUMPS = (
    ", and no folder; put Allen's velo_geometry.bin, ut_geometry.bin, scifi_geometry.bin and beamline.bin"
    " there, or name your own folder of them (docs/geometry.md)"
)
NOTHING = r"(?!)"
"""A regular expression that nothing matches."""
_FIRST_SIGNAL_SEED = 1 << 40  # above the seeds of all samples
_CLOSURES = ("closure_up", "closure_down")
_FIRST_CLOSURE_SEED = 1 << 50  # above the seeds of all signals


def load_config(
    config: Mapping[str, Any],
    schema: Path,
    folder: Path,
    documents: Sequence[Document] = (),
    *,
    look_into_inputs: bool = False,
) -> dict[str, Any]:
    """Check a configuration against its closed schema.

    Parameters
    ----------
    config : mapping
        The whole of it: what its file extends lies below it, :func:`parkf.workflow.config_files.extended`.
    schema : Path
        JSON schema of configurations.
    folder : Path
        Where the run takes place; its input paths are relative to it.
    documents : sequence of Document
        What it was made of, the last one on top: mistakes are named with their files and lines.
    look_into_inputs : bool
        Whether the files that it names are read and checked, too; else they only have to be there.

    Returns
    -------
    dict
        With all keys in the order of the alphabet: that of the file decides nothing.

    Raises
    ------
    ParkfError
        With one line for each key that is unknown, missing or out of range, for missing input files, and
        where fits are to run on a GPU without the package for it.
    """
    rules = json.loads(schema.read_text())
    problems = [(place, what) for place, what in mistakes(rules, dict(config))]
    if EXTENDS in config:
        problems.append(((EXTENDS,), "only a configuration's own file says what it extends"))
    if not problems:
        problems += _missing_inputs(config, folder)
        problems += _validity_problems(config.get("validity", {}))
        other = config.get("likeness")
        if other is not None and other["polarity"] not in config["polarities"]:
            what = f"got {other['polarity']}, expected one of polarities: {', '.join(config['polarities'])}"
            problems.append((("likeness", "polarity"), what))
        if config["fits"]["backend"] == "gpu" and find_spec("cupy") is None:
            what = "gpu: CuPy is missing; install parkf[gpu], or say auto, or cpu"
            problems.append((("fits", "backend"), what))
        # Refused here, because the assembly of the set would refuse it only after hours of training.
        if config["forms"] != "production" and config["training"]["noise_scale"].get("BEND", 1) != 1:
            what = "is for forms: production alone; extends: improved has the factors of improved forms"
            problems.append((("training", "noise_scale", "BEND"), what))
    lines = [said(_where(documents, config, place), place, what) for place, what in problems]
    if not lines and look_into_inputs:
        from parkf.workflow.inputs import input_problems

        lines = input_problems(config, folder)
    if lines:
        raise ParkfError("\n".join(sorted(lines)))
    return _in_order(config)


def _in_order(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _in_order(value) if isinstance(value, Mapping) else value
        for key, value in sorted(config.items())
    }


def read_config(path: Path, schema: Path, folder: Path) -> dict[str, Any]:
    """Read a run's configuration, and look into all that it names.

    Raises
    ------
    ParkfError
        As :func:`load_config`; where there is no such file, with the configurations that there are.
    """
    if not path.is_file():
        there = configurations(path.parent)
        known = ", ".join(there) or "none"
        near = get_close_matches(path.stem, there, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ParkfError(f"{path}: no such configuration; {hint}there are {known}")
    layers = read_layers(path)
    config = load_config(laid(layers), schema, folder, layers, look_into_inputs=True)
    from parkf.workflow.inputs import product_problems

    if problems := product_problems(config, folder):
        raise ParkfError("\n".join(problems))
    return config


def _where(documents: Sequence[Document], config: Mapping[str, Any], place: Place) -> str:
    """Name the file and line that a value came from; that of what it lies in where it is missing."""
    given = _has(config, place)
    for length in range(len(place), 0, -1):
        part = place[:length]
        for document in reversed(documents):
            if _has(document.content, part):
                # Another value was given on the command line.
                same = (
                    _value(document.content, place) == _value(config, place)
                    if length == len(place)
                    else not given
                )
                return document.where(part) if same else "config"
    return str(documents[-1].path) if documents and not given else "config"


def _has(content: Any, place: Place) -> bool:
    try:
        _value(content, place)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _value(content: Any, place: Place) -> Any:
    for name in place:
        content = content[name]
    return content


def _missing_inputs(config: Mapping[str, Any], folder: Path) -> Iterator[tuple[Place, str]]:
    yield from _missing_detector(config["detector"], folder)
    source = config["field"]["source"]
    if not _files(source, folder):
        yield ("field", "source"), f"{source}: no such file"
    own = [key for key in _OF_MAPS if key in config["field"]]
    if own and not is_foreign_field(source):
        yield ("field", own[0]), f"{source}: a file of this project says that itself; leave it out"
    datasets = config["training"]["datasets"]
    trees = Path(datasets).suffix == ".root"
    if trees != ("datasets_polarity" in config["training"]):
        what = "missing: up or down, of tuning trees" if trees else "of tuning trees (.root) alone"
        yield ("training", "datasets_polarity"), what
    if is_imported(datasets):
        if not _files(datasets, folder):
            yield ("training", "datasets"), f"{datasets}: no such file"
    elif datasets != "simulate":
        missing = [step for step in STEPS if not (folder / datasets / f"{step}.parquet").is_file()]
        if missing:
            what = f"{datasets}/{missing[0]}.parquet: no such file; expected <step>.parquet of each of "
            yield ("training", "datasets"), f"{what}{', '.join(STEPS)}, or simulate"


_OF_MAPS = ("length", "unit", "symmetry", "polarity", "tree")


def is_foreign_field(source: str) -> bool:
    """Whether a field is a map of others, which `parkf import field` takes."""
    return Path(source).suffix not in (".json", ".npz")


def is_imported(datasets: str) -> bool:
    """Whether datasets are tuples of others, which `parkf import steps` takes."""
    return Path(datasets).suffix in (".yaml", ".yml", ".root")


def _files(pattern: str, folder: Path) -> list[str]:
    """Name the files of a pattern; none where there are none."""
    try:
        return [str(path) for path in matching(pattern, folder)]
    except ParkfError:
        return []


def field_fingerprint(config: Mapping[str, Any], folder: Path) -> str:
    """SHA-256 of a field's file; of several of their fingerprints, in the order of their names.

    Parameters
    ----------
    config : mapping
        Of a run: its section ``field``.
    folder : Path
        That its paths are relative to.
    """
    prints = [sha256(path) for path in matching(config["source"], folder)]
    return prints[0] if len(prints) == 1 else hashlib.sha256(" ".join(prints).encode()).hexdigest()


def _missing_detector(detector: Mapping[str, str], folder: Path) -> Iterator[tuple[Place, str]]:
    geometry, alignment = detector["geometry"], detector["alignment"]
    if (folder / geometry).is_dir():
        base = detector.get("base", "")
        if not (folder / base).is_file():
            what = f"{base or 'nothing'}: no such file; dumps need a geometry for the rest"
            yield ("detector", "base"), what
        if alignment != geometry and not (folder / alignment).is_file():
            what = f"{alignment}: no such file; what dumps say of it goes by the name of their folder"
            yield ("detector", "alignment"), what
        return
    for key, name in (("geometry", geometry), ("alignment", alignment)):
        if not (folder / name).is_file():
            hint = "" if Path(name).suffix or key != "geometry" else _NO_DUMPS
            yield ("detector", key), f"{name}: no such file{hint}"
            if hint:
                return


def _validity_problems(limits: Mapping[str, int | str]) -> Iterator[tuple[Place, str]]:
    if not limits:
        return
    from parkf.params.validity import validity_of

    try:
        validity_of(limits)
    except ParkfError as error:
        yield ("validity",), str(error).removeprefix("validity: ")


def start_file(place: Path, step: str) -> Path:
    """Give the file to start a step's fit from.

    Parameters
    ----------
    place : Path
        A fit, ``fits/<step>.json``; or the folder of a parameter set, which has a manifest; or that of a run.
    step : str
        Name of the step.
    """
    if place.suffix == ".json":
        return place
    manifest = place / "manifest.json"
    return manifest if manifest.is_file() else place / "fits" / f"{step}.json"


@dataclass(frozen=True)
class Detector:
    """Where the files of geometry and alignment are, and what they are imported from.

    Attributes
    ----------
    geometry, alignment : str
        Files of this project.
    dumps : tuple of str
        Allen's, that make the geometry; none where it is a file.
    conditions : str or None
        LHCb's, that make the alignment.
    """

    geometry: str
    alignment: str
    dumps: tuple[str, ...]
    conditions: str | None

    @classmethod
    def of(cls, config: Mapping[str, str], made: str, folder: Path) -> Self:
        """Look at what a configuration names; what is imported goes to the folder `made`."""
        geometry, alignment = config["geometry"], config["alignment"]
        dumps: tuple[str, ...] = ()
        if (folder / geometry).is_dir():
            from parkf.imports.geometry.dumps import FILES

            names = (f"{geometry}/{name}" for name in FILES.values())
            dumps = tuple(name for name in names if (folder / name).is_file())
        conditions = alignment if is_conditions(folder / alignment) else None
        if conditions is not None:
            alignment = f"{made}/alignment_of_conditions.yaml"
        elif dumps and alignment == geometry:
            alignment = f"{made}/alignment_of_dumps.yaml"
        return cls(f"{made}/geometry.yaml" if dumps else geometry, alignment, dumps, conditions)


def is_conditions(path: Path) -> bool:
    """Whether a file is YAML of LHCb's conditions rather than an alignment of this project."""
    return path.is_file() and b"!alignment" in path.read_bytes()


class Run:
    """What the rules ask of a checked configuration.

    Parameters
    ----------
    config : dict
        From :func:`load_config`.
    widths : mapping of str to int, optional
        Chunks wanted of each sample for ``training``, for ``validation`` and of ``signals``; one by default.
    """

    def __init__(self, config: dict[str, Any], widths: Mapping[str, int] | None = None) -> None:
        self._config = config
        self._widths = widths or {}

    def __getitem__(self, key: str) -> Any:
        return self._config[key]

    @property
    def validity(self) -> dict[str, int | str]:
        """Data that the set is for; empty without limits."""
        return dict(self._config.get("validity", {}))

    @property
    def name(self) -> str:
        """Folder of the run under ``results/``."""
        return str(self._config["run"])

    @property
    def simulates_datasets(self) -> bool:
        """Whether step datasets come from the embedded simulation."""
        return bool(self._config["training"]["datasets"] == "simulate")

    @property
    def field_files(self) -> list[str]:
        """Files of the field, relative to the working folder."""
        return _files(self._config["field"]["source"], Path())

    @property
    def import_field(self) -> str:
        """Arguments of `parkf import field` for a map of others; empty for a file of this project."""
        field = self._config["field"]
        if not is_foreign_field(field["source"]):
            return ""
        options = [f"--{key} {quote(str(field[key]))}" for key in _OF_MAPS if key in field]
        return " ".join([quote(field["source"]), *options])

    @cached_property
    def imported_steps(self) -> tuple[str, ...]:
        """Steps whose datasets are imported from others' tuples."""
        datasets = self._config["training"]["datasets"]
        if not is_imported(datasets):
            return ()
        from parkf.imports.steps.take import steps_of

        return steps_of(datasets)

    def dataset_files(self, step: str) -> list[str]:
        """Files that a step's dataset is imported from."""
        from parkf.imports.steps.take import files_of

        return [str(path) for path in files_of(self._config["training"]["datasets"], step)]

    @property
    def import_steps(self) -> str:
        """Arguments of `parkf import steps`, but for the folder and what it is held against."""
        training = self._config["training"]
        polarity = training.get("datasets_polarity")
        return quote(training["datasets"]) + ("" if polarity is None else f" --polarity {polarity}")

    def detector(self, folder: Path) -> "Detector":
        """Say which files of geometry and alignment the jobs read.

        Parameters
        ----------
        folder : Path
            Where the run takes place; input paths are relative to it.
        """
        return Detector.of(self._config["detector"], f"results/{self.name}/detector", folder)

    def start(self, step: str) -> list[str]:
        """Return a list of the file that a step's fit starts from; empty where fits start by themselves."""
        place = self._config["training"]["start_from"]
        return [] if place is None else [str(start_file(Path(place), step))]

    @property
    def neighbour(self) -> str | None:
        """Folder of the run whose closed table and ghost score are taken; None where both are trained."""
        place = self._config["training"].get("neighbour")
        return None if place is None else str(place)

    def likeness(self, folder: Path) -> str | None:
        """Polarity of the other simulation, "up" or "down"; None without one or without its files.

        Parameters
        ----------
        folder : Path
            Where the run takes place; input paths are relative to it.
        """
        other = self._config.get("likeness")
        if other is None or not all((folder / other[name]).is_file() for name in ("hits", "tracks")):
            return None
        return str(other["polarity"])

    @property
    def training(self) -> dict[str, Any]:
        """What of the configuration decides a parameter set: all but its name and what is validated."""
        rest = {key: value for key, value in self._config.items() if key not in _NOT_TRAINING}
        return rest | {"events": {k: v for k, v in self._config["events"].items() if k != "validation"}}

    def samples(self, purpose: str) -> list[str]:
        """Return the samples for a purpose, one for each polarity.

        Purposes are ``training``, ``validation``, ``misaligned`` (none where nothing is to be displaced) and
        the signals ``jpsi`` and ``d0`` (none without collisions), and ``closure`` (none where it is off).
        """
        if purpose == "misaligned" and not any(self._config["misalignment"].values()):
            return []
        if purpose in ("jpsi", "d0") and not self._config["signals"]["collisions"]:
            return []
        if purpose == "closure" and self._config["training"]["closure"] is None:
            return []
        return [f"{purpose}_{polarity}" for polarity in self._config["polarities"]]

    def events(self, sample: str) -> int:
        """Bunch crossings of a sample."""
        return int(self._config["events"][self.purpose(sample)])

    def ranges(self, sample: str) -> list[range]:
        """Crossings, of a signal collisions, of each chunk of a sample; what others made is one chunk."""
        purpose = self.purpose(sample)
        if purpose in ("jpsi", "d0"):
            collisions = int(self._config["signals"]["collisions"])
            return chunk_ranges(collisions, BLOCK_COLLISIONS, self._widths.get("signals", 1))
        if purpose == "misaligned":
            purpose = "validation"
        if purpose in ("training", "validation"):
            return chunk_ranges(self.events(purpose), BLOCK_EVENTS, self._widths.get(purpose, 1))
        # Candidates by truth and hits of another simulation.
        return [range(1)]

    def chunks(self, sample: str) -> dict[str, range]:
        """Name and range of each chunk of a sample, in order."""
        ranges = self.ranges(sample)
        return dict(zip(chunk_names(sample, len(ranges)), ranges, strict=True))

    def chunk(self, name: str) -> range:
        """Crossings or collisions of one chunk."""
        return self.chunks(self.sample(name))[name]

    @staticmethod
    def sample(chunk: str) -> str:
        """Sample of a chunk."""
        return chunk.split("/")[0]

    @staticmethod
    def purpose(chunk: str) -> str:
        """Say what a chunk's sample is for: all of its name but the polarity."""
        return chunk.rsplit("_", 1)[0]

    def pattern(self, *purposes: str) -> str:
        """Regular expression for the names of the chunks of samples for these purposes."""
        names = []
        for sample in (sample for purpose in purposes for sample in self.samples(purpose)):
            count = len(self.ranges(sample))
            names.append(sample if count == 1 else rf"{sample}/\d+-of-{count}")
        return "|".join(names) or NOTHING

    def split_samples(self, *purposes: str) -> str:
        """Regular expression for samples for these purposes that are several chunks."""
        samples = (sample for purpose in purposes for sample in self.samples(purpose))
        return "|".join(sample for sample in samples if len(self.ranges(sample)) > 1) or NOTHING

    def size(self, chunk: str) -> float:
        """Crossings of a chunk or sample, as the costs of its stages go.

        One in ten collisions of a signal gives a pair of tracks. Hits of another simulation count as many as
        are validated with, since their number is not known before they are read.
        """
        purpose = self.purpose(self.sample(chunk))
        if purpose == "lhcb" or "-" in purpose:
            return self.events("validation_up")
        events = sum(map(len, self.ranges(chunk))) if chunk == self.sample(chunk) else len(self.chunk(chunk))
        return 0.1 * events if purpose in ("jpsi", "d0") else events

    def sizes(self, *purposes: str) -> float:
        """Return the sum of :meth:`size` over all samples for these purposes."""
        return sum(self.size(sample) for purpose in purposes for sample in self.samples(purpose))

    def rows(self, step: str) -> int:
        """Rows of a step's dataset, at most."""
        most = int(self._config["training"]["max_rows"])
        if not self.simulates_datasets:
            return most
        return min(most, round(ROWS_A_CROSSING[step] * self.sizes("training")))

    def scored(self, chunk: str) -> int:
        """Crossings of a chunk of the training whose candidates train the ghost score."""
        return max(0, min(self.chunk(chunk).stop, CROSSINGS) - self.chunk(chunk).start)

    def polarity(self, chunk: str) -> int:
        """+1 for MagUp, -1 for MagDown."""
        return {"up": +1, "down": -1}[self.sample(chunk).split("_")[1]]

    def precision(self, fit: str) -> str:
        """Return the number type that a fit computes in."""
        return "float64" if fit == "parkf_float64" else str(self._config["fits"]["precision"])

    def seed(self, chunk: str) -> int:
        """Seed of a chunk's sample: no two samples, and no two runs' seeds, share one."""
        sample = self.sample(chunk)
        if sample in _CLOSURES:
            return _FIRST_CLOSURE_SEED + len(_CLOSURES) * int(self._config["seed"]) + _CLOSURES.index(sample)
        if sample in _SIGNALS:
            return _FIRST_SIGNAL_SEED + len(_SIGNALS) * int(self._config["seed"]) + _SIGNALS.index(sample)
        return len(_SAMPLES) * int(self._config["seed"]) + _SAMPLES.index(sample)
