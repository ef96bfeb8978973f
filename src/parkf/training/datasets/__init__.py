"""Step datasets: true origin, true target and extrapolated target of every step of the fit."""
