"""Documents that people write, in YAML and JSON; errors in them are reported with file, line and position."""
