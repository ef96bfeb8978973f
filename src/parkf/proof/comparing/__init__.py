"""Comparison of runs and published sets: differences in inputs and code, and in figures."""

from parkf.proof.comparing.comparison import Comparison, compare_subjects
from parkf.proof.comparing.subject import Subject, load_subject

__all__ = ["Comparison", "Subject", "compare_subjects", "load_subject"]
