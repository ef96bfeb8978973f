"""Moving particles: Runge-Kutta through the field, scattering and energy loss in the detector's material."""

from parkf.transport.particles import track_through
from parkf.transport.runge_kutta import Propagated, propagate

__all__ = ["Propagated", "propagate", "track_through"]
