"""What others made, in their own formats, taken into this project's tables and files: one file a format."""
