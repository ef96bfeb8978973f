"""The front door in Python: load a set, evaluate its steps, fit hits, compare, read a run's figures.

These names are the public interface of parkf; ``import parkf`` offers all of them, and loads each when it is
first used. The rooms below may change in any release. A name of this room is first deprecated: for one
release at least it works as before and warns.
"""
