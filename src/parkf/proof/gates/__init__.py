"""Gates: comparison of a run's figures with thresholds from one file, for terminal, report and registry."""

from parkf.proof.gates.hold import hold
from parkf.proof.gates.room import NEAR, Light, colour, nearest, room, step_light
from parkf.proof.gates.thresholds import GATES_FILE, Thresholds, load_thresholds

__all__ = [
    "GATES_FILE",
    "NEAR",
    "Light",
    "Thresholds",
    "colour",
    "hold",
    "load_thresholds",
    "nearest",
    "room",
    "step_light",
]
