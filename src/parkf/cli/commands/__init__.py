"""Commands of the command line, on files. Imports wait until their command runs."""
