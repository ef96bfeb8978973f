"""Nuisances of field, SciFi and material, fitted on tracks of particles whose momentum is known."""
