"""Gates: comparison of a run's figures with thresholds from one file, for terminal, report and registry."""

from parkf.proof.gates.hold import hold
from parkf.proof.gates.thresholds import GATES_FILE, Thresholds, load_thresholds

__all__ = ["GATES_FILE", "Thresholds", "hold", "load_thresholds"]
