"""The detector: geometry, alignment, magnetic field, and the transport of particles through them.

Lengths are in mm, fields in T, momenta in MeV, charges over momenta in 1/MeV. A geometry and an alignment
are checked when they are read, with the line of every mistake. The transport integrates the equation of
motion by Runge-Kutta; it is the truth that the parameterised steps are trained on.
"""
