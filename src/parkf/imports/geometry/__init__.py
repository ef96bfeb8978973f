"""Geometry and alignment as LHCb writes them: Allen's dumps, and conditions as YAML."""
