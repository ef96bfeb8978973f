"""The response of the detector to particles: true states, hits, decays in flight."""
