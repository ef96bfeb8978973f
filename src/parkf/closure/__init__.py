"""Closure of the parameters on the fit: what steps leave behind the magnet goes into the table's bend.

Between SciFi layers the forms do not know the field at every place; a track's q/p pays for what they miss.
The magnet table knows place and momentum: bent a per mille more or less, it makes up for that.
:mod:`~parkf.closure.targets` says by how much from rays that are carried on through the SciFi,
:mod:`~parkf.closure.bend` what is left from fits of simulated tracks, beside the full fit of the same hits.
"""
