"""Collisions, signals and particle guns: particles at their origin."""
