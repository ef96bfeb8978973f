"""What others write, turned into this project's own files: one module a foreign format."""
