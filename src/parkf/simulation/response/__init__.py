"""What the detector makes of particles: true states, hits, decays in flight."""
