"""The command line: one command for each stage, on files.

Commands read options, call the rooms below and print. They contain no physics. A mistake of a user ends
with one line and exit code 1, a wrong call with exit code 2.
"""
