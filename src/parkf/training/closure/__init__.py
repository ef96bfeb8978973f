"""Closure of a parameter set: corrects the table's bend for what the steps behind the magnet miss.

Between SciFi layers the forms do not describe the field at every place, and what they miss becomes a bias of
the fitted q/p. The magnet table depends on place and momentum, so a change of its bend by about a per mille
removes that bias. :mod:`~parkf.training.closure.targets` computes most of this change from rays that are
carried on through the SciFi. :mod:`~parkf.training.closure.bend` determines the rest from fits of simulated
tracks, compared with the full fit of the same hits.
"""
