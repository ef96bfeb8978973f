"""The command line: what people type, from a run to a fit of their own candidates.

Commands read options, call the rooms below and print. They contain no physics. After a user's mistake, a
command ends with one line and exit code 1; after a wrong call, with exit code 2.
"""
