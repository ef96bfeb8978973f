"""Pythia 8, ready to make collisions.

Initialising soft collisions takes 6 s, nearly all of it for cross sections of multiparton interactions. These
depend only on the settings, and are therefore read from a file beside this module. The file's name has
Pythia's version and a fingerprint of the settings. For settings without a file, the cross sections are
calculated. ``python -m parkf.simulation.generate.pythia`` writes the file.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pythia8mc

from parkf.io.errors import ParkfError
from parkf.io.files import replacing

# Settings of all collisions.
PYTHIA_SETTINGS = (
    "Print:quiet = on",
    "Beams:idA = 2212",
    "Beams:idB = 2212",
    "Beams:eCM = 13600.",
    # Decays are limited to the volume before the magnet (mm), because Pythia's particles fly straight.
    "ParticleDecays:limitCylinder = on",
    "ParticleDecays:xyMax = 700.",
    "ParticleDecays:zMax = 2700.",
    "211:mayDecay = on",
    "321:mayDecay = on",
    "Random:setSeed = on",
    "Random:seed = 1",
)
SOFT_COLLISIONS = ("SoftQCD:inelastic = on",)
MAX_SEED = 900_000_000  # the largest seed that Pythia accepts
# Pythia's numbers for writing the file of cross sections, and for reading it.
_KEPT, _LOADED = 1, 2


@cache
def initialised(settings: tuple[str, ...]) -> Any:
    """Return a Pythia with `settings` in addition to the common ones; the same object at each call.

    Only forks of this process draw from it, so its own state does not change. A ParkfError is raised when
    Pythia refuses a setting, or cannot be initialised.
    """
    kept = cross_sections(settings)
    return _initialised(settings, _LOADED, kept) if kept.exists() else _initialised(settings)


def cross_sections(settings: Sequence[str]) -> Path:
    """Path of the file of cross sections for `settings` in addition to the common ones, if it exists."""
    version = pythia8mc.Pythia("", False).parm("Pythia:versionNumber")
    digest = hashlib.sha256("\n".join((*PYTHIA_SETTINGS, *settings)).encode()).hexdigest()
    return Path(__file__).with_name(f"pythia-{version:.3f}-{digest[:12]}.dat")


def write_cross_sections(path: Path, settings: Sequence[str]) -> None:
    """Calculate cross sections and write them to a file; errors are those of :func:`initialised`."""
    with replacing(path) as temporary:
        _initialised(settings, _KEPT, temporary)


def _initialised(settings: Sequence[str], use: int = 0, file: Path | None = None) -> Any:
    pythia = pythia8mc.Pythia("", False)
    for setting in (*PYTHIA_SETTINGS, *settings):
        if not pythia.readString(setting):
            raise ParkfError(f"Pythia refuses the setting '{setting}'")
    # The method readString is not used, because it would split a path at spaces.
    pythia.settings.mode("MultipartonInteractions:reuseInit", use)
    pythia.settings.word("MultipartonInteractions:initFile", str(file or ""))
    if not pythia.init():
        raise ParkfError("Pythia could not be initialised; its messages are above")
    return pythia


if __name__ == "__main__":
    write_cross_sections(cross_sections(SOFT_COLLISIONS), SOFT_COLLISIONS)
