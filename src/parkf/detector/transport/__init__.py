"""Moving particles: Runge-Kutta through the field, scattering and energy loss in the detector's material."""

from parkf.detector.transport.particles import track_through
from parkf.detector.transport.runge_kutta import Propagated, propagate

__all__ = ["Propagated", "propagate", "track_through"]
