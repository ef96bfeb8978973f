"""Documents that people write: YAML and JSON, read with the line of every value, refused with its place."""
