"""Clusters: the memory and time that jobs request, from the costs of their stages."""

from parkf.workflow.cluster.costs import COSTS_FILE, load_costs, needs

__all__ = ["COSTS_FILE", "load_costs", "needs"]
