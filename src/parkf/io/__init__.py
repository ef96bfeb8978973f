"""Files on disk: tables, arrays, documents and their checksums; errors; processes.

This room has no physics, and every other room uses it. A file is written under a temporary
name and then renamed, so that it is complete or absent. A file that is read is checked first: its checksum,
its columns, its types. An error that a user can repair is a :class:`~parkf.io.errors.ParkfError`, which
names the file, what was found, what was expected and what to do.
"""
