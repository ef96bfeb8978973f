"""Import of foreign formats into this project's tables and files: one module for each format."""
