"""Clusters: resources that jobs request, and the reaction to a job that a scheduler ended."""

from parkf.workflow.cluster.costs import COSTS_FILE, Costs, load_costs, needs
from parkf.workflow.cluster.executors import name_endings

__all__ = ["COSTS_FILE", "Costs", "load_costs", "name_endings", "needs"]
