"""A run's configuration, checked, and what the Snakefile derives from it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from parkf.errors import ParkfError

# Fits that are measured beside each other, and the scheme of each; "full" needs no parameter set. The one in
# float64 shows what the precision of the others costs.
SCHEMES = {
    "parkf": "smoother",
    "parkf_float64": "smoother",
    "paper_scheme": "forward_backward",
    "velo_only": "velo_only",
}
_SAMPLES = ("training_up", "training_down", "validation_up", "validation_down")
_SIGNALS = ("jpsi_up", "jpsi_down", "d0_up", "d0_down")
_NOT_TRAINING = ("run", "misalignment", "signals", "likeness", "fits")
_FIRST_SIGNAL_SEED = 1 << 40  # beyond all of the samples


def load_config(config: Mapping[str, Any], schema: Path, folder: Path) -> dict[str, Any]:
    """Check a configuration against its closed schema.

    Parameters
    ----------
    config : mapping
        As read from YAML.
    schema : Path
        JSON schema of configurations.
    folder : Path
        Where the run takes place; its input paths are relative to it.

    Raises
    ------
    ParkfError
        With one line for each key that is unknown, missing or out of range, and for missing input files.
    """
    problems = [
        f"config: {'.'.join(map(str, error.absolute_path)) or 'top level'}: {error.message}"
        for error in Draft202012Validator(json.loads(schema.read_text())).iter_errors(dict(config))
    ]
    if not problems:
        inputs = (config["detector"]["geometry"], config["detector"]["alignment"], config["field"]["source"])
        problems = [f"config: {name}: no such file" for name in inputs if not (folder / name).is_file()]
    if problems:
        raise ParkfError("\n".join(sorted(problems)))
    return dict(config)


class Run:
    """What the rules ask of a checked configuration.

    Parameters
    ----------
    config : dict
        From :func:`load_config`.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config

    def __getitem__(self, key: str) -> Any:
        return self._config[key]

    @property
    def name(self) -> str:
        """Folder of the run under ``results/``."""
        return str(self._config["run"])

    @property
    def simulates_datasets(self) -> bool:
        """Whether step datasets come from the embedded simulation."""
        return bool(self._config["training"]["datasets"] == "simulate")

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
        the signals ``jpsi`` and ``d0`` (none without collisions).
        """
        if purpose == "misaligned" and not any(self._config["misalignment"].values()):
            return []
        if purpose in ("jpsi", "d0") and not self._config["signals"]["collisions"]:
            return []
        return [f"{purpose}_{polarity}" for polarity in self._config["polarities"]]

    def events(self, sample: str) -> int:
        """Bunch crossings of a sample."""
        return int(self._config["events"][sample.split("_")[0]])

    def polarity(self, sample: str) -> int:
        """+1 for MagUp, -1 for MagDown."""
        return {"up": +1, "down": -1}[sample.split("_")[1]]

    def precision(self, fit: str) -> str:
        """Return the number type that a fit computes in."""
        return "float64" if fit == "parkf_float64" else str(self._config["fits"]["precision"])

    def seed(self, sample: str) -> int:
        """Seed of a sample: no two samples, and no two runs' seeds, share one."""
        if sample in _SIGNALS:
            return _FIRST_SIGNAL_SEED + len(_SIGNALS) * int(self._config["seed"]) + _SIGNALS.index(sample)
        return len(_SAMPLES) * int(self._config["seed"]) + _SAMPLES.index(sample)
