"""Gates: the figures of a run held against thresholds, from one file, for terminal, report and registry."""

from parkf.gates.hold import hold
from parkf.gates.thresholds import GATES_FILE, Thresholds, load_thresholds

__all__ = ["GATES_FILE", "Thresholds", "hold", "load_thresholds"]
