"""Closure of a parameter set: it corrects the table's bend for the misfit of the steps behind the magnet.

Between SciFi layers the forms do not describe the field at every position. Their misfit becomes a bias of the
fitted q/p. The magnet table depends on position and momentum, so a change of its bend by about one per mille
removes this bias. :mod:`~parkf.training.closure.targets` computes most of this change from rays that are
carried on through the SciFi. :mod:`~parkf.training.closure.bend` determines the rest from fits of simulated
tracks, which are compared with the full fit of the same hits.
"""
