"""Hits of others: LHCb's `Hits_detectors` trees, and tables of another simulation."""
