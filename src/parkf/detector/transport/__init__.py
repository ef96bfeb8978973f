"""Moving particles: Runge-Kutta through the field, scattering and energy loss in the detector's material."""

from parkf.detector.transport.particles import track_through
from parkf.detector.transport.runge_kutta import propagate

__all__ = ["propagate", "track_through"]
