"""Trains, proves and publishes the parameters of LHCb's Parameterised Kalman Filter."""

__version__ = "0.1.0"
