"""Fingerprints of what decides a result: the code of a command, and the content of a document."""
