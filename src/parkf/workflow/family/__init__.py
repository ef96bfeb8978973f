"""Families of runs: many alignments, fields and geometries, trained together with common products."""

from parkf.workflow.family.members import Family, Member, load_family, read_family
from parkf.workflow.family.sharing import PRODUCTS, shared_keys, sources

__all__ = ["PRODUCTS", "Family", "Member", "load_family", "read_family", "shared_keys", "sources"]
