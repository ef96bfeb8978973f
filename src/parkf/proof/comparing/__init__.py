"""Runs and published sets beside each other: what differed in inputs and code, and what became of it."""

from parkf.proof.comparing.comparison import Comparison, compare_subjects
from parkf.proof.comparing.subject import Subject, load_subject

__all__ = ["Comparison", "Subject", "compare_subjects", "load_subject"]
