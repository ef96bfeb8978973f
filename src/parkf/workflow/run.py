"""Properties of a run that the rules of the workflow use, from a checked configuration."""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parkf.io.documents.document import read_document
from parkf.simulation.generate.decays import DECAYS, ELECTRONS
from parkf.training.ghost_score import CROSSINGS
from parkf.workflow.chunks import BLOCK_COLLISIONS, BLOCK_EVENTS, chunk_names, chunk_ranges
from parkf.workflow.config import CONFIGS, load_config
from parkf.workflow.config_files import extended

if TYPE_CHECKING:
    from parkf.model.steps.step import Step

# Fits that are compared, and the scheme of each; "full" needs no parameter set. The trigger's arithmetic
# exists only for production's forms.
SCHEMES = {
    "parkf": "smoother",
    "parkf_robust": "smoother",
    "trigger": "trigger",
}
_SIGNALS = tuple(DECAYS)
# Samples that are generated, and the first seed of each group; the ranges of seeds do not overlap.
_SEEDS = (
    (0, ("training_up", "training_down", "validation_up", "validation_down")),
    (1 << 40, ("jpsi_up", "jpsi_down", "d0_up", "d0_down")),
    (1 << 47, tuple(f"{decay}_{polarity}" for decay in ELECTRONS for polarity in ("up", "down"))),
    (1 << 50, ("closure_up", "closure_down")),
)
_NOT_TRAINING = ("run", "calibration", "validity", "misalignment", "signals", "likeness", "fits")
ROWS_A_CROSSING = {"V": 1150, "VUT": 70, "UT": 420, "UTTF": 72, "TFT": 70, "T": 770, "BEAM": 640}
"""Number of rows that a crossing adds to each step's dataset, at the pile-up of Run 3."""
_FEW_ROWS = 1e6
# Steps that end in the SciFi.
_TO_SCIFI = ("UTTF", "TFT", "T")
# Purposes of samples that are always one chunk: hits of another simulation, and candidates by truth.
OTHERS = (
    "lhcb",
    *(f"{kind}-{of}" for kind in ("matched", "found", "truth") for of in ("lhcb", "validation")),
)
# A regular expression that nothing matches.
_NOTHING = r"(?!)"


def cores_for(rows: float) -> int:
    """Return the number of cores for a training: one for each 1e7 rows, because processes start slowly."""
    return min(8, max(1, round(rows / 1e7)))


def read_run(config: Mapping[str, Any], widths: Mapping[str, int]) -> "Run":
    """Check a configuration as Snakemake has it, from a file and the command line, and what it extends."""
    whole, layers = extended(config, CONFIGS)
    # Messages name the file and line of a mistake; a run has the name of its file.
    own = CONFIGS / f"{config.get('run')}.yaml"
    return Run(
        load_config(whole, Path(), [*layers, *([read_document(own)] if own.is_file() else [])]), widths
    )


class Run(dict[str, Any]):
    """A configuration, from :func:`parkf.workflow.config.load_config`, with properties that rules use.

    `widths` has the number of chunks of each ``training``, ``validation`` and ``signals`` sample; the default
    is one.
    """

    def __init__(self, config: Mapping[str, Any], widths: Mapping[str, int] | None = None) -> None:
        of = [fit for fit in config["fits"]["of"] if fit != "trigger" or config["forms"] == "production"]
        super().__init__({**config, "fits": config["fits"] | {"of": of}})
        self._widths = widths or {}
        # Cached by sample, because a plan needs them for every job.
        self._chunks: dict[str, dict[str, range]] = {}

    @property
    def is_member(self) -> bool:
        """Whether it is a run of a family, whose name precedes its own."""
        return "." in self["run"]

    @property
    def simulates_datasets(self) -> bool:
        """Whether step datasets come from the embedded simulation."""
        return bool(self["training"]["datasets"] == "simulate")

    @cached_property
    def steps(self) -> Mapping[str, "Step"]:
        """Steps of the run's forms, by name."""
        from parkf.model.steps import FORMS

        return FORMS[self["forms"]].steps

    @cached_property
    def sets(self) -> Mapping[str, int]:
        """Number of sets of each step, by the step's name, in the order of the steps."""
        return {name: len(step.sets) for name, step in self.steps.items()}

    @cached_property
    def own_steps(self) -> list[str]:
        """Steps whose datasets are in the user's folder."""
        folder = Path(self["training"]["datasets"])
        there = [step for step in self.sets if (folder / f"{step}.parquet").is_file()]
        return [] if self.simulates_datasets else there

    @property
    def simulated_steps(self) -> list[str]:
        """Steps whose datasets are simulated: all, or those that the user's folder does not have."""
        return [step for step in self.sets if step not in self.own_steps]

    def likeness(self, folder: Path) -> str | None:
        """Polarity of the other simulation, "up" or "down"; None if it or one of its files is missing."""
        other = self.get("likeness")
        if other is None or not all((folder / other[name]).is_file() for name in ("hits", "tracks")):
            return None
        return str(other["polarity"])

    @property
    def training(self) -> dict[str, Any]:
        """Part of the configuration that decides a parameter set: everything but name and validation."""
        rest = {key: value for key, value in self.items() if key not in _NOT_TRAINING}
        return rest | {"events": {k: v for k, v in self["events"].items() if k != "validation"}}

    def samples(self, *purposes: str) -> list[str]:
        """Return the samples for some purposes, one for each polarity, without those that are switched off.

        Purposes are ``training``, ``validation``, ``misaligned``, ``closure``, and the signals
        (:data:`parkf.simulation.generate.decays.DECAYS`).
        """
        is_on = {
            "misaligned": any(self["misalignment"].values()),
            "closure": self["training"]["closure"] is not None,
            **dict.fromkeys(_SIGNALS, self["signals"]["collisions"] > 0),
        }
        return [
            f"{purpose}_{polarity}"
            for purpose in purposes
            if is_on.get(purpose, True)
            for polarity in self["polarities"]
        ]

    def chunks(self, sample: str) -> dict[str, range]:
        """Names of the chunks of a sample, in order, and their crossings; for a signal, their collisions.

        A sample from another simulation is one chunk.
        """
        if sample not in self._chunks:
            purpose = self.purpose(sample)
            kind = "signals" if purpose in _SIGNALS else purpose.replace("misaligned", "validation")
            total, block = self["events"].get(kind), BLOCK_EVENTS
            if kind == "signals":
                collisions = self["signals"]["collisions"] * DECAYS[purpose].share
                total, block = math.ceil(collisions), BLOCK_COLLISIONS
            width = self._widths.get(kind, 1)
            ranges = [range(1)] if total is None else chunk_ranges(int(total), block, width)
            self._chunks[sample] = dict(zip(chunk_names(sample, len(ranges)), ranges, strict=True))
        return self._chunks[sample]

    @property
    def training_chunks(self) -> list[str]:
        """Chunks of all training samples."""
        return [chunk for sample in self.samples("training") for chunk in self.chunks(sample)]

    def chunk(self, name: str) -> range:
        """Crossings or collisions of one chunk."""
        return self.chunks(self.sample(name))[name]

    @staticmethod
    def sample(chunk: str) -> str:
        """Sample of a chunk."""
        return chunk.split("/")[0]

    @staticmethod
    def purpose(chunk: str) -> str:
        """Return the purpose of a chunk's sample: its name without the polarity."""
        return chunk.rsplit("_", 1)[0]

    def pattern(self, *purposes: str) -> str:
        """Regular expression for the names of the chunks of samples for these purposes."""
        return "|".join(f"{sample}{self._ending(sample)}" for sample in self.samples(*purposes)) or _NOTHING

    def _ending(self, sample: str) -> str:
        """Return a regular expression for the part of a chunk's name that follows its sample."""
        count = len(self.chunks(sample))
        return "" if count == 1 else rf"/\d+-of-{count}"

    def split_samples(self, *purposes: str) -> str:
        """Return a regular expression for the samples of these purposes that are cut into several chunks."""
        return "|".join(one for one in self.samples(*purposes) if len(self.chunks(one)) > 1) or _NOTHING

    def rows(self, step: str) -> int:
        """Rows of a step's dataset, at most."""
        most = int(self["training"]["max_rows"])
        if not self.simulates_datasets:
            return most
        crossings = int(self["events"]["training"]) * len(self["polarities"])
        return min(most, round(ROWS_A_CROSSING[step] * crossings))

    def scored(self, chunk: str) -> int:
        """Crossings of a chunk of the training whose candidates train the ghost score."""
        return max(0, min(self.chunk(chunk).stop, CROSSINGS) - self.chunk(chunk).start)

    @property
    def wildcards(self) -> dict[str, str]:
        """Regular expressions for the wildcards of all rules."""
        purposes = ("training", "validation", "misaligned", *_SIGNALS)
        return {
            "sample": rf"((matched|found|truth)-)?({'|'.join(purposes)}|lhcb)_(up|down)",
            # A sample, or one chunk of it.
            "chunk": self.pattern(*purposes, *OTHERS),
            "step": "|".join(self.sets),
            "fit": "|".join(SCHEMES),
            # Samples that are compared with another simulation, and kinds of segments of their candidates.
            "like": r"(validation|lhcb)_(up|down)",
            "segments": "found|truth",
            # Names of the chunks of samples: {purpose}_{polarity}{part}.
            "purpose": "training|validation",
            "part": "|".join(
                f"(?<={one}){self._ending(one)}"
                for one in self.samples("training", "validation", "misaligned")
            ),
        }

    def fits(self, purpose: str) -> list[str]:
        """Fits of candidates with the set, sorted; ``likeness`` is for hits of another simulation."""
        measured = sorted(fit for fit in SCHEMES if fit in self["fits"]["of"])
        if purpose == "likeness":
            return [fit for fit in measured if fit in ("parkf", "parkf_robust")]
        return measured

    @property
    def report_files(self) -> list[str]:
        """Files that the stage ``report`` writes in addition to its index and figures."""
        pages = ["compare", *self.sets, "slices", "directions", "kinds"]
        inputs = ("inputs/geometry.yaml", "inputs/alignment.yaml")
        return [*(f"report/{page}.html" for page in pages), "run.json", "beside.json", *inputs]

    def steps_by_job(self, steps: Iterable[str]) -> list[list[str]]:
        """Divide steps among jobs; steps with few rows share one job, because a job takes 0.5 s to start."""
        steps = list(steps)
        few = [step for step in steps if self.rows(step) <= _FEW_ROWS]
        return [*([few] if few else []), *([step] for step in steps if step not in few)]

    @property
    def trainings(self) -> list[list[str]]:
        """Steps by the jobs that train them; a shift of the SciFi repeats only those that end there."""
        behind = [step for step in self.sets if step in _TO_SCIFI]
        before = [step for step in self.sets if step not in behind]
        return [job for some in (behind, before) for job in self.steps_by_job(some)]

    def fit_arguments(self, fit: str) -> dict[str, Any]:
        """Arguments of `parkf fit` for one of the fits that are measured."""
        return {
            "scheme": SCHEMES[fit],
            "precision": self["fits"]["precision"],
            "backend": self["fits"]["backend"],
            "robust": fit == "parkf_robust",
            # Without candidates to train on, a set has no ghost score.
            "score": self.simulates_datasets and fit.startswith("parkf"),
        }

    def polarity(self, chunk: str) -> int:
        """+1 for MagUp, -1 for MagDown."""
        return {"up": +1, "down": -1}[self.sample(chunk).split("_")[1]]

    def seed(self, chunk: str) -> int:
        """Seed of a chunk's sample; it differs between samples, and between seeds of runs."""
        sample = self.sample(chunk)
        first, samples = next(entry for entry in _SEEDS if sample in entry[1])
        return first + len(samples) * int(self["seed"]) + samples.index(sample)
