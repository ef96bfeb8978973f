"""The detector as it stands: geometry, alignment and magnetic field."""
